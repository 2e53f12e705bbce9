// The page: routes, the line at the top, and the session.

import { hasToken, onEnd, takeToken } from './api.js';
import { fill, h, visible } from './dom.js';
import { help, start as keys } from './keys.js';
import * as live from './live.js';
import { show as objectPage } from './object.js';
import { show as pluginPage } from './plugin.js';
import { show as pluginsPage } from './plugins.js';
import { show as versionPage } from './version.js';

const ROUTES = [
  [/^\/?$/, pluginsPage],
  [/^\/plugins\/([^/]+)$/, pluginPage],
  [/^\/plugins\/([^/]+)\/versions\/([^/]+)$/, versionPage],
  [/^\/objects\/([^/]+)\/([^/]+)\/([^/]+)\/([^/]+)$/, objectPage],
];

const main = document.getElementById('main');
let current = null;

function route() {
  const path = location.hash.replace(/^#/, '');
  for (const [pattern, page] of ROUTES) {
    const found = pattern.exec(path);
    if (!found) continue;
    try {
      return [page, found.slice(1).map(decodeURIComponent)];
    } catch {
      return [null, []];
    }
  }
  return [null, []];
}

/** The pages above this one, from the first to this one. */
function crumbs(page, parts) {
  const all = [['#/', 'Plugins']];
  if (page === pluginsPage || page === null) return all;
  all.push([`#/plugins/${encodeURIComponent(parts[0])}`, parts[0]]);
  if (page === versionPage) all.push([location.hash, `version ${parts[1].replace('sha256:', '').slice(0, 12)}`]);
  if (page === objectPage) all.push([location.hash, `${parts[1].split('.')[0]} ${parts[3]}`]);
  return all;
}

function drawCrumbs(page, parts) {
  const all = crumbs(page, parts);
  fill(document.getElementById('crumbs'), h('ol', null, all.map(([href, title], at) => h('li', null, h('a', { href, 'aria-current': at === all.length - 1 ? 'page' : null }, visible(title, 60))))));
}

async function open(byPerson) {
  if (location.hash.includes('token=')) takeToken();
  const [page, parts] = route();
  current?.abort();
  current = new AbortController();
  const { signal } = current;
  drawCrumbs(page, parts);
  drawAccess();
  fill(main);
  if (byPerson) {
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
  if (!page) {
    fill(main, h('h1', null, 'There is no such page'), h('p', null, h('a', { href: '#/' }, 'The plugins')));
    return;
  }
  try {
    const shown = await page(main, signal, parts);
    if (!signal.aborted) document.title = `${visible(shown.title, 120)} – Oarlock`;
  } catch (error) {
    if (error.name !== 'AbortError') fill(main, h('h1', null, 'This cannot be shown'), h('p.warn', null, error.message));
  }
}

function drawAccess() {
  const access = document.getElementById('access');
  const text = hasToken() ? 'session' : 'read-only';
  if (access.textContent === text) return;
  access.title = hasToken() ? 'This tab may see objects and take actions.' : 'Run oarlock ui for objects and actions.';
  fill(access, text);
}

const WORDS = { live: 'live', connecting: 'connecting…', refused: 'refused', paused: 'paused' };

function drawLive() {
  const element = document.getElementById('live');
  const state = live.status();
  if (element.dataset.state === state) return;
  element.dataset.state = state;
  fill(element, WORDS[state]);
}

/** Goes to the page above. */
function up() {
  const all = crumbs(...route());
  if (all.length > 1) location.hash = all[all.length - 2][0];
}

document.getElementById('skip').addEventListener('click', (event) => { event.preventDefault(); main.focus(); });
document.getElementById('help').addEventListener('click', help);
addEventListener('hashchange', () => open(true));
onEnd(drawAccess);
keys(up);
live.listen(drawLive);
drawLive();
open(false);
