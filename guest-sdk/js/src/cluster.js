// Reads of the cluster through the host's caches. Kinds and namespaces outside the grant are a TerminalError, not an empty answer.

import { call } from "./errors.js";
import { host } from "./imports.js";
import { keyOf, kindOf } from "./refs.js";

const parsed = (text) => (text == null ? null : JSON.parse(text));

/** One object from the cache, or null. Its kind must be a primary or a watch. */
export function getObject(ref) {
  return parsed(call(host("cluster.getObject").cluster.getObject, kindOf(ref), keyOf(ref)));
}

const wanted = ({ namespace = "", labelSelector = "", ownerUid = "", limit = 0 } = {}) => ({ namespace, labelSelector, ownerUid, limit });

/** Objects of a kind from the cache, in order of namespace and name. */
export function listObjects(kind, options) {
  return call(host("cluster.listObjects").cluster.listObjects, kindOf(kind), wanted(options)).map(parsed);
}

/** The same, only objects with `value` in an index of the manifest. The time depends on the number of these objects alone. */
export function listIndexed(kind, index, value, options) {
  for (const [what, text] of [["index", index], ["value", value]]) {
    if (typeof text !== "string") throw new TypeError(`listIndexed needs a string as ${what}: ${JSON.stringify(text)}`);
  }
  return call(host("cluster.listIndexed").cluster.listIndexed, kindOf(kind), index, value, wanted(options)).map(parsed);
}

/**
 * The counterpart of an apply: what this plugin owns of the object, as it was applied while nothing of that changed. Null: the object
 * does not exist, or this plugin owns nothing of it.
 */
export function getApplied(ref) {
  return parsed(call(host("cluster.getApplied").cluster.getApplied, kindOf(ref), keyOf(ref)));
}

/** Past the cache, from the API server. Costs a request. */
export function getLive(ref) {
  return parsed(call(host("cluster.getLive").cluster.getLive, kindOf(ref), keyOf(ref)));
}
