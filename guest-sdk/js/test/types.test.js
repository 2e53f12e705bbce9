import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as index from "../src/index.js";
import * as testing from "../testing/index.js";

const read = (name) => readFileSync(new URL(`../${name}`, import.meta.url), "utf8");

/** Values (not types) that a file of declarations exports. */
function declared(name) {
  return [...read(name).matchAll(/^export (?:declare )?(?:class|function|namespace|const) (\w+)/gm)].map(([, found]) => found);
}

test("what is exported is declared, and what is declared is exported", () => {
  assert.deepEqual([...new Set(declared("index.d.ts"))].sort(), Object.keys(index).sort());
  assert.deepEqual(declared("testing.d.ts"), Object.keys(testing));
  for (const space of ["cluster", "merge", "cache", "config", "log"]) {
    const [, body] = new RegExp(`export namespace ${space} \\{\\n([^]*?)\\n\\}`).exec(read("index.d.ts"));
    const functions = [...body.matchAll(/^ {2}function (\w+)/gm)].map(([, name]) => name);
    assert.deepEqual(functions.sort(), Object.keys(index[space]).sort(), space);
  }
});
