// Requests to the host, with the token of the session.

const KEY = 'oarlock-token';

/** Thrown when the host wants a session, or another one. */
export class NoSession extends Error {}

let ended = null;

/** Takes the token out of the address, so that it is in no bookmark and no history. */
export function takeToken() {
  const found = /(?:^#|&)token=([A-Za-z0-9_-]+)/.exec(location.hash);
  if (!found) return;
  sessionStorage.setItem(KEY, found[1]);
  history.replaceState(null, '', `${location.pathname}#/`);
}

export const hasToken = () => sessionStorage.getItem(KEY) !== null;

/** Calls a function when the session ends. */
export function onEnd(call) {
  ended = call;
}

async function send(path, options = {}) {
  const token = sessionStorage.getItem(KEY);
  if (!token) throw new NoSession('Run oarlock ui to see this.');
  const response = await fetch(path, { ...options, headers: { authorization: `Bearer ${token}` }, cache: 'no-store', credentials: 'omit', redirect: 'error' });
  if (response.status === 401) {
    sessionStorage.removeItem(KEY);
    ended?.();
    throw new NoSession('The session has ended. Run oarlock ui again.');
  }
  return response;
}

/** The query of an address. Empty pairs are left out. */
function query(pairs) {
  const some = Object.entries(pairs ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return some.length ? `?${new URLSearchParams(some)}` : '';
}

/**
 * Reads JSON. Null: the host has no such thing.
 *
 * @param {string} path
 * @param {object} pairs of the query
 * @param {AbortSignal} signal
 */
export async function read(path, pairs, signal) {
  const response = await send(path + query(pairs), { signal });
  if (response.status === 404) return null;
  if (!response.ok) throw new Error((await response.text()).trim() || `the host answers ${response.status}`);
  return response.json();
}

/**
 * Takes an action on a plugin. Resolves to what the host says about it.
 *
 * @param {object|undefined} candidate digest and config of the one that the person saw: the host refuses to act on another one
 */
export async function act(plugin, action, candidate) {
  const response = await send(`/plugins/${encodeURIComponent(plugin)}/${action}${query({ digest: candidate?.digest, config: candidate?.config })}`, { method: 'POST' });
  const text = (await response.text()).trim();
  if (!response.ok) throw new Error(text);
  return text;
}

/**
 * Calls a function now, and again and again while the page is visible, until the signal ends it.
 *
 * @param {function(): Promise} call
 * @param {number} seconds between the end of a call and the next one
 */
export async function poll(call, seconds, signal) {
  while (!signal.aborted) {
    if (!document.hidden) await call();
    await new Promise((resolve) => {
      const end = () => { clearTimeout(timer); signal.removeEventListener('abort', end); resolve(); };
      const timer = setTimeout(end, seconds * 1000);
      signal.addEventListener('abort', end);
    });
  }
}
