// Strategic merge patch as client-go has it, carried out by the host.

import { call } from "./errors.js";
import { host } from "./imports.js";
import { kindOf } from "./refs.js";

/** The patch that makes `modified` of `original`. */
export function createTwoWay(kind, original, modified) {
  return ask("createTwoWay", kind, original, modified);
}

/** The patch that brings `current` what changed from `original` to `modified`, and leaves alone what others wrote. */
export function createThreeWay(kind, original, modified, current) {
  return ask("createThreeWay", kind, original, modified, current);
}

/** `original` with `patch` applied. */
export function applyPatch(kind, original, patch) {
  return ask("applyPatch", kind, original, patch);
}

function ask(name, kind, ...documents) {
  const lent = host(`merge.${name}`).merge[name];
  return JSON.parse(call(lent, kindOf(kind), ...documents.map((document) => JSON.stringify(document))));
}
