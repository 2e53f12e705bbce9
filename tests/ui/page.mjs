// Scenes on the page, played in a real browser. Prints one JSON document with what it saw; a failure is an error with its place.
//
//   playwright page.mjs SCENE < INPUT
//
// INPUT is JSON: `url` with the token, `browser` (the program), `folder` for files, and what a scene needs. Whatever a scene does, it fails when the
// browser reports an error or a violation of the policy, and when a request leaves the origin.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { strict as assert } from 'node:assert';

const require = createRequire(join(process.env.PAGE_TOOLS, 'package.json'));
const { chromium } = require('playwright-core');
const AXE = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const input = JSON.parse(readFileSync(0, 'utf8'));
const origin = new URL(input.url).origin;
const PATIENCE = 60_000;

const troubles = [];
const bodies = [];

/** A tab that watches for errors. */
async function tab(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, acceptDownloads: true, reducedMotion: 'reduce', ...options });
  await context.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}`));
    globalThis.alert = globalThis.confirm = globalThis.prompt = () => globalThis.violations.push('a script ran');
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.on('console', (message) => {
    // A session that ended and a missing recording are answers, which the browser logs as errors.
    if (['error', 'warning'].includes(message.type()) && !/status of (401|404|409|503)/.test(message.text())) troubles.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => troubles.push(`page: ${error}`));
  page.on('dialog', (dialog) => { troubles.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol)) troubles.push(`request: ${request.url()}`);
  });
  page.on('response', async (response) => {
    if (!response.url().includes('/page/events')) bodies.push(await response.body().then(String, () => ''));
  });
  return page;
}

async function close(page) {
  troubles.push(...(await page.evaluate(() => globalThis.violations)));
  await page.context().close();
}

const text = (page, selector = '#main') => page.locator(selector).innerText();

/** Waits until the page shows a text. */
async function shows(page, wanted, selector = '#main') {
  try {
    await page.waitForFunction(([where, what]) => document.querySelector(where)?.innerText.includes(what), [selector, wanted]);
  } catch {
    throw new Error(`no ${JSON.stringify(wanted)} in ${selector}:\n${(await text(page)).slice(0, 6000)}`);
  }
}

/** The address of the page without its token. */
const at = (route) => `${origin}/#${route}`;

/** Opens a tab with the session, on a route. */
async function opened(browser, route = '/', options = {}) {
  const page = await tab(browser, options);
  await page.goto(input.url);
  await shows(page, 'plugin', '.summary');
  assert.equal(new URL(page.url()).hash, '#/', 'the token stays in the address');
  if (route !== '/') await page.goto(at(route));
  return page;
}

/** Every rule of axe-core that the standards know, in both schemes of colours. */
async function accessible(page, name) {
  const found = [];
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(AXE);
    const result = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
    found.push(...result.violations.map(({ id, help, nodes }) => `${name} ${colorScheme}: ${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.failureSummary ?? ''}`).join(' | ')}`));
  }
  await page.emulateMedia({ colorScheme: 'light' });
  assert.deepEqual(found, []);
}

/** Nothing is wider than the window, at the width of a desk and of a phone. */
async function fits(page, name) {
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 800 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 1, `${name} is ${wide} pixels too wide at ${width}`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

async function shot(page, name) {
  if (input.folder) await page.screenshot({ path: join(input.folder, `${name}.png`), animations: 'disabled' });
}

const scenes = {
  /** From the plugins to an object and its recording, and to the version. */
  async story(browser) {
    const page = await opened(browser);
    const row = page.locator('tr[data-row=network]');
    await shows(page, 'active', 'tr[data-row=network]');
    assert.equal(await row.locator('td').nth(3).innerText(), '1', 'objects');
    await accessible(page, 'plugins');
    await fits(page, 'plugins');
    await shot(page, 'story-plugins');
    await row.locator('a').click();
    await shows(page, input.object, 'table.objects');
    await shows(page, 'settled', 'table.objects');
    await shows(page, 'Versions that ran');
    await accessible(page, 'plugin');
    await fits(page, 'plugin');
    await shot(page, 'story-plugin');
    await page.getByRole('link', { name: input.object }).click();
    await shows(page, 'settled', 'h1');
    await page.locator('pre.diff').first().waitFor();
    await shows(page, 'Reconcile ');
    await accessible(page, 'object');
    await fits(page, 'object');
    await shot(page, 'story-object');
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download as a case' }).click()]);
    await download.saveAs(join(input.cases, 'case.yaml'));
    await page.locator('dl.facts a', { hasText: '(' }).first().click();
    await shows(page, 'Grant: requested and given');
    for (const part of ['Manifest', 'name: "network"', 'PluginGrant', 'Versions that ran']) await shows(page, part);
    await accessible(page, 'version');
    await fits(page, 'version');
    await shot(page, 'story-version');
    await close(page);

    // The same address without the token shows states, and nothing of objects.
    const other = await tab(browser);
    await other.goto(`${origin}/#/plugins/network`);
    await shows(other, 'need a session');
    assert.ok(!(await text(other)).includes(input.object));
    await accessible(other, 'plugin without a session');
    await close(other);
    return {};
  },

  /** An object whose patch fails: why, and what it would change. */
  async refused(browser) {
    const page = await opened(browser, input.route);
    await shows(page, input.error, 'dl.facts');
    await shows(page, 'They differ');
    await shows(page, input.added, 'pre.diff .added');
    await shows(page, input.removed, 'pre.diff .removed');
    await accessible(page, 'refused');
    await shot(page, 'refused');
    await close(page);
    return {};
  },

  /** A plugin with a failing object, and a file that is no plugin. */
  async failing(browser) {
    const page = await opened(browser);
    await shows(page, 'failed or quarantined', '.summary');
    const first = page.locator('table.plugins tbody tr').first();
    await page.waitForFunction(() => document.querySelector('table.plugins tbody tr')?.innerText.includes('failed'));
    assert.match(await first.innerText(), /broken\.wasm/, 'a failed plugin comes first');
    await first.locator('a').click();
    await shows(page, 'Reason');
    await shows(page, input.reason);
    await page.goto(at('/plugins/misfit'));
    await shows(page, 'failed', 'table.objects tbody tr:first-child');
    const rows = await page.locator('table.objects tbody tr').allInnerTexts();
    assert.ok(rows[0].includes(input.bad) && rows[0].includes(input.error), rows[0]);
    assert.equal(rows.length, input.objects);
    await page.getByLabel('Filter by state').selectOption('failed');
    await page.waitForFunction(() => document.querySelectorAll('table.objects tbody tr').length === 1);
    await page.getByLabel('Filter by state').selectOption('all');
    await page.getByLabel('Search objects').fill(input.good);
    await page.waitForFunction((name) => { const rows = [...document.querySelectorAll('table.objects tbody tr')]; return rows.length === 1 && rows[0].innerText.includes(name); }, input.good);
    await page.getByLabel('Search objects').fill('');
    await shows(page, input.bad, 'table.objects');
    await accessible(page, 'failing plugin');
    await shot(page, 'failing-plugin');
    await page.getByRole('link', { name: input.bad, exact: true }).click();
    await shows(page, 'failed, and is tried again', 'h1');
    await shows(page, input.error, 'dl.facts');
    await shows(page, 'ReconcileError');
    await accessible(page, 'failing object');
    await shot(page, 'failing-object');
    await close(page);
    return {};
  },

  /** A canary, which the page shows and promotes; and the requests of the other actions. */
  async canary(browser) {
    const page = await opened(browser);
    await shows(page, 'canary', 'tr[data-row=misfit]');
    await page.goto(at('/plugins/misfit'));
    await shows(page, 'Rollout of two');
    await accessible(page, 'canary');
    await shot(page, 'canary');
    const sent = [];
    await page.route('**/plugins/misfit/{pause,reconcile,resume}', (route) => {
      sent.push([route.request().method(), new URL(route.request().url()).pathname, /^Bearer \S+$/.test(route.request().headers().authorization)]);
      route.fulfill({ status: 200, body: 'done as told\n' });
    });
    for (const label of ['Pause', 'Reconcile']) {
      await page.getByRole('button', { name: label, exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: label }).click();
      await shows(page, 'done as told');
    }
    assert.deepEqual(sent, [['POST', '/plugins/misfit/pause', true], ['POST', '/plugins/misfit/reconcile', true]]);
    // A person who does not agree sends nothing.
    await page.getByRole('button', { name: 'Abort', exact: true }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goto(at(`/plugins/misfit/versions/${encodeURIComponent(input.candidate)}`));
    await shows(page, 'Rollout and plan');
    await accessible(page, 'candidate');
    await page.goto(at('/plugins/misfit'));
    await page.getByRole('button', { name: 'Promote', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click();
    await page.waitForFunction(() => document.querySelector('h1')?.innerText.includes('two') && !document.querySelector('h1').innerText.includes('canary'));
    await close(page);
    return {};
  },

  /** A person presses the button of an action, and agrees if the page asks. */
  async press(browser) {
    const page = await opened(browser, `/plugins/${input.plugin}`);
    await page.getByRole('button', { name: input.label, exact: true }).click();
    // To resume is never wrong, so there is no question.
    if (input.label !== 'Resume') await page.getByRole('dialog').getByRole('button', { name: input.label }).click();
    await shows(page, input.says, 'p.answer');
    await page.getByRole('button', { name: input.then, exact: true }).waitFor();
    await close(page);
    return {};
  },

  /** Pages that may not act: without the token, with a wrong one, of another origin, and of another name of this machine. */
  async strangers(browser) {
    const token = `Bearer ${input.url.split('#token=')[1]}`;
    const pause = `${origin}/plugins/${input.plugin}/pause`;
    /** The answers to the requests that reached the host. */
    const reached = [];
    const visited = async (url) => {
      const page = await (await browser.newContext()).newPage();
      page.setDefaultTimeout(PATIENCE);
      page.on('response', (response) => { if (response.url().endsWith('/pause')) reached.push(`${response.request().method()} ${response.status()}`); });
      await page.goto(url);
      return page;
    };
    const post = (page, url, headers, mode = 'cors') => page.evaluate(async ([to, sent, how]) => {
      try {
        return (await fetch(to, { method: 'POST', headers: sent, mode: how })).status;
      } catch (error) {
        return error.name;
      }
    }, [url, headers, mode]);

    const own = await visited(at(`/plugins/${input.plugin}`));
    await shows(own, 'need a session');
    assert.equal(await own.locator('[data-action]').count(), 0, 'no button without the token');
    assert.equal(await post(own, pause, {}), 403);
    assert.equal(await post(own, pause, { 'x-oarlock-action': '1' }), 403);
    assert.equal(await post(own, pause, { authorization: 'Bearer wrong' }), 401);
    await own.context().close();

    const wrong = await visited(`${origin}/#token=${'x'.repeat(43)}`);
    await wrong.goto(at(`/plugins/${input.plugin}`));
    await shows(wrong, 'Run oarlock ui');
    await wrong.waitForFunction(() => document.getElementById('access').textContent === 'read-only');
    await wrong.context().close();

    const server = createServer((request, response) => { response.setHeader('content-type', 'text/html'); response.end('<!doctype html><title>another</title>'); });
    await new Promise((listens) => server.listen(0, '127.0.0.1', listens));
    const another = await visited(`http://127.0.0.1:${server.address().port}/`);
    reached.length = 0;
    assert.equal(await post(another, pause, { authorization: token }), 'TypeError', 'the browser asks the host first, which does not allow it');
    assert.equal(await post(another, pause, { 'x-oarlock-action': '1' }), 'TypeError');
    assert.equal(await post(another, pause, {}, 'no-cors'), 0, 'the page cannot read the answer');
    const [answer] = await Promise.all([another.waitForResponse(pause), another.evaluate((to) => {
      const form = document.body.appendChild(document.createElement('form'));
      form.action = to;
      form.method = 'post';
      form.submit();
    }, pause)]);
    assert.equal(answer.status(), 403, 'a form');
    assert.deepEqual(reached.filter((one) => one.startsWith('POST')), ['POST 403', 'POST 403'], 'what reached the host was refused');
    await another.context().close();
    server.close();

    // A name that leads to this machine: the page would be of the same origin as the host.
    const named = `http://rebound.localhost:${new URL(origin).port}`;
    const rebound = await (await browser.newContext()).newPage();
    assert.equal((await rebound.goto(`${named}/`)).status(), 403);
    assert.equal(await post(rebound, `${named}/plugins/${input.plugin}/pause`, { authorization: token }), 403);
    await rebound.context().close();
    return {};
  },

  /** The page of an object that runs all the time: what a person chose, opened and focused stays. */
  async busy(browser) {
    const page = await opened(browser, input.route);
    const buttons = page.getByRole('button', { name: 'Show the states of' });
    await page.waitForFunction(() => document.querySelectorAll('[aria-label^="Show the states of"]').length > 2);
    await page.locator('summary', { hasText: 'read' }).click();
    await buttons.last().click();
    await shows(page, 'chosen', '#say');
    await page.locator('summary', { hasText: 'read' }).focus();
    const shown = async () => /Reconcile (\w+)\./.exec(await text(page))?.[1];
    const chosen = await shown();
    assert.ok(chosen, 'no states');
    const times = () => page.locator('[aria-label=Reconciles] tbody time').evaluateAll((all) => all.map((one) => one.dateTime));
    const before = await times();
    // All the reconciles that were shown have made room for others.
    await page.waitForFunction((old) => {
      const now = [...document.querySelectorAll('[aria-label=Reconciles] tbody time')].map((one) => one.dateTime);
      return now.length && !now.some((one) => old.includes(one));
    }, before);
    assert.equal(await shown(), chosen, 'the states that a person chose');
    assert.equal(await page.evaluate(() => document.activeElement?.localName), 'summary', 'the focus');
    assert.ok(await page.locator('details', { hasText: 'read' }).first().evaluate((one) => one.open), 'what was opened');
    // That reconcile is saved or none: its recording may have made room for others.
    const download = page.waitForEvent('download').catch(() => null);
    await page.getByRole('button', { name: 'Download as a case' }).click();
    await page.waitForFunction(() => /Saved|no recording of this reconcile/.test(document.querySelector('p.answer').textContent));
    if ((await text(page, 'p.answer')).includes('Saved')) {
      const name = (await download).suggestedFilename();
      assert.ok(name.includes(chosen), `${name} is not of ${chosen}`);
    }
    await close(page);
    return {};
  },

  /** A forwarded port that breaks for a while, and a plugin that goes and returns: afterwards everything is as before. */
  async interrupted(browser) {
    const page = await opened(browser, input.route);
    await shows(page, 'settled', 'h1');
    await shows(page, 'Reads', 'dl.facts');
    const object = /\/page\/object\?/;
    await page.route(object, (route) => route.fulfill({ status: 503, body: 'away for a while' }));
    await shows(page, 'The host does not answer: away for a while');
    await page.unroute(object);
    await shows(page, 'Reads', 'dl.facts');
    await page.route(object, (route) => route.fulfill({ status: 404, body: 'gone' }));
    await shows(page, 'No plugin of this host reconciles');
    assert.ok(!(await text(page, 'h1')).includes('settled'), 'the state of an object that no plugin has');
    assert.equal(await page.locator('[aria-label=Reconciles]').count(), 0, 'the reconciles of an object that no plugin has');
    await page.unroute(object);
    await shows(page, 'Reads', 'dl.facts');
    await shows(page, 'settled', 'h1');
    // What is open and focused is found again by its text, whatever comes, goes or is counted.
    const kept = await page.evaluate(async () => {
      const { h, redraw } = await import('/page/dom.js');
      const place = h('div', null);
      document.body.append(place);
      const part = (summary) => h('details', null, h('summary', null, summary));
      redraw(place, part('3 changes'), part('12 writes'));
      place.querySelector('details').open = true;
      place.querySelector('summary').focus();
      redraw(place, part('After the patch'), part('1 change'), part('13 writes'));
      const open = [...place.querySelectorAll('details')].filter((one) => one.open).map((one) => one.textContent);
      const focused = document.activeElement.textContent;
      place.remove();
      return { open, focused };
    });
    assert.deepEqual(kept, { open: ['1 change'], focused: '1 change' });
    await page.goto(at(`/plugins/${input.plugin}`));
    await shows(page, input.object, 'table.objects');
    const objects = /\/objects\?/;
    await page.route(objects, (route) => route.fulfill({ status: 404, body: 'gone' }));
    await shows(page, 'No version of the plugin runs');
    await page.unroute(objects);
    await shows(page, input.object, 'table.objects');
    await close(page);
    return {};
  },

  /** Another version is rolled out than the one that the question was about: it is not promoted. */
  async replaced(browser) {
    const page = await opened(browser, '/plugins/misfit');
    const promote = /\/promote/;
    const now = `version two (${input.candidate}) is rolled out now`;
    for (const [field, before, refusal] of [
      ['digest', 'sha256:of-a-version-before', `version sha256:of-a-version-before of plugin misfit neither waits nor is rolled out: ${now}`],
      ['config', 'of-a-configuration-before', `version ${input.candidate} of plugin misfit neither waits nor is rolled out with this configuration: ${now} with another one`],
    ]) {
      await page.getByRole('button', { name: 'Promote', exact: true }).click();
      await page.getByRole('dialog').getByText('Version two').waitFor();
      // As if the question had been about the version before.
      await page.route(promote, async (route) => {
        const url = new URL(route.request().url());
        assert.equal(url.searchParams.get('digest'), input.candidate);
        assert.match(url.searchParams.get('config'), /^[0-9a-f]{64}$/);
        url.searchParams.set(field, before);
        await route.continue({ url: url.href });
      });
      await page.getByRole('dialog').getByRole('button', { name: 'Promote' }).click();
      await shows(page, `not done: ${refusal}`, 'p.answer');
      await page.unroute(promote);
    }
    await close(page);
    return {};
  },

  /** Names, labels, messages and states that are scripts, change the direction of text, or are very long. */
  async hostile(browser) {
    const page = await opened(browser);
    const seen = [];
    for (const route of input.routes) {
      await page.goto(at(route));
      await page.waitForFunction(() => document.querySelector('h1'));
      await page.waitForFunction(() => !document.querySelector('#main').innerText.includes('Reading'));
      if (input.awaits[route]) await shows(page, input.awaits[route]);
      await fits(page, route);
      await accessible(page, route);
      seen.push(await text(page));
      await shot(page, `hostile-${seen.length}`);
    }
    await page.goto(at('/'));
    await shows(page, 'plugin', '.summary');
    await fits(page, 'hostile plugins');
    seen.push(await text(page));
    const strange = await page.evaluate(() => document.querySelectorAll('#main script, #main img, #main iframe, #main [onerror], #main [style]').length);
    assert.equal(strange, 0, 'elements that nobody made');
    for (const shown of seen) assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b-\u200f\u0007]/.test(shown), JSON.stringify(shown.slice(0, 3000)));
    await close(page);
    return { seen };
  },

  /** Everything that the page reads and shows, to search it. */
  async everything(browser) {
    const page = await opened(browser);
    const seen = [];
    for (const [route, wanted] of input.routes) {
      await page.goto(at(route));
      await shows(page, wanted);
      // The next request of each poll has been answered.
      await page.waitForLoadState('networkidle').catch(() => {});
      seen.push(await page.content());
    }
    const stored = await page.evaluate(() => [document.cookie, JSON.stringify(localStorage), location.href]);
    await close(page);
    return { seen: [...seen, ...bodies], stored };
  },

  /** The way to an object and back with keys alone. */
  async keyboard(browser) {
    const page = await opened(browser);
    const keys = page.keyboard;
    const focused = () => page.evaluate(() => document.activeElement?.innerText || document.activeElement?.tagName);
    await keys.press('Tab');
    assert.equal(await focused(), 'Skip to content');
    await keys.press('Enter');
    assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
    await keys.press('?');
    await page.getByRole('dialog').waitFor();
    await accessible(page, 'keys');
    await keys.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await keys.press('/');
    await keys.type('netw');
    await page.waitForFunction(() => document.querySelectorAll('table.plugins tbody tr').length === 1);
    await keys.press('ArrowDown');
    assert.equal(await focused(), 'network');
    const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(ring, 'solid', 'the focus is visible');
    await keys.press('Enter');
    await shows(page, input.object, 'table.objects');
    await keys.press('j');
    const first = await focused();
    await keys.press('j');
    const second = await focused();
    assert.notEqual(first, second);
    await keys.press('k');
    assert.equal(await focused(), first);
    await keys.press('End');
    assert.equal(await focused(), second);
    await keys.press('Enter');
    await shows(page, 'Why it is as it is');
    assert.ok(page.url().includes('/objects/network/'));
    await keys.press('Escape');
    await shows(page, 'Objects', 'h2#objects');
    await keys.press('/');
    await keys.type('nothing has this name');
    await shows(page, 'No object matches');
    await keys.press('Escape');
    await keys.press('Escape');
    await page.waitForFunction(() => location.hash === '#/');
    // Each control of the page is reached with the tabulator.
    const reached = new Set();
    for (let step = 0; step < 60; step += 1) {
      await keys.press('Tab');
      reached.add(await page.evaluate(() => document.activeElement?.id || document.activeElement?.innerText || document.activeElement?.tagName));
    }
    for (const wanted of ['search', 'help', 'network', 'Plugin', 'State']) assert.ok(reached.has(wanted), `${wanted} is not reached: ${[...reached].join(', ')}`);
    // What changes each second is not read out; what a person asks for is.
    const polite = await page.evaluate(() => [...document.querySelectorAll('[aria-live], [role=status]')].map((element) => element.id || element.className));
    assert.ok(!polite.some((name) => name.includes('summary') || name.includes('scroll')), polite.join());
    await close(page);
    return {};
  },

  /** A thousand plugins: the first view, the filter, the pages, and a figure of the time. */
  async many(browser) {
    const times = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const page = await tab(browser);
      await page.goto(`${origin}/`);
      await page.waitForFunction(() => performance.getEntriesByName('plugins-shown').length);
      times.push(await page.evaluate(() => performance.getEntriesByName('plugins-shown')[0].startTime));
      await close(page);
    }
    // The first one warms the browser up.
    const first = times.slice(1).sort((a, b) => a - b);
    const page = await opened(browser);
    const rows = () => page.locator('table.plugins tbody tr').count();
    if (input.plugins > 100) {
      assert.equal(await rows(), 100);
      await page.getByRole('button', { name: 'Next page' }).click();
      await shows(page, 'Page 2 of');
      await page.locator('#search').fill(input.one);
      await page.waitForFunction((name) => document.querySelectorAll('table.plugins tbody tr').length === 1 && document.querySelector('table.plugins tbody tr').innerText.includes(name), input.one);
      await page.locator('#search').fill('');
      await accessible(page, 'many plugins');
      await fits(page, 'many plugins');
    }
    await shot(page, 'many-plugins');
    await close(page);
    return { first };
  },

  /** A hundred thousand objects: search, pages and the last of them. */
  async objects(browser) {
    const page = await opened(browser, `/plugins/${input.plugin}`);
    const begin = Date.now();
    await page.waitForFunction(() => document.querySelectorAll('table.objects tbody tr[data-row]').length === 100);
    const list = Date.now() - begin;
    const searched = Date.now();
    await page.getByLabel('Search objects').fill(input.last);
    await page.waitForFunction((name) => { const rows = [...document.querySelectorAll('table.objects tbody tr[data-row]')]; return rows.length === 1 && rows[0].innerText.includes(name); }, input.last);
    const search = Date.now() - searched;
    // A search that takes several requests is not repeated with each look at the plugin.
    let [looks, searches] = [0, 0];
    page.on('request', (request) => { looks += request.url().includes('/log') ? 1 : 0; searches += /\/objects\?/.test(request.url()) ? 1 : 0; });
    while (looks < 3) await page.waitForRequest(/\/log/);
    assert.ok(input.objects <= 20_000 || searches === 0, `${searches} requests for objects while the plugin was looked at ${looks} times`);
    await shot(page, 'many-objects');
    await page.getByLabel('Search objects').fill('');
    await page.waitForFunction(() => document.querySelectorAll('table.objects tbody tr[data-row]').length === 100);
    await page.getByRole('button', { name: 'Next page' }).click();
    await shows(page, 'Page 2');
    // The page stays open while the caller measures the host.
    await page.waitForTimeout(input.openMs ?? 0);
    await close(page);
    return { list, search };
  },

  /** The pictures of the documents. */
  async pictures(browser) {
    for (const [name, route, wanted, options] of input.pictures) {
      const page = await opened(browser, route, { viewport: { width: 1100, height: 640 }, ...options });
      await shows(page, wanted);
      await page.waitForTimeout(input.openMs ?? 0);
      await shot(page, name);
      await close(page);
    }
    return {};
  },
};

const browser = await chromium.launch({
  executablePath: input.browser,
  // Chromium refuses its sandbox to root, as in containers.
  args: [...(process.getuid() === 0 ? ['--no-sandbox'] : []), '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars', '--force-device-scale-factor=1'],
});
try {
  const seen = await scenes[process.argv[2]](browser);
  assert.deepEqual(troubles, [], 'what the browser reported');
  process.stdout.write(JSON.stringify(seen));
} finally {
  await browser.close();
}
