// How kinds and objects are named: as in a document, by apiVersion and kind, namespace and name.

/** The contract's group-version-kind of `{ apiVersion, kind }`. */
export function kindOf(ref, what = "a kind") {
  const { apiVersion, kind } = ref ?? {};
  if (typeof apiVersion !== "string" || !apiVersion || typeof kind !== "string" || !kind) {
    throw new TypeError(`${what} needs apiVersion and kind: ${JSON.stringify(ref)}`);
  }
  const slash = apiVersion.indexOf("/");
  return { group: slash < 0 ? "" : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind };
}

/** The contract's key of `{ namespace, name }`. */
export function keyOf(ref, what = "an object") {
  if (typeof ref?.name !== "string" || !ref.name) throw new TypeError(`${what} needs a name: ${JSON.stringify(ref)}`);
  return { namespace: ref.namespace ?? "", name: ref.name };
}

export function apiVersionOf({ group, version }) {
  return group ? `${group}/${version}` : version;
}
