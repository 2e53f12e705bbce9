// The plugins: a table with live charts, those with a problem first.

import { Spark } from './chart.js';
import { badge, bytes, count, fill, h, isBad, milliseconds, number, say } from './dom.js';
import * as live from './live.js';

/** Rows of a page. */
const ROWS = 100;

const COLUMNS = [
  ['Plugin', 'name'], ['State', 'state'], ['Version', 'version'], ['Rollout', null], ['Objects', 'objects'], ['Out of sync', 'outOfSync'], ['Queue', 'queueDepth'],
  ['Reconciles/s', 'rate'], ['Errors/s', 'errors'], ['p50', 'p50Ms'], ['p99', 'p99Ms'], ['Memory', 'memoryBytes'],
];

/** How much a plugin needs a person: problems first. */
function trouble({ row, now }) {
  if (isBad(row.state)) return 4;
  if (row.state?.startsWith('awaiting') || row.next) return 3;
  if (row.outOfSync || (now?.errors ?? 0) > 0) return 2;
  return row.rollout || row.state === 'paused' ? 1 : 0;
}

const value = (plugin, field) => (field === 'rate' || field === 'errors' ? plugin.now?.[field] ?? 0 : plugin.row[field] ?? (field === 'name' ? plugin.id : 0));

function compare(field, down) {
  const byName = (a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
  if (!field) return (a, b) => trouble(b) - trouble(a) || byName(a, b);
  return (a, b) => {
    const [one, other] = [value(a, field), value(b, field)];
    const order = typeof one === 'string' || typeof other === 'string' ? String(one).localeCompare(String(other)) : one - other;
    return (down ? -order : order) || byName(a, b);
  };
}

/** What a rollout or a waiting version says in a few words. */
export function rollout(row) {
  if (row.rollout) return `${row.rollout.phase}${row.rollout.phase === 'canary' ? ` ${row.rollout.percent} %` : ''} of ${row.rollout.version}`;
  if (row.next) return `${row.next.version ?? 'next version'}: ${row.next.state}`;
  return row.onProbation ? 'on probation' : '';
}

class Row {
  constructor(id) {
    this.rate = new Spark('rate', 'main');
    this.errors = new Spark('errors', 'bad');
    this.link = h('a.open', { href: `#/plugins/${encodeURIComponent(id)}` }, id);
    this.cells = Array.from({ length: COLUMNS.length - 1 }, () => h('td', null));
    [3, 4, 5, 6, 7, 8, 9, 10].forEach((at) => this.cells[at].classList.add('number'));
    this.rateText = h('span', null);
    this.errorText = h('span', null);
    fill(this.cells[6], this.rate.element, this.rateText);
    fill(this.cells[7], this.errors.element, this.errorText);
    this.element = h('tr', { 'data-row': id }, h('th', { scope: 'row' }, this.link), this.cells);
  }

  show(plugin) {
    const { row, now, history } = plugin;
    this.rate.show(history);
    this.errors.show(history);
    const texts = [
      () => badge(row.state), row.version ?? '', rollout(row), number(row.objects ?? 0), number(row.outOfSync ?? 0), number(row.queueDepth ?? 0), null, null,
      milliseconds(row.p50Ms), milliseconds(row.p99Ms), bytes(row.memoryBytes),
    ];
    texts.forEach((text, at) => {
      if (text === null) return;
      const key = typeof text === 'function' ? `${row.state}${row.standby}` : text;
      // Cells that stay the same are left alone: a screen reader keeps its place.
      if (this.cells[at].dataset.key === key) return;
      this.cells[at].dataset.key = key;
      fill(this.cells[at], typeof text === 'function' ? [text(), row.standby ? h('span.note', null, ' standby') : null] : text);
    });
    this.cells[4].classList.toggle('warn', Boolean(row.outOfSync));
    this.rateText.textContent = number(now?.rate ?? 0);
    this.errorText.textContent = number(now?.errors ?? 0);
    this.cells[7].classList.toggle('warn', (now?.errors ?? 0) > 0);
  }
}

/** Shows the page, until the signal ends it. */
export function show(main, signal) {
  const view = { search: '', field: null, down: true, page: 0, rows: new Map(), order: '' };
  const body = h('tbody', null);
  const summary = h('p.summary', null);
  const pager = h('div.pager', null);
  const search = h('input', { type: 'search', id: 'search', placeholder: 'Filter by name, state or version', 'aria-label': 'Filter plugins', autocomplete: 'off', spellcheck: 'false' });
  search.addEventListener('input', () => { view.search = search.value.toLowerCase(); view.page = 0; draw(null); });
  const heads = COLUMNS.map(([title, field]) => {
    if (!field) return h('th', { scope: 'col' }, title);
    const button = h('button.sort', { type: 'button' }, title);
    const head = h('th', { scope: 'col' }, button);
    button.addEventListener('click', () => {
      const [same, down] = [view.field === field, view.down];
      Object.assign(view, { field: same && !(field === 'name' ? !down : down) ? null : field, down: same ? !down : field !== 'name', page: 0 });
      if (same && view.field === null) view.down = true;
      for (const other of heads) other.removeAttribute('aria-sort');
      if (view.field) head.setAttribute('aria-sort', view.down ? 'descending' : 'ascending');
      say(view.field ? `sorted by ${title}` : 'problems first');
      draw(null);
    });
    return head;
  });
  const table = h('table.plugins', null, h('caption.unseen', null, 'Plugins of this host'), h('thead', null, h('tr', null, heads)), body);
  fill(main, h('div.head', null, h('h1', null, 'Plugins'), search), summary, h('div.scroll', { tabindex: 0, role: 'region', 'aria-label': 'Table of plugins' }, table), pager);

  function turn(pages, step) {
    view.page = Math.min(Math.max(view.page + step, 0), pages - 1);
    draw(null);
    say(`page ${view.page + 1} of ${pages}`);
  }

  function draw(changed) {
    if (!live.isLoaded()) {
      fill(summary, live.status() === 'refused' ? 'The host has too many open pages, or a proxy does not reach it. This page tries again every ten seconds.' : 'Connecting to the host…');
      return;
    }
    const all = [...live.all().values()];
    const wanted = all.filter(({ id, row }) => !view.search || `${id} ${row.state} ${row.version ?? ''} ${rollout(row)}`.toLowerCase().includes(view.search));
    const pages = Math.max(1, Math.ceil(wanted.length / ROWS));
    view.page = Math.min(view.page, pages - 1);
    // While the focus is in the table, rows stay where they are.
    const held = changed && body.contains(document.activeElement) && [...view.rows.keys()].every((id) => live.all().has(id));
    const shown = held ? [...view.rows.keys()].map((id) => live.all().get(id)) : wanted.sort(compare(view.field, view.down)).slice(view.page * ROWS, (view.page + 1) * ROWS);
    const order = shown.map(({ id }) => id).join('\n');
    const rows = new Map(shown.map((plugin) => [plugin.id, view.rows.get(plugin.id) ?? new Row(plugin.id)]));
    for (const plugin of shown) rows.get(plugin.id).show(plugin);
    if (order !== view.order) body.replaceChildren(...[...rows.values()].map((row) => row.element));
    view.rows = rows;
    if (rows.size && !performance.getEntriesByName('plugins-shown').length) performance.mark('plugins-shown');
    const reordered = order !== view.order;
    view.order = order;
    const bad = all.filter((plugin) => isBad(plugin.row.state)).length;
    const differ = all.reduce((sum, { row }) => sum + (row.outOfSync ?? 0), 0);
    const rate = all.reduce((sum, { now }) => sum + (now?.rate ?? 0), 0);
    const objects = all.reduce((sum, { row }) => sum + (row.objects ?? 0), 0);
    fill(summary, `${count(all.length, 'plugin')} · `, h(bad ? 'b.warn' : 'span', null, `${number(bad)} failed or quarantined`), ` · ${count(objects, 'object')} · `,
      h(differ ? 'b.warn' : 'span', null, `${number(differ)} out of sync`), ` · ${number(rate)} reconciles/s`, wanted.length < all.length ? ` · ${number(wanted.length)} shown` : '');
    if (!all.length) fill(summary, 'This host has no plugins. Put a .wasm file and its grant into its plugin directory.');
    if (pages > 1 && (reordered || !pager.firstChild || pager.dataset.page !== `${view.page}/${pages}`)) {
      pager.dataset.page = `${view.page}/${pages}`;
      fill(pager, h('button', { type: 'button', 'data-page': 'before', disabled: view.page === 0, onclick: () => turn(pages, -1) }, 'Page before'),
        h('span', null, `Page ${view.page + 1} of ${pages}`), h('button', { type: 'button', 'data-page': 'next', disabled: view.page + 1 >= pages, onclick: () => turn(pages, 1) }, 'Next page'));
    } else if (pages === 1) fill(pager);
  }

  draw(null);
  signal.addEventListener('abort', live.listen(draw));
  return { title: 'Plugins' };
}
