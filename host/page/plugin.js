// A plugin: its state and actions, live charts, its objects, its versions and its last log lines.

import { act, hasToken, poll, read } from './api.js';
import { Chart } from './chart.js';
import { badge, bytes, confirmed, count, duration, fill, h, milliseconds, number, redraw, say, short, visible, when } from './dom.js';
import * as live from './live.js';
import { rollout } from './plugins.js';
import { history, planOf } from './version.js';

const FILTERS = [['all', 'All, problems first'], ['problem', 'Failed or out of sync'], ['failed', 'Failed'], ['out-of-sync', 'Out of sync'], ['paused', 'Paused']];

/** The actions on a plugin in a state: path, label, question before it, and the candidate that it is about. */
function actionsOf(row) {
  const actions = [];
  if (row.rollout) {
    actions.push(['promote', 'Promote', `Version ${visible(row.rollout.version ?? '', 60)} becomes the version that runs, without the remaining steps.`, row.rollout],
      ['abort', 'Abort', 'The rollout ends, and the host undoes what the canary wrote.', row.rollout]);
  }
  if (row.state === 'paused') actions.push(['resume', 'Resume', null]);
  else if (['active', 'rolling-out', 'quarantined'].includes(row.state)) actions.push(['pause', 'Pause', 'The plugin reconciles nothing until somebody resumes it.']);
  if (['active', 'rolling-out', 'quarantined'].includes(row.state)) actions.push(['reconcile', 'Reconcile', 'The plugin reconciles all its objects again.']);
  return actions;
}

class Actions {
  constructor(name) {
    this.name = name;
    this.key = '';
    this.buttons = h('div.buttons', { role: 'group', 'aria-label': 'Actions' });
    this.answer = h('p.answer', { role: 'status' });
  }

  show(row) {
    const key = `${row.state} ${row.rollout?.digest} ${row.rollout?.config} ${hasToken()}`;
    if (key === this.key) return;
    this.key = key;
    fill(this.buttons, hasToken() ? actionsOf(row).map(([action, label, question, candidate]) => {
      const button = h('button', { type: 'button', 'data-action': action, class: action === 'abort' ? 'danger' : null }, label);
      button.addEventListener('click', async () => {
        if (question && !(await confirmed(`${label} plugin ${visible(this.name, 80)}?`, question, label))) return;
        button.disabled = true;
        try {
          fill(this.answer, await act(this.name, action, candidate));
        } catch (error) {
          fill(this.answer, h('span.warn', null, `not done: ${error.message}`));
        }
        button.disabled = false;
      });
      return button;
    }) : null);
  }
}

/** Milliseconds until a search that took several requests is repeated without a person. */
const LONG_SEARCH = 30_000;

/** A list of a plugin's objects, with filter, search and pages. */
class Objects {
  constructor(plugin, signal) {
    Object.assign(this, { plugin, signal, before: [], after: null, next: null, key: '', running: null, rests: 0 });
    this.search = h('input', { type: 'search', placeholder: 'Search namespace/name or label=value', 'aria-label': 'Search objects', autocomplete: 'off', spellcheck: 'false' });
    this.state = h('select', { 'aria-label': 'Filter by state' }, FILTERS.map(([value, title]) => h('option', { value }, title)));
    this.kind = h('select', { 'aria-label': 'Filter by kind', hidden: true });
    this.namespace = h('input', { type: 'text', placeholder: 'Namespace', 'aria-label': 'Filter by namespace', size: 14, autocomplete: 'off', spellcheck: 'false' });
    this.body = h('tbody', null);
    this.counts = h('p.summary', null, 'Reading the objects…');
    this.pager = h('div.pager', null);
    let timer = null;
    const again = () => { clearTimeout(timer); timer = setTimeout(() => { this.before = []; this.after = null; this.load(true); }, 150); };
    for (const field of [this.search, this.state, this.kind, this.namespace]) field.addEventListener('input', again);
    const head = h('tr', null, ['Object', 'State', 'Marks', 'Last error'].map((title) => h('th', { scope: 'col' }, title)));
    this.element = h('section', { 'aria-labelledby': 'objects' },
      h('div.head', null, h('h2', { id: 'objects' }, 'Objects'), h('div.filters', null, this.search, this.state, this.kind, this.namespace)), this.counts,
      h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Table of objects' }, h('table.objects', null, h('caption.unseen', null, 'Objects of the plugin, those with a problem first'), h('thead', null, head), this.body)), this.pager);
  }

  async load(byPerson) {
    if (!byPerson && (this.running || performance.now() < this.rests)) return;
    this.running?.abort();
    const running = new AbortController();
    this.running = running;
    await this.find(AbortSignal.any([running.signal, this.signal]), byPerson);
    if (this.running === running) this.running = null;
  }

  async find(signal, byPerson) {
    const query = { state: this.state.value, search: this.search.value, kind: this.kind.value, namespace: this.namespace.value, limit: 100 };
    const found = [];
    let [next, scanned, answer, requests] = [this.after, 0, null, 0];
    try {
      // The host ends a page after some thousand objects, also when few of them match.
      do {
        answer = await read(`/page/plugins/${encodeURIComponent(this.plugin)}/objects`, { ...query, limit: 100 - found.length, after: next }, signal);
        if (!answer) break;
        found.push(...answer.objects);
        requests += 1;
        next = answer.next;
        scanned += answer.scanned;
        if (next && found.length < 100) fill(this.counts, `Searching… ${number(scanned)} objects so far`);
      } while (next && found.length < 100);
    } catch (error) {
      if (error.name === 'AbortError') return;
      fill(this.counts, h('span.warn', null, error.message));
      return;
    }
    if (signal.aborted) return;
    this.rests = requests > 1 ? performance.now() + LONG_SEARCH : 0;
    if (!answer) {
      fill(this.counts, 'No version of the plugin runs, so it has no objects.');
      fill(this.body);
      this.key = '';
      return;
    }
    this.next = next;
    this.draw(found, answer, scanned);
    if (byPerson) say(`${count(found.length, 'object')}${next ? ', and more' : ''}`);
  }

  draw(found, { counts, kinds }, scanned) {
    fill(this.counts, `${count(counts.all, 'object')} · `, h(counts.failed ? 'b.warn' : 'span', null, `${number(counts.failed)} failed`), ' · ',
      h(counts.outOfSync ? 'b.warn' : 'span', null, `${number(counts.outOfSync)} out of sync`), ` · ${number(counts.paused)} paused`);
    if (this.kind.options.length !== kinds.length + 1) {
      const chosen = this.kind.value;
      fill(this.kind, h('option', { value: '' }, 'All kinds'), kinds.map((kind) => h('option', { value: kind }, kind)));
      this.kind.value = chosen;
      this.kind.hidden = kinds.length < 2;
    }
    // Rows that stay the same keep the focus.
    const key = JSON.stringify(found);
    if (key !== this.key) {
      const focused = document.activeElement?.closest?.('[data-row]')?.dataset.row;
      fill(this.body, found.map((one) => this.row(one)));
      if (focused && !this.element.contains(document.activeElement)) {
        [...this.body.children].find((row) => row.dataset.row === focused)?.querySelector('a.open')?.focus();
      }
      this.key = key;
    }
    if (!found.length) fill(this.body, h('tr', null, h('td', { colspan: 4 }, scanned ? 'No object matches.' : 'There is no object.')));
    const first = this.before.length === 0;
    const shown = `${this.before.length} ${Boolean(this.next)}`;
    if (this.pager.dataset.shown === shown) return;
    this.pager.dataset.shown = shown;
    fill(this.pager, first && !this.next ? null : [
      h('button', { type: 'button', 'data-page': 'before', disabled: first, onclick: () => { this.after = this.before.pop() ?? null; this.load(true); } }, 'Page before'),
      h('span', null, `Page ${this.before.length + 1}`),
      h('button', { type: 'button', 'data-page': 'next', disabled: !this.next, onclick: () => { if (this.next) { this.before.push(this.after); this.after = this.next; this.load(true); } } }, 'Next page')]);
  }

  row(one) {
    const name = one.namespace ? `${one.namespace}/${one.name}` : one.name;
    // `ConfigMap.` is of the core group, and `ConfigMap` of any.
    const group = one.apiVersion.includes('/') ? one.apiVersion.split('/')[0] : '';
    const path = ['#/objects', this.plugin, `${one.kind}.${group}`, one.namespace || '-', one.name].map((part, at) => (at ? encodeURIComponent(part) : part)).join('/');
    const marks = [one.failed && badge('failed', 'bad'), one.outOfSync && badge('out of sync', 'bad'), one.paused && badge('paused'), one.deleting && badge('deleting', 'busy')];
    return h('tr', { 'data-row': path }, h('th', { scope: 'row' }, h('span.kind', null, `${one.kind} `), h('a.open', { href: path }, name)), h('td', null, one.state), h('td', null, marks), h('td.message', null, h('span', null, one.error ?? '')));
  }
}

/** The last log lines. */
export function logLines(lines) {
  if (!lines?.length) return h('p.note', null, 'No line yet.');
  return h('ol.log', { tabindex: 0, 'aria-label': 'Log lines, the newest first' }, lines.slice(-60).reverse().map((line) => {
    const { timestamp, level, message, plugin, target, ...rest } = line.fields ? { ...line, ...line.fields, fields: undefined } : line;
    const more = Object.entries(rest).filter(([name, value]) => value !== undefined && name !== 'span' && name !== 'spans').map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' ');
    return h(`li.${String(level).toLowerCase() === 'warn' || String(level).toLowerCase() === 'error' ? 'warn' : 'quiet'}`, null, when(timestamp), ` ${level} `, message ?? '', ' ', h('span.note', null, more));
  }));
}

/** Everything else that the host knows about the plugin. */
function details(entry) {
  const facts = [
    ['Version', entry.digest ? h('a', { href: `#/plugins/${encodeURIComponent(entry.name)}/versions/${encodeURIComponent(entry.digest)}` }, `${entry.version ?? ''} (${short(entry.digest)})`) : entry.version],
    ['Reason', entry.reason], ['Last error', entry.lastError && [entry.lastError, entry.lastErrorAt ? [' at ', when(entry.lastErrorAt)] : '']],
    ['Since', entry.sinceSeconds === undefined ? null : duration(entry.sinceSeconds)], ['File', entry.file], ['Source', entry.source && JSON.stringify(entry.source)],
    ['Waits for', entry.waitingFor?.length ? entry.waitingFor.join('; ') : null], ['Warnings', entry.warnings?.join('; ')], ['Missing in the grant', entry.missing?.join('; ')],
    ['Permissions that the API server denies', entry.missingPermissions?.join('; ')], ['Finalizers left on', entry.finalizersLeftOn && JSON.stringify(entry.finalizersLeftOn)],
    ['Lease', entry.lease && `${entry.lease.held ? 'held by this host' : `held by ${entry.lease.holder ?? 'no host'}`}`], ['Workers', entry.workers], ['Resync', entry.resyncSeconds && duration(entry.resyncSeconds)],
    ['Instance memory', bytes(entry.instanceMemoryBytes)], ['Can go back to', entry.canGoBackTo],
    ['Next version', entry.next && [h('a', { href: entry.next.digest ? `#/plugins/${encodeURIComponent(entry.next.name ?? entry.name)}/versions/${encodeURIComponent(entry.next.digest)}` : null }, entry.next.version ?? 'unknown'), ' ', badge(entry.next.state), ` ${entry.next.reason ?? ''}`]],
  ];
  return h('dl.facts', null, facts.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false).map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

/** Replaces the content of an element if what it shows is something else. */
function refresh(element, key, make) {
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  redraw(element, make());
}

export function show(main, signal, [id]) {
  const charts = [
    new Chart('Reconciles per second', [{ field: 'rate', name: 'all', tone: 'main' }, { field: 'errors', name: 'failed', tone: 'bad' }], number, live.MINUTES),
    new Chart('Queue', [{ field: 'queue', name: 'keys', tone: 'main' }], number, live.MINUTES),
    new Chart('Time of a reconcile', [{ field: 'p50', name: 'p50', tone: 'main' }, { field: 'p99', name: 'p99', tone: 'soft' }], milliseconds, live.MINUTES),
  ];
  const state = h('span', null);
  const actions = new Actions(id);
  const facts = h('div', null);
  const rolling = h('div', null);
  const past = h('div', null);
  const log = h('div', null);
  const gone = h('p.alert', { hidden: true }, 'The host does not have this plugin any more.');
  fill(main, h('div.head', null, h('h1', null, id, ' ', state), actions.buttons), actions.answer, gone, h('div.charts', null, charts.map((chart) => chart.element)));

  function draw(changed) {
    const plugin = live.all().get(id);
    gone.hidden = !live.isLoaded() || Boolean(plugin);
    if (!plugin) return;
    charts.forEach((chart) => chart.show(plugin.history));
    const { row } = plugin;
    refresh(state, `${row.state} ${row.version} ${rollout(row)} ${row.standby}`, () => [badge(row.state), h('span.soft', null, ` ${row.version ?? ''}`), rollout(row) ? h('span.note', null, ` · ${rollout(row)}`) : null, row.standby ? h('span.note', null, ' · standby') : null]);
    actions.show(row);
    return changed;
  }

  draw(null);
  signal.addEventListener('abort', live.listen(draw));
  if (!hasToken()) {
    main.append(h('section.alert', { 'aria-labelledby': 'closed' }, h('h2', { id: 'closed' }, 'Objects, reasons and log lines need a session'),
      h('p', null, 'On this machine, run ', h('code', null, `oarlock ui --admin-addr ${location.host}`), ' and open the address that it prints. In a cluster, run ', h('code', null, 'kubectl port-forward'), ' first.')));
    return { title: id };
  }
  const objects = new Objects(id, signal);
  main.append(rolling, objects.element, h('section', { 'aria-labelledby': 'about' }, h('h2', { id: 'about' }, 'Details'), facts),
    h('section', { 'aria-labelledby': 'ran' }, h('h2', { id: 'ran' }, 'Versions that ran'), past), h('section', { 'aria-labelledby': 'loglines' }, h('h2', { id: 'loglines' }, 'Log'), log));
  const path = `/page/plugins/${encodeURIComponent(id)}`;
  poll(async () => {
    try {
      const [found, lines] = await Promise.all([read(path, {}, signal), read(`${path}/log`, {}, signal), objects.load(false)]);
      const entry = found?.plugin;
      if (entry) {
        refresh(facts, JSON.stringify({ ...entry, rollout: 0, reconciles: 0, reconcilesPerSecond: 0, p50Ms: 0, p99Ms: 0, queueDepth: 0 }), () => details(entry));
        refresh(rolling, JSON.stringify(entry.rollout ?? ''), () => (entry.rollout ? h('section', { 'aria-labelledby': 'rollout' }, h('h2', { id: 'rollout' }, `Rollout of ${visible(entry.rollout.version ?? '', 60)}`), planOf(entry.rollout)) : null));
      }
      refresh(log, JSON.stringify(lines?.lines?.slice(-60) ?? []), () => logLines(lines?.lines));
      if (past.dataset.of !== entry?.digest) {
        const versions = await read(`${path}/versions`, {}, signal);
        past.dataset.of = entry?.digest ?? '';
        fill(past, history(id, versions?.revisions));
      }
    } catch (error) {
      if (error.name !== 'AbortError') refresh(facts, error.message, () => h('p.warn', null, error.message));
    }
  }, 3, signal);
  return { title: id };
}
