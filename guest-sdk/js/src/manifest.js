// What a plugin is and asks for: the answer to `describe`.

import { kindOf } from "./refs.js";

/** Every field of the manifest's schema that a plugin may set. */
const FIELDS = [
  "name", "version", "description", "primaries", "watches", "indexes", "admission", "conversions", "permissions", "http", "cleanup",
  "manageStatus", "config", "workers", "resyncSeconds",
];

/**
 * Builds the manifest. Its fields are those of `manifest.schema.json`; kinds may be named by apiVersion instead of group and version, and
 * mappings without parameters by their type alone (`mapTo: "ownerReference"`). What it asks for is granted by a person.
 */
export function defineManifest(fields) {
  for (const field of Object.keys(fields)) {
    if (!FIELDS.includes(field)) throw new TypeError(`the manifest has no field ${field}; it has ${FIELDS.join(", ")}`);
  }
  const { name, version, primaries = [], watches = [], indexes, config, ...rest } = fields;
  if (!/^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/.test(name ?? "")) {
    throw new TypeError(`the manifest's name is not a DNS label of at most 40 characters: ${name}`);
  }
  if (typeof version !== "string" || !version || version.length > 64) {
    throw new TypeError("the manifest's version is not a text of 1 to 64 characters");
  }
  const manifest = {
    apiVersion: "oarlock.dev/v1alpha1",
    kind: "PluginManifest",
    name,
    version,
    ...rest,
    primaries: primaries.map((primary) => plain(primary, "a primary")),
    watches: watches.map(watch),
  };
  if (indexes !== undefined) manifest.indexes = indexes.map(indexOf);
  // Once a key is declared, keys that are not are refused: what is misspelt in a grant is found.
  if (config !== undefined) manifest.config = { type: "object", additionalProperties: false, ...config };
  return manifest;
}

function watch({ mapTo, primary, ...fields }) {
  const made = plain(fields, "a watch");
  if (mapTo !== undefined) {
    made.mapTo = typeof mapTo === "string" ? { type: mapTo } : mapTo;
    if (typeof made.mapTo?.type !== "string") throw new TypeError(`mapTo of the watch of ${made.kind} has no type`);
  }
  if (primary !== undefined) made.primary = plain(primary, "the primary of a watch");
  return made;
}

function indexOf(index) {
  const made = plain(index, "an index");
  const { name, kind, jsonPath, label } = made;
  if (!/^[a-z0-9-]{1,63}$/.test(name ?? "")) throw new TypeError(`the index of ${kind} has no name of 1 to 63 characters (a-z, 0-9, -): ${name}`);
  if (!jsonPath === !label) throw new TypeError(`the index ${name} of ${kind} needs either jsonPath or label`);
  return made;
}

/** With group and version instead of apiVersion. */
function plain({ apiVersion, ...fields }, what) {
  if (apiVersion === undefined) return fields;
  return { ...kindOf({ apiVersion, kind: fields.kind }, what), ...fields };
}
