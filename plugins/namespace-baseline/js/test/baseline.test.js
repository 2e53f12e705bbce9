import assert from "node:assert/strict";
import { test } from "node:test";
import { TerminalError } from "oarlock-guest";
import { Runner } from "oarlock-guest/testing";
import baseline from "../src/baseline.js";

const QUOTA = { apiVersion: "v1", kind: "ResourceQuota", namespace: "shop", name: "baseline" };
const POLICY = { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", namespace: "shop", name: "default-deny" };
const ON = { labels: { "oarlock.dev/baseline": "true" } };

const namespace = (metadata) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: "shop", uid: "u1", ...metadata } });
const start = (metadata, options = {}) => new Runner(baseline, { object: namespace(metadata), ...options });

const ownerReferences = [{ apiVersion: "v1", kind: "Namespace", name: "shop", uid: "u1", controller: true }];
const quota = (hard = { pods: "50", "requests.cpu": "10", "requests.memory": "20Gi" }) => ({
  apiVersion: "v1",
  kind: "ResourceQuota",
  metadata: { name: "baseline", namespace: "shop", ownerReferences },
  spec: { hard },
});
const networkPolicy = (policyTypes = ["Ingress"]) => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { name: "default-deny", namespace: "shop", ownerReferences },
  spec: { podSelector: {}, policyTypes },
});

const WRITTEN = { severity: "normal", reason: "BaselineWritten", message: "quota baseline and network policy default-deny written" };
const REMOVED = { severity: "normal", reason: "BaselineRemoved", message: "quota baseline and network policy default-deny removed" };

test("a labelled namespace gets both, once", async () => {
  const runner = start(ON);
  const report = await runner.reconcile();
  assert.ok(report.inSync);
  assert.deepEqual(report.desired, { quota: quota(), networkPolicy: networkPolicy() });
  assert.deepEqual(report.changes, [{ apply: quota() }, { apply: networkPolicy() }]);
  assert.deepEqual(report.events, [WRITTEN]);
  assert.deepEqual(runner.get(QUOTA).spec, quota().spec);
  assert.equal((await runner.reconcile()).patched, false);
});

test("a namespace without the label, or with another value of it, gets nothing", async () => {
  for (const labels of [undefined, {}, { "oarlock.dev/baseline": "True" }]) {
    const report = await start({ labels }).reconcile();
    assert.deepEqual([report.desired, report.before, report.patched], [null, null, false]);
  }
});

test("the label, the quota and egress come from the configuration", async () => {
  const config = { label: "team", quota: '{"pods":"1"}', denyEgress: "true" };
  const report = await start({ labels: { team: "true" } }, { config }).reconcile();
  assert.deepEqual(report.desired, { quota: quota({ pods: "1" }), networkPolicy: networkPolicy(["Ingress", "Egress"]) });
});

test("the annotation replaces the quota, and only that is written", async () => {
  const runner = start({ ...ON, annotations: { "baseline.oarlock.dev/quota": '{"pods":"7"}' } }, { applied: [quota(), networkPolicy()] });
  const report = await runner.reconcile();
  assert.deepEqual(report.changes, [{ apply: quota({ pods: "7" }) }]);
  assert.deepEqual(report.events, [WRITTEN]);
  assert.ok(report.inSync);
});

test("quotas that are no JSON objects of strings are the object's or the configuration's fault", async () => {
  for (const text of ["", "pods=1", "[]", "null", '"1"', '{"pods":1}']) {
    const { error } = await start({ ...ON, annotations: { "baseline.oarlock.dev/quota": text } }).reconcile();
    assert.ok(error instanceof TerminalError, text);
    assert.equal(error.message, "annotation baseline.oarlock.dev/quota is not a JSON object of strings");
  }
  const { error } = await start(ON, { config: { quota: "[1]" } }).reconcile();
  assert.ok(error instanceof TerminalError);
  assert.equal(error.message, "config quota is not a JSON object of strings");
});

test("what somebody removed is written again", async () => {
  const runner = start(ON, { applied: [quota(), networkPolicy()] });
  assert.equal((await runner.reconcile()).patched, false);
  runner.remove(POLICY);
  const report = await runner.reconcile();
  assert.deepEqual(report.before, { quota: quota() });
  assert.deepEqual(report.changes, [{ apply: networkPolicy() }]);
});

test("without the label both go", async () => {
  const runner = start({}, { applied: [quota(), networkPolicy()] });
  const report = await runner.reconcile();
  assert.deepEqual(report.changes, [{ delete: QUOTA }, { delete: POLICY }]);
  assert.deepEqual(report.events, [REMOVED]);
  assert.ok(report.inSync);
  assert.equal(runner.get(QUOTA), null);
});

test("a namespace that is going or gone is left to the garbage collector", async () => {
  const going = await start({ ...ON, deletionTimestamp: "2026-01-01T00:00:00Z" }, { applied: [quota()] }).reconcile();
  assert.deepEqual([going.desired, going.before, going.patched], [null, null, false]);
  const runner = start(ON, { applied: [quota()] });
  runner.delete();
  assert.equal((await runner.reconcile()).patched, false);
});
