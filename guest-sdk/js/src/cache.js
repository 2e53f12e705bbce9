// Small values the host keeps for this plugin between reconciles: in memory, shared by all its instances, bounded (those used longest
// ago go first), lost on restart. A hint, never the only place something is known.

import { milliseconds } from "./errors.js";
import { host } from "./imports.js";
import { decode, encode } from "./utf8.js";

/** A value, or undefined: never set, expired, dropped for room, or not JSON (something else wrote it). */
export function get(key) {
  const bytes = host("cache.get").cache.get(key);
  if (bytes == null) return undefined;
  try {
    return JSON.parse(decode(bytes));
  } catch {
    return undefined;
  }
}

/** Keeps a JSON value for `ttlMs`, or without it as long as there is room. */
export function set(key, value, { ttlMs } = {}) {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`cache.set: the value of ${key} is no JSON`);
  const ttl = ttlMs === undefined ? 0 : milliseconds(ttlMs, "ttlMs");
  // To the host 0 means without end; here no time is no time.
  if (ttlMs !== undefined && ttl === 0) return remove(key);
  host("cache.set").cache.set(key, encode(text), ttl);
}

/** Forgets a value. */
export function remove(key) {
  host("cache.remove").cache.set(key, new Uint8Array(0), 0);
}
