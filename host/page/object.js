// An object: why it is as it is, its last reconciles, desired against actual state, and its recordings as cases.

import { NoSession, poll, read } from './api.js';
import { diff, document_, same } from './diff.js';
import { badge, count, duration, fill, h, milliseconds, redraw, say, short, visible, when } from './dom.js';
import { logLines } from './plugin.js';

function tone(state) {
  if (state.startsWith('failed') || state.includes('differ')) return 'bad';
  if (state === 'settled') return 'good';
  if (state.startsWith('paused')) return 'held';
  return ['unknown', 'left', 'removed'].some((word) => state.startsWith(word)) ? 'quiet' : 'busy';
}

function queued(one) {
  const failures = one.failures ? ` after ${count(one.failures, 'failure')}` : '';
  if (one.phase === 'processing') return `being reconciled for ${one.forSeconds} s${one.again ? `, and again afterwards (${one.again})` : ''}`;
  if (one.phase === 'ready') return `waits for a worker for ${one.forSeconds} s (${one.trigger})${failures}`;
  return `runs in ${one.inSeconds} s (${one.trigger})${failures}`;
}

/** What one plugin has to do with the object. */
function explained(plugin) {
  const facts = [
    ['Plugin', h('a', { href: `#/plugins/${encodeURIComponent(plugin.plugin)}` }, plugin.plugin)],
    ['Version', h('a', { href: `#/plugins/${encodeURIComponent(plugin.plugin)}/versions/${encodeURIComponent(plugin.digest)}` }, `${plugin.version} (${short(plugin.digest)})`)],
    ['Held up by', plugin.heldUp?.length ? h('ul', null, plugin.heldUp.map((cause) => h('li.warn', null, cause))) : null],
    ['Last error', plugin.lastError && h('span.warn', null, plugin.lastError)],
    ['Next', plugin.queue ? (plugin.queue.length ? plugin.queue.map(queued).join('; ') : `with a change, or a resync every ${duration(plugin.resyncSeconds)}`) : null],
    ['Not cached', plugin.notCached],
    ['Runs on changes of', plugin.runsOn?.length ? h('ul', null, [h('li', null, 'the object itself'), ...plugin.runsOn.map((one) => h('li', null, one))]) : plugin.runsOn && 'the object itself'],
    ['Wakes others', plugin.wakes?.length ? h('ul', null, plugin.wakes.map((one) => h('li', null, one))) : null],
    ['Reads', plugin.reads?.length ? h('details', null, h('summary', null, count(plugin.reads.length + (plugin.furtherReads ?? 0), 'read')), h('ul', null, plugin.reads.map((one) => h('li', null, typeof one === 'string' ? one : JSON.stringify(one))))) : null],
  ];
  return h('dl.facts', null, facts.filter(([, value]) => value).map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

/** Saves a text as a file. */
function save(name, text) {
  const link = h('a', { href: URL.createObjectURL(new Blob([text], { type: 'application/yaml' })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

class ObjectPage {
  constructor(main, signal, [plugin, kind, namespace, name]) {
    // `chosen` is the reconcile whose states a person wants to see. Empty: the newest.
    Object.assign(this, { signal, plugin, chosen: '', newest: null, drawn: '' });
    this.query = { kind, namespace: namespace === '-' ? '' : namespace, name };
    this.full = this.query.namespace ? `${this.query.namespace}/${name}` : name;
    this.state = h('span', null);
    this.explain = h('div', null, h('p.note', null, 'Reading…'));
    this.timeline = h('div', null);
    this.states = h('div', null);
    this.writes = h('div', null);
    this.log = h('div', null);
    this.answer = h('p.answer', { role: 'status' });
    this.save = h('button', { type: 'button', 'data-action': 'case', onclick: () => this.download() }, 'Download as a case');
    const bare = kind.split('.')[0];
    const section = (id, title, content, ...more) => h('section', { 'aria-labelledby': id }, h('div.head', null, h('h2', { id }, title), ...more), content);
    fill(main, h('div.head', null, h('h1', null, h('span.kind', null, `${bare} `), this.full, ' ', this.state)), section('why', 'Why it is as it is', this.explain),
      section('states', 'Desired and actual state', this.states, this.save), this.answer, section('timeline', 'Last reconciles', this.timeline), section('writes', 'Reconciles that wrote it', this.writes), section('lines', 'Log', this.log),
      h('section', { 'aria-labelledby': 'commands' }, h('h2', { id: 'commands' }, 'On the command line'),
        h('pre.commands', { tabindex: 0 }, ['explain', 'reconcile', 'pause', 'resume', 'record'].map((verb) => `oarlock ${verb} ${visible(bare, 200)} ${visible(this.full, 600)}\n`)),
        h('p.note', null, 'reconcile, pause and resume write an annotation of the object, with your own permissions.')));
  }

  async load() {
    try {
      const found = await read('/page/object', this.query, this.signal);
      if (!found) {
        this.drawn = '';
        fill(this.explain, h('p', null, 'No plugin of this host reconciles or reads such an object, or wrote it lately.'));
        fill(this.state);
        fill(this.timeline, this.reconciles([]));
        fill(this.writes, this.written([]));
        return;
      }
      const others = found.plugins.filter((one) => one.plugin !== this.plugin);
      const own = found.plugins.find((one) => one.plugin === this.plugin);
      const key = JSON.stringify(found);
      if (key === this.drawn) return;
      this.drawn = key;
      fill(this.state, own?.state ? badge(own.state, tone(own.state)) : null);
      redraw(this.explain, own ? explained(own) : h('p', null, `Plugin ${visible(this.plugin, 200)} has nothing to do with it.`),
        others.length ? h('details', null, h('summary', null, count(others.length, 'other plugin')), others.map((one) => [one.state ? badge(one.state, tone(one.state)) : null, explained(one)])) : null);
      redraw(this.timeline, this.reconciles(own?.last ?? [], own?.lastCompleteSince));
      redraw(this.writes, this.written(found.writes ?? []));
      const newest = own?.last?.find((one) => one.recorded)?.correlationId ?? '';
      if (!this.chosen && newest !== this.newest) await this.show('');
      this.newest = newest;
      const lines = await read(`/page/plugins/${encodeURIComponent(this.plugin)}/log`, { object: `${this.query.kind.split('.')[0]} ${this.full}` }, this.signal);
      redraw(this.log, logLines(lines?.lines));
    } catch (error) {
      if (error.name === 'AbortError') return;
      this.drawn = '';
      fill(this.explain, h('p.warn', null, error instanceof NoSession ? error.message : `The host does not answer: ${error.message}`));
    }
  }

  /** The last reconciles as a table. Before `since` the host knows of recorded ones only. */
  reconciles(last, since) {
    const note = since ? h('p.note', null, 'Before ', when(since), ' the host knows of recorded reconciles only.') : null;
    if (!last.length) return [h('p.note', null, 'No reconcile is known.'), note];
    const head = ['Time', 'Outcome', 'Because of', 'Took', 'Written', 'Error', 'State'].map((title) => h('th', { scope: 'col' }, title));
    const rows = last.map((one) => {
      const button = one.recorded ? h('button', { type: 'button', onclick: () => this.choose(one.correlationId) }, 'Show') : null;
      button?.setAttribute('aria-label', `Show the states of the reconcile at ${one.at}`);
      return h('tr', null, h('th', { scope: 'row' }, when(one.at)), h('td', null, badge(one.outcome, one.error ? 'bad' : 'good')),
        h('td', null, `${one.trigger ?? ''}${one.attempt > 1 ? `, attempt ${one.attempt}` : ''}`, one.cause ? h('span.note', null, ` ${one.cause}`) : null),
        h('td.number', null, milliseconds(one.tookMs)), h('td.message', null, h('span', null, one.written ?? '')), h('td.message', null, h('span', null, one.error ?? '')), h('td', null, button));
    });
    return [h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Reconciles' }, h('table', null, h('thead', null, h('tr', null, head)), h('tbody', null, rows))), note];
  }

  written(writes) {
    if (!writes.length) return h('p.note', null, 'No plugin wrote it since this host leads.');
    return h('ul.writes', null, writes.map((one) => h('li', null, when(one.at), ' ', h('a', { href: `#/plugins/${encodeURIComponent(one.plugin)}` }, one.plugin), ` ${one.version} (${short(one.digest)}) for ${one.of}, because of ${one.trigger}`,
      one.cause ? h('span.note', null, ` ${one.cause}`) : null, h('ul', null, (one.writes ?? []).map((write) => h('li', null, `${write.write} as ${one.manager}${one.fields ? `: ${one.fields.join(', ')}` : ''}`))))));
  }

  /** Shows the states of the reconcile that a person chooses. They stay; those of the newest follow it. */
  async choose(reconcile) {
    try {
      await this.show(reconcile === this.newest ? '' : reconcile);
      document.getElementById('states')?.scrollIntoView({ block: 'start' });
      say('the states of the chosen reconcile are shown');
    } catch (error) {
      if (error.name !== 'AbortError') fill(this.states, h('p.warn', null, error.message));
    }
  }

  /** Shows the states of a reconcile; of the newest without an id. */
  async show(reconcile) {
    this.chosen = reconcile;
    const found = await read('/page/states', { ...this.query, plugin: this.plugin, reconcile }, this.signal);
    if (this.chosen !== reconcile) return;
    this.save.hidden = !found;
    if (!found) {
      fill(this.states, h('p.note', null, 'No recording has them.'));
      return;
    }
    this.reconcile = found.reconcile;
    const { desired, actual, after, differed, changes, writes } = found.states;
    const known = desired !== undefined && actual !== undefined;
    const equal = known && same(actual, desired);
    const parts = [h('p.note', null, `Reconcile ${found.reconcile ?? ''}. `, !known ? (desired !== undefined ? 'Only the desired state is known: the reconcile failed before the plugin observed the actual one.' : actual !== undefined ? 'Only the actual state is known.' : 'Neither is known: the reconcile failed before.') : equal ? 'They are equal: there was nothing to do.' : actual === null ? 'There was no actual state: everything is desired only.' : desired === null ? 'Nothing is desired any more: everything is actual only.' : `They differ${differed && differed !== 'the whole state' ? ` first at ${differed}` : ''}. − is actual only, + is desired only.`)];
    if (known) parts.push(diff(actual, desired, 'Difference from the actual to the desired state'));
    else if (desired !== undefined) parts.push(document_(desired, 'Desired state'));
    else if (actual !== undefined) parts.push(document_(actual, 'Actual state'));
    if (after?.actual !== undefined) parts.push(h('details', null, h('summary', null, 'After the patch'), diff(after.actual, desired ?? null, 'Difference after the patch')));
    if (changes?.length) parts.push(h('details', null, h('summary', null, count(changes.length, 'change')), document_(changes, 'Changes')));
    if (writes?.length) parts.push(h('details', null, h('summary', null, count(writes.length, 'write')), document_(writes, 'Writes')));
    redraw(this.states, parts);
  }

  async download() {
    this.save.disabled = true;
    try {
      const found = await read('/recordings', { ...this.query, plugin: this.plugin, last: 100 }, this.signal);
      const one = found?.recordings?.find(({ name }) => !this.reconcile || name.includes(this.reconcile));
      if (one) save(`${one.name.replace(/[^A-Za-z0-9._-]/g, '_')}.yaml`, one.case);
      fill(this.answer, one ? `Saved. Replay it: oarlock test PLUGIN.wasm --cases FOLDER` : 'There is no recording of this reconcile any more.');
    } catch (error) {
      fill(this.answer, h('span.warn', null, error.message));
    }
    this.save.disabled = false;
  }
}

export function show(main, signal, parts) {
  const page = new ObjectPage(main, signal, parts);
  poll(() => page.load(), 2, signal);
  return { title: visible(page.full, 200) };
}

