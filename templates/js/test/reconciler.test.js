import assert from "node:assert/strict";
import { test } from "node:test";
import { Runner } from "oarlock-guest/testing";
import reconciler from "../src/reconciler.js";

{{#types}}
/** @type {import("../src/api.js").{{kind}}} */
{{/types}}
const object = { apiVersion: "{{api_version}}", kind: "{{kind}}", metadata: { name: "a"{{namespace_js}} }{{fields}} };

test("an object is greeted, once", async () => {
  const runner = new Runner(reconciler, { object });
  const report = await runner.reconcile();
  assert.ok(report.inSync);
  assert.equal(runner.object?.metadata.annotations?.["example.com/greeting"], "Hello, a");
  assert.equal((await runner.reconcile()).patched, false);
});

test("the word comes from the configuration", async () => {
  const runner = new Runner(reconciler, { object, config: { greeting: "Hi" } });
  assert.deepEqual((await runner.reconcile()).desired, { greeting: "Hi, a" });
});

test("a ConfigMap of the namespace overrides the word", async () => {
  const runner = new Runner(reconciler, { object });
  await runner.reconcile();
  runner.put({
    apiVersion: "v1", kind: "ConfigMap", metadata: { name: "greeting"{{namespace_js}} }, data: { greeting: "Welcome" },
  });
  assert.deepEqual((await runner.reconcile()).after, { greeting: "Welcome, a" });
});

test("an object that is gone is left alone", async () => {
  const runner = new Runner(reconciler, { object });
  runner.delete();
  assert.equal((await runner.reconcile()).patched, false);
});
