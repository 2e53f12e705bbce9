// What tests of a plugin do to JSON values: the two patches every API server knows.

import { isMap, sameJson } from "../src/json.js";

/** A copy that shares nothing. */
export const copy = (value) => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));

/** JSON merge patch (RFC 7396). */
export function mergePatch(target, patch) {
  if (!isMap(patch)) return copy(patch);
  const merged = isMap(target) ? copy(target) : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/** JSON patch (RFC 6902). Throws an Error that says what did not fit. */
export function jsonPatch(target, operations) {
  let document = copy(target);
  const parts = (pointer) => {
    if (pointer === "") return [];
    if (!pointer.startsWith("/")) throw new Error(`not a JSON pointer: ${pointer}`);
    return pointer.slice(1).split("/").map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
  };
  const step = (value, part, pointer) => {
    const known = Array.isArray(value) ? /^(0|[1-9]\d*)$/.test(part) : isMap(value) && Object.hasOwn(value, part);
    const found = known ? value[part] : undefined;
    if (found === undefined) throw new Error(`there is nothing at ${pointer}`);
    return found;
  };
  const get = (pointer) => parts(pointer).reduce((value, part) => step(value, part, pointer), document);
  const change = (pointer, edit) => {
    const path = parts(pointer);
    const last = path.pop();
    edit(path.reduce((value, part) => step(value, part, pointer), document), last);
  };
  const remove = (pointer) => {
    get(pointer);
    change(pointer, (parent, last) => (Array.isArray(parent) ? parent.splice(Number(last), 1) : delete parent[last]));
  };
  const add = (pointer, value) => {
    if (pointer === "") {
      document = copy(value);
      return;
    }
    change(pointer, (parent, last) => {
      if (!Array.isArray(parent)) {
        if (!isMap(parent)) throw new Error(`${pointer} is in neither a map nor a list`);
        parent[last] = copy(value);
        return;
      }
      const at = last === "-" ? parent.length : Number(last);
      if (!Number.isInteger(at) || at < 0 || at > parent.length) throw new Error(`${pointer} is outside the list`);
      parent.splice(at, 0, copy(value));
    });
  };
  for (const { op, path, from, value } of operations) {
    switch (op) {
      case "add":
        add(path, value);
        break;
      case "remove":
        remove(path);
        break;
      case "replace":
        get(path);
        if (path !== "") remove(path);
        add(path, value);
        break;
      case "move": {
        const moved = get(from);
        remove(from);
        add(path, moved);
        break;
      }
      case "copy":
        add(path, get(from));
        break;
      case "test":
        if (!sameJson(get(path), value)) throw new Error(`test of ${path} failed`);
        break;
      default:
        throw new Error(`no operation ${op}`);
    }
  }
  return document;
}
