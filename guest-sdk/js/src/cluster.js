// Reads of the cluster through the host's caches. Kinds and namespaces outside the grant are a TerminalError, not an empty answer.

import { call } from "./errors.js";
import { host } from "./imports.js";
import { keyOf, kindOf } from "./refs.js";

const parsed = (text) => (text == null ? null : JSON.parse(text));

/** One object from the cache, or null. Its kind must be a primary or a watch. */
export function getObject(ref) {
  return parsed(call(host("cluster.getObject").cluster.getObject, kindOf(ref), keyOf(ref)));
}

/** Objects of a kind from the cache, in order of namespace and name. */
export function listObjects(kind, { namespace = "", labelSelector = "", ownerUid = "", limit = 0 } = {}) {
  const options = { namespace, labelSelector, ownerUid, limit };
  return call(host("cluster.listObjects").cluster.listObjects, kindOf(kind), options).map(parsed);
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
