// Strategic merge and apply, as far as tests of a plugin need them: maps merge, the usual lists of Pods, Services and metadata merge by
// their keys, every other list is one value. The host has the whole table.

import { isMap, sameJson } from "../src/json.js";
import { copy } from "./json.js";

/** Lists by the name of their field, and the key their elements merge by. */
const MERGE_KEYS = {
  conditions: "type",
  containers: "name",
  env: "name",
  ephemeralContainers: "name",
  hostAliases: "ip",
  imagePullSecrets: "name",
  initContainers: "name",
  ownerReferences: "uid",
  topologySpreadConstraints: "topologyKey",
  volumeDevices: "devicePath",
  volumeMounts: "mountPath",
  volumes: "name",
};
/** Lists of plain values that are sets. */
const SETS = ["finalizers"];

/** Whether a kind is built into Kubernetes; of others this runner knows no lists. */
export function isBuiltIn({ group }) {
  return !group.includes(".") || group.endsWith(".k8s.io");
}

/** The key a list merges by, or undefined when it is one value. */
export function mergeKey(field, ...lists) {
  const elements = lists.filter(Array.isArray).flat();
  if (!elements.every(isMap)) return undefined;
  // The same word names two lists: ports of containers and of Services.
  const key = field === "ports" ? (elements.some((port) => "containerPort" in port) ? "containerPort" : "port") : MERGE_KEYS[field];
  return key && elements.every((element) => key in element) ? key : undefined;
}

/** `original` with a strategic merge patch applied. */
export function applyPatch(original, patch) {
  if (patch.$patch === "replace") {
    const { $patch, ...rest } = patch;
    return copy(rest);
  }
  const merged = isMap(original) ? copy(original) : {};
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith("$deleteFromPrimitiveList/")) {
      const list = field.slice(field.indexOf("/") + 1);
      merged[list] = (merged[list] ?? []).filter((element) => !value.includes(element));
    } else if (field.startsWith("$")) {
      continue;
    } else if (value === null) {
      delete merged[field];
    } else if (isMap(value)) {
      if (value.$patch === "delete") delete merged[field];
      else merged[field] = applyPatch(merged[field], value);
    } else if (Array.isArray(value)) {
      merged[field] = applyList(field, merged[field], value);
    } else {
      merged[field] = value;
    }
  }
  return merged;
}

function applyList(field, original = [], patch) {
  if (SETS.includes(field)) return [...new Set([...original, ...patch])];
  const key = mergeKey(field, original, patch.filter((element) => !(isMap(element) && element.$patch === "replace")));
  if (!key) return copy(patch.filter((element) => !(isMap(element) && "$patch" in element)));
  if (patch.some((element) => element.$patch === "replace")) return copy(patch.filter((element) => !("$patch" in element)));
  const merged = copy(original);
  for (const element of patch) {
    const at = merged.findIndex((known) => known[key] === element[key]);
    if (element.$patch === "delete") {
      if (at >= 0) merged.splice(at, 1);
    } else if (at >= 0) {
      merged[at] = applyPatch(merged[at], element);
    } else {
      merged.push(copy(element));
    }
  }
  return merged;
}

/** The patch that makes `modified` of `original`; with `deletions` or `additions` false without those. */
export function createTwoWay(original, modified, { deletions = true, additions = true } = {}) {
  const options = { deletions, additions };
  const patch = {};
  for (const field of Object.keys(original)) {
    if (!(field in modified) && deletions) patch[field] = null;
  }
  for (const [field, value] of Object.entries(modified)) {
    const before = original[field];
    if (sameJson(before, value)) continue;
    if (isMap(before) && isMap(value)) {
      const inner = createTwoWay(before, value, options);
      if (Object.keys(inner).length > 0) patch[field] = inner;
      continue;
    }
    const key = Array.isArray(before) && Array.isArray(value) ? mergeKey(field, before, value) : undefined;
    if (!key) {
      if (additions) patch[field] = copy(value);
      continue;
    }
    const elements = [];
    for (const element of value) {
      const known = before.find((other) => other[key] === element[key]);
      if (known) {
        const inner = createTwoWay(known, element, options);
        if (Object.keys(inner).length > 0) elements.push({ ...inner, [key]: element[key] });
      } else if (additions) {
        elements.push(copy(element));
      }
    }
    for (const element of before) {
      if (deletions && !value.some((other) => other[key] === element[key])) elements.push({ $patch: "delete", [key]: element[key] });
    }
    if (elements.length > 0) patch[field] = elements;
  }
  return patch;
}

/** What changed from `original` to `modified`, for `current`: additions against what is there, deletions against what was wanted. */
export function createThreeWay(original, modified, current) {
  const additions = createTwoWay(current, modified, { deletions: false });
  const deletions = createTwoWay(original, modified, { additions: false });
  return join(additions, deletions);
}

function join(a, b) {
  const joined = copy(a);
  for (const [field, value] of Object.entries(b)) {
    if (isMap(joined[field]) && isMap(value)) joined[field] = join(joined[field], value);
    else if (Array.isArray(joined[field]) && Array.isArray(value)) joined[field] = joinLists(field, joined[field], value);
    else if (!(field in joined)) joined[field] = copy(value);
  }
  return joined;
}

function joinLists(field, a, b) {
  const key = mergeKey(field, a, b);
  if (!key) return copy(a);
  const joined = copy(a);
  for (const element of b) {
    const at = joined.findIndex((known) => known[key] === element[key]);
    if (at >= 0) joined[at] = join(joined[at], element);
    else joined.push(copy(element));
  }
  return joined;
}

/** Live with `document` applied: what the last document had and this one leaves out goes. Lists by key only where `lists` says so. */
export function applyDocument(live, last, document, lists) {
  const merged = isMap(live) ? copy(live) : {};
  for (const [field, value] of Object.entries(isMap(last) ? last : {})) {
    if (field in document) continue;
    const left = without(field, merged[field], value, lists);
    if (left === undefined) delete merged[field];
    else merged[field] = left;
  }
  for (const [field, value] of Object.entries(document)) {
    const key = lists && Array.isArray(value) ? mergeKey(field, value, merged[field], last?.[field]) : undefined;
    if (isMap(value)) {
      merged[field] = applyDocument(merged[field], last?.[field], value, lists);
    } else if (key) {
      const wanted = value.map((element) => {
        const by = (list) => (Array.isArray(list) ? list.find((other) => other[key] === element[key]) : undefined);
        return applyDocument(by(merged[field]), by(last?.[field]), element, lists);
      });
      const gone = (last?.[field] ?? []).map((element) => element[key]);
      const others = (merged[field] ?? []).filter(
        (element) => !gone.includes(element[key]) && !wanted.some((other) => other[key] === element[key]),
      );
      merged[field] = [...others, ...wanted];
    } else {
      merged[field] = copy(value);
    }
  }
  return merged;
}

/** What is left of a live value when what an apply had set of it goes; undefined: nothing. */
function without(field, live, last, lists) {
  if (isMap(live) && isMap(last)) {
    const rest = applyDocument(live, last, {}, lists);
    return Object.keys(rest).length > 0 ? rest : undefined;
  }
  const key = lists && Array.isArray(last) ? mergeKey(field, last, live) : undefined;
  if (!key || !Array.isArray(live)) return undefined;
  const others = live.filter((element) => !last.some((gone) => gone[key] === element[key]));
  return others.length > 0 ? others : undefined;
}

/** What of `document` still stands in the live object as it was applied. */
export function ownedPart(live, document, lists) {
  const owned = {};
  for (const [field, value] of Object.entries(document)) {
    const found = live?.[field];
    if (found === undefined) continue;
    const key = lists && Array.isArray(value) ? mergeKey(field, value, found) : undefined;
    if (isMap(value)) {
      const inner = ownedPart(found, value, lists);
      if (Object.keys(inner).length > 0 || Object.keys(value).length === 0) owned[field] = inner;
    } else if (key) {
      const elements = value.flatMap((element) => {
        const other = found.find((known) => known[key] === element[key]);
        return other ? [ownedPart(other, element, lists)] : [];
      });
      if (elements.length > 0) owned[field] = elements;
    } else if (sameJson(found, value)) {
      owned[field] = copy(value);
    }
  }
  return owned;
}
