// What the host allows and refuses of a conversion.

import { sameJson } from "../src/json.js";

const IDENTITY = ["kind", "metadata.name", "metadata.namespace", "metadata.uid"];

/** The imports of a call of `convert`: the log, and nothing else. */
export function onlyLog({ log }) {
  const refuse = (_, what) => {
    if (what === "log") return log;
    throw new Error(`convert() used ${String(what)}: the only import that works in a conversion is log`);
  };
  return new Proxy({}, { get: refuse });
}

/** Throws what the host says of an answer that is not the same object in the desired version. */
export function checkConverted(object, converted, desired) {
  const { apiVersion } = converted;
  if (apiVersion !== desired) {
    throw new Error(`convert() answered apiVersion ${JSON.stringify(apiVersion)} instead of ${JSON.stringify(desired)}`);
  }
  const at = (document, path) => path.split(".").reduce((value, field) => value?.[field], document);
  for (const path of IDENTITY) {
    if (!sameJson(at(object, path), at(converted, path))) throw new Error(`convert() answered another ${path} than the object has`);
  }
}
