// JSON values: what they are, and whether two are the same.

/** A JSON object. */
export const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Whether two JSON values are the same, as the host compares states: the order of keys does not count, null and absent differ. */
export function sameJson(a, b) {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((element, at) => sameJson(element, b[at]));
  if (isMap(a) && isMap(b)) {
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]));
  }
  return a === b;
}
