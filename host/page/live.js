// The plugins while they run, and the last minutes of their numbers.

/** Seconds that the charts show. */
export const MINUTES = 5;
const KEPT = MINUTES * 60;

const plugins = new Map();
const listeners = new Set();
let source = null;
let retry = null;
let state = 'connecting';
let loaded = false;

/** All plugins, by id: `row` as the host sends it, and `history` of `{at, rate, errors, queue, p50, p99}` by second. */
export const all = () => plugins;

/** Whether the first snapshot is here. */
export const isLoaded = () => loaded;

/** `connecting`, `live`, `refused` or `paused`. */
export const status = () => state;

/** Calls a function after each change; it gets the ids of the changed rows, or null for all. Returns a function that ends that. */
export function listen(call) {
  listeners.add(call);
  return () => listeners.delete(call);
}

function tell(changed) {
  for (const call of listeners) call(changed);
}

function sample(plugin, at) {
  const { row, last } = plugin;
  const seconds = last ? (at - last.at) / 1000 : 0;
  // A count that fell is that of a host that started again.
  const rate = (field) => (last && seconds > 0 && row[field] >= last[field] ? (row[field] - last[field]) / seconds : 0);
  plugin.now = { at, rate: rate('reconciles'), errors: rate('errors'), queue: row.queueDepth ?? 0, p50: row.p50Ms ?? null, p99: row.p99Ms ?? null };
  plugin.last = { at, reconciles: row.reconciles ?? 0, errors: row.errors ?? 0 };
  if (seconds > 0) plugin.history.push(plugin.now);
  while (plugin.history.length > KEPT) plugin.history.shift();
}

function take(event, whole) {
  const { at, rows, gone } = JSON.parse(event.data);
  const changed = new Set(gone);
  if (whole) {
    const ids = new Set(rows.map((row) => row.id));
    for (const id of plugins.keys()) if (!ids.has(id)) plugins.delete(id);
  }
  for (const id of gone) plugins.delete(id);
  for (const row of rows) {
    const known = plugins.get(row.id);
    changed.add(row.id);
    if (known) known.row = row;
    else plugins.set(row.id, { id: row.id, row, history: [], last: null, now: null });
  }
  for (const plugin of plugins.values()) sample(plugin, at);
  loaded = true;
  set('live');
  tell(whole ? null : changed);
}

function set(next) {
  if (state === next) return;
  state = next;
  tell(new Set());
}

function connect() {
  clearTimeout(retry);
  source?.close();
  source = new EventSource('/page/events');
  source.addEventListener('plugins', (event) => take(event, true));
  source.addEventListener('changes', (event) => take(event, false));
  source.onerror = () => {
    // Without a connection the browser tries again by itself. It gives up after an answer: the host has too many open pages, or a proxy in between
    // does not reach it.
    set(source.readyState === EventSource.CLOSED ? 'refused' : 'connecting');
    if (source.readyState === EventSource.CLOSED) retry = setTimeout(connect, 10_000);
  };
}

// It begins before the other modules are here. A page that nobody sees holds no connection.
connect();
document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    clearTimeout(retry);
    source?.close();
    set('paused');
  } else connect();
});
addEventListener('pagehide', () => source?.close());
