import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
// Inside the package, so that its own name resolves.
const folder = fileURLToPath(new URL(".snippets/", import.meta.url));

test("every snippet of the README runs", () => {
  const snippets = [...readme.matchAll(/```js\n\/\/ (\S+)\n([^]*?)```/g)];
  assert.equal(snippets.length, readme.match(/```js/g).length, "a snippet does not say its file");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [, name, source] of snippets) writeFileSync(`${folder}${name}`, source);
  const tests = snippets.map(([, name]) => `${folder}${name}`).filter((name) => name.endsWith(".test.js"));
  assert.equal(tests.length, 3);
  // Without it the inner runner would report to this one, and its end would say nothing.
  const { NODE_TEST_CONTEXT, ...env } = process.env;
  const output = execFileSync(process.execPath, ["--test", "--test-reporter=tap", ...tests], { env, encoding: "utf8" });
  assert.match(output, /# pass 3\n/);
  assert.match(output, /# fail 0\n/);
});
