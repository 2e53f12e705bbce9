import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DeniedError, Outcome, TerminalError, TransientError, cache, cluster, config, defineManifest, defineReconciler, fetch as lentFetch, log, merge,
} from "../src/index.js";
import { Runner } from "../testing/index.js";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };

const manifest = defineManifest({
  name: "probe",
  version: "1",
  primaries: [{ apiVersion: "example.com/v1", kind: "Thing" }],
  watches: [{ ...CONFIG_MAP, mapTo: "ownerReference" }],
  indexes: [{ name: "by-user", ...CONFIG_MAP, jsonPath: ".spec.users[*]['id']" }, { name: "by-a", ...CONFIG_MAP, label: "a" }],
  http: {
    origins: ["http://granted.example.com:80"],
    originsFromConfig: ["url"],
    safeRequests: [{ method: "POST", path: "*/tokens" }],
  },
  cleanup: true,
});

const thing = (spec, more = {}) => ({ apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a", namespace: "default" }, spec, ...more });

/** Runs a body as actual() and returns the report of its reconcile; what it returns is in the status. */
async function ask(body, options = {}) {
  const probe = defineReconciler({
    manifest,
    desired: () => true,
    actual: async (cx) => ({ state: true, status: { answer: (await body(cx)) ?? null } }),
    patch() {},
  });
  const runner = options.runner ?? new Runner(probe, { object: thing({}), ...options });
  return runner.reconcile();
}

/** Runs changes as patch() until nothing differs. */
function changer(changes, options = {}) {
  const target = { ...CONFIG_MAP, namespace: "default", name: "card" };
  const reconciler = defineReconciler({
    manifest,
    desired: (cx) => cx.object.spec.data,
    actual: () => ({ state: cluster.getObject(target)?.data ?? null }),
    patch: (cx, desired) => changes(desired, target),
  });
  return new Runner(reconciler, { object: thing({ data: { word: "new" } }), ...options });
}

const card = (data) => ({ ...CONFIG_MAP, metadata: { name: "card", namespace: "default" }, data });

test("changes are carried out as the API server would", async () => {
  const cases = [
    [(data) => new Outcome().apply(card(data)), [], { word: "new" }],
    [(data) => new Outcome().apply(card(data)), [card({ old: "1" })], { old: "1", word: "new" }],
    [(data) => new Outcome().create(card(data)), [], { word: "new" }],
    [(data, target) => new Outcome().patch(target, "merge", { data }), [card({ old: "1" })], { old: "1", word: "new" }],
    [(value, target) => new Outcome().patch(target, "json", [{ op: "replace", path: "/data", value }]), [card({ old: "1" })], { word: "new" }],
    [
      (data, target) => new Outcome().patch(target, "strategic", merge.createTwoWay(CONFIG_MAP, card({ old: "1" }), card(data))),
      [card({ old: "1" })],
      { word: "new" },
    ],
  ];
  for (const [changes, existing, data] of cases) {
    const runner = changer((...given) => changes(...given).warning("Changed", "as told").requeueAfter(0.2), { cluster: existing });
    const report = await runner.reconcile();
    assert.equal(report.error, null);
    assert.deepEqual(report.events, [{ severity: "warning", reason: "Changed", message: "as told" }]);
    assert.equal(report.requeueAfterMs, 1, "rounded up, never to nothing");
    assert.deepEqual(runner.get({ ...CONFIG_MAP, namespace: "default", name: "card" }).data, data);
  }
});

test("changes that cannot be carried out end the reconcile", async () => {
  const cases = [
    [(data) => new Outcome().create(card(data)), [card({})], "already exists"],
    [(data, target) => new Outcome().patch(target, "merge", { data }), [], "does not exist"],
    [(data) => new Outcome().apply(card(data), { precondition: { uid: "another" } }), [card({})], "precondition failed"],
    [(data, target) => new Outcome().patch(target, "json", [{ op: "test", path: "/data/a", value: "b" }]), [card({ a: "c" })], "test of /data/a failed"],
    [(data, target) => new Outcome().delete(target, { precondition: { resourceVersion: "0" } }), [card({})], "precondition failed"],
  ];
  for (const [changes, existing, part] of cases) {
    const report = await changer((...given) => changes(...given).normal("Changed", "no"), { cluster: existing }).reconcile();
    assert.match(report.error.message, new RegExp(part));
    assert.deepEqual(report.events, [], "events are for changes that were carried out");
  }
});

test("changes are reported as case files write them", async () => {
  const target = { ...CONFIG_MAP, namespace: "default", name: "card" };
  const runner = changer(() => ({
    changes: [
      { apply: card({}), force: true, precondition: { uid: "uid-1" } },
      { patch: { target, patch: { data: null } }, subresource: "status" },
      { delete: { apiVersion: "apps/v1", kind: "Deployment", name: "x" }, propagation: "orphan" },
    ],
  }), { cluster: [card({ a: "1" })] });
  assert.deepEqual((await runner.reconcile()).changes, [
    { apply: card({}), force: true, precondition: { uid: "uid-1" } },
    { patch: { target, type: "merge", patch: { data: null } }, subresource: "status" },
    { delete: { apiVersion: "apps/v1", kind: "Deployment", name: "x" }, propagation: "orphan" },
  ]);
});

test("answers that make no sense are the plugin's fault, in clear words", async () => {
  const patches = [
    [{ changes: [{}] }, /a change is one of apply, create, patch, delete/],
    [{ changes: [{ apply: card({}), delete: card({}) }] }, /a change is one of/],
    [{ changes: [{ apply: { kind: "ConfigMap" } }] }, /an apply needs apiVersion and kind/],
    [{ changes: [{ apply: { ...CONFIG_MAP, metadata: {} } }] }, /an apply needs metadata\.name/],
    [{ changes: [{ apply: card({}), forced: true }] }, /an apply has no field forced/],
    [{ changes: [{ patch: { type: "join", patch: {} } }] }, /of type json, merge or strategic: join/],
    [{ changes: [{ patch: { type: "json", patch: {} } }] }, /a patch of type json is not an object/],
    [{ changes: [{ patch: { type: "merge", patch: [] } }] }, /a patch of type merge is not a list/],
    [{ changes: [{ delete: { ...CONFIG_MAP, name: "" } }] }, /a delete needs a name/],
    [{ changes: [{ delete: { ...CONFIG_MAP, name: "a" }, propagation: "up" }] }, /propagation is one of/],
    [{ events: [{ severity: "normal", reason: "not so", message: "" }] }, /UpperCamelCase: not so/],
    [{ event: [] }, /what patch\(\) answered has no field event/],
    [{ requeueAfterMs: "1s" }, /requeueAfterMs is not a number of milliseconds: 1s/],
    ["done", /patch\(\) answered string done, not an Outcome/],
  ];
  for (const [answer, message] of patches) await assert.rejects(changer(() => answer).reconcile(), message);
  const observations = [
    [[], /actual\(\) answered a list/],
    [{ status: "fine" }, /the status that actual\(\) answered is not an object: string fine/],
    [{ state: () => 1 }, /the state that actual\(\) answered is no JSON/],
    [{ state: 1n }, /the state that actual\(\) answered is no JSON: .*BigInt/],
    [{ stat: 1 }, /what actual\(\) answered has no field stat/],
    [{ requeueAfterMs: NaN }, /requeueAfterMs is not a number/],
  ];
  for (const [answer, message] of observations) {
    const reconciler = { manifest, desired: () => null, actual: () => answer, patch() {} };
    await assert.rejects(new Runner(reconciler, { object: thing({}) }).reconcile(), message);
  }
});

test("fields left out of an apply are removed, and what others set stays", async () => {
  const runner = changer((data) => new Outcome().apply(card(data)), { cluster: [card({ old: "1" })] });
  await runner.reconcile();
  runner.edit((object) => (object.spec.data = { other: "2" }));
  await runner.reconcile();
  assert.deepEqual(runner.get({ ...CONFIG_MAP, namespace: "default", name: "card" }).data, { old: "1", other: "2" });
});

test("what was applied is answered as it was applied, unless somebody changed it", async () => {
  const ref = { ...CONFIG_MAP, namespace: "default", name: "card" };
  const options = { applied: [card({ a: "1", b: "2" })], cluster: [] };
  const read = async (prepare) => {
    const probe = defineReconciler({ manifest, desired: () => true, actual: () => ({ state: true, status: { answer: cluster.getApplied(ref) } }), patch() {} });
    const runner = new Runner(probe, { object: thing({}), ...options });
    prepare(runner);
    return (await runner.reconcile()).status.answer;
  };
  assert.deepEqual(await read(() => {}), card({ a: "1", b: "2" }));
  assert.deepEqual(await read((runner) => runner.put(card({ a: "1", b: "2", c: "3" }))), card({ a: "1", b: "2" }));
  assert.deepEqual(await read((runner) => runner.put(card({ a: "1", b: "9" }))), card({ a: "1" }));
  assert.equal(await read((runner) => runner.put({ ...card({}), data: {} })), null);
  assert.equal(await read((runner) => runner.remove(ref)), null);
});

test("lists are applied by their keys", async () => {
  const deployment = (containers) => ({
    apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "default" }, spec: { template: { spec: { containers } } },
  });
  const sidecar = defineReconciler({
    manifest: defineManifest({ name: "sidecar", version: "1", primaries: [{ apiVersion: "apps/v1", kind: "Deployment" }] }),
    desired: (cx) => (cx.object.metadata.annotations?.plain ? null : deployment([{ name: "proxy", image: "proxy:1" }])),
    actual: (cx) => ({ state: cluster.getApplied(cx.ref) }),
    patch: (cx, desired) => new Outcome().apply(desired ?? { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "default" } }),
  });
  const runner = new Runner(sidecar, { object: deployment([{ name: "web", image: "web:1" }]) });
  const names = () => runner.object.spec.template.spec.containers.map(({ name }) => name);
  assert.ok((await runner.reconcile()).inSync);
  assert.deepEqual(names(), ["web", "proxy"]);
  assert.equal((await runner.reconcile()).patched, false);
  runner.edit((live) => (live.spec.template.spec.containers[1].stdin = true));
  assert.equal((await runner.reconcile()).patched, false, "what others set beside it is no difference");
  runner.edit((live) => (live.spec.template.spec.containers[1].image = "proxy:0"));
  assert.ok((await runner.reconcile()).patched);
  assert.equal(runner.object.spec.template.spec.containers[1].image, "proxy:1");
  runner.edit((live) => (live.metadata.annotations = { plain: "true" }));
  assert.ok((await runner.reconcile()).inSync);
  assert.deepEqual(names(), ["web"]);
});

test("strategic merge knows the lists of Pods", async () => {
  const pod = (containers, volumes) => ({ spec: { containers, ...(volumes ? { volumes } : {}) } });
  const [a, b] = [{ name: "a", image: "1" }, { name: "b", image: "1", env: [{ name: "X", value: "1" }] }];
  const kind = { apiVersion: "v1", kind: "Pod" };
  const { status } = await ask(() => ({
    two: merge.createTwoWay(kind, pod([a, b]), pod([{ ...a, image: "2" }, { name: "c" }], [{ name: "v" }])),
    three: merge.createThreeWay(kind, pod([a]), pod([b]), pod([a, { name: "others" }])),
    applied: merge.applyPatch(kind, pod([a, b]), pod([{ name: "a", $patch: "delete" }, { name: "b", env: [{ name: "Y", value: "2" }] }])),
    ports: merge.applyPatch({ apiVersion: "v1", kind: "Service" }, { ports: [{ port: 80, name: "a" }] }, { ports: [{ port: 80, targetPort: 8080 }] }),
    set: merge.applyPatch(kind, { finalizers: ["a", "b"] }, { finalizers: ["c"], "$deleteFromPrimitiveList/finalizers": ["a"] }).finalizers,
    replaced: merge.applyPatch(kind, { labels: { a: "1" }, tolerations: [{ key: "x" }] }, { labels: { $patch: "replace", b: "2" }, tolerations: [] }),
  }));
  assert.deepEqual(status.answer, {
    two: { spec: { containers: [{ image: "2", name: "a" }, { name: "c" }, { $patch: "delete", name: "b" }], volumes: [{ name: "v" }] } },
    three: { spec: { containers: [b, { $patch: "delete", name: "a" }] } },
    applied: { spec: { containers: [{ name: "b", image: "1", env: [{ name: "X", value: "1" }, { name: "Y", value: "2" }] }] } },
    ports: { ports: [{ port: 80, name: "a", targetPort: 8080 }] },
    set: ["b", "c"],
    replaced: { labels: { b: "2" }, tolerations: [] },
  });
});

test("only granted origins are reached, and a dry run lets only reads and safe requests out", async () => {
  const http = () => ({ status: 204 });
  const refused = async (url, init, options) => (await ask(async () => (await lentFetch(url, init)).status, { http, ...options })).error;
  const refusal = await refused("http://other.example.com/x");
  assert.ok(refusal instanceof TerminalError);
  assert.equal(refusal.failure, "denied");
  assert.match((await refused("not a url")).message, /not an absolute http or https URL/);
  assert.equal(await refused("http://granted.example.com/x"), null);
  assert.equal(await refused("https://from.example.com/x", {}, { config: { url: "https://from.example.com:443/base" } }), null);
  assert.match((await refused("http://granted.example.com/x", { method: "delete" }, { dryRun: true })).message, /dry run: DELETE \/x/);
  assert.equal(await refused("http://granted.example.com/x", {}, { dryRun: true }), null);
  assert.equal(await refused("http://granted.example.com/v3/tokens", { method: "POST" }, { dryRun: true }), null);
});

test("requests are what was asked for, and answers what was scripted", async () => {
  const url = "http://granted.example.com/x";
  const exchange = {
    request: { method: "PUT", url, headers: { "Content-Type": "application/json", "X-Two": "a, b" }, json: { n: 1 } },
    response: { status: 201, headers: { ETag: "x" }, json: { ok: true } },
  };
  const send = async () => {
    const response = await fetch(url, { method: "PUT", headers: [["x-two", "a"], ["X-Two", "b"]], json: { n: 1 } });
    return [response.status, response.ok, response.headers.get("etag"), response.headers.get("nothing"), await response.json(), (await response.bytes()).length];
  };
  const report = await ask(send, { http: [exchange] });
  assert.deepEqual(report.status.answer, [201, true, "x", null, { ok: true }, 11]);
  assert.deepEqual(report.requests.map(({ method, body }) => [method, body]), [["PUT", '{"n":1}']]);
  await assert.rejects(ask(send, { http: [{ ...exchange, request: { json: { n: 2 } } }] }), /the request's body is "\{\\"n\\":1\}", expected was \{"n":2\}/);
  await assert.rejects(ask(send, { http: [{ ...exchange, request: { method: "GET" } }] }), /method is "PUT", expected was "GET"/);
  // What the test got wrong is the test's end, whatever the plugin makes of it.
  await assert.rejects(ask(() => send().catch(() => 1), { http: [] }), /did not expect: PUT/);
  const text = await ask(async () => (await fetch(url, { method: "POST", body: "hü" })).text(), { http: ({ body, headers }) => ({ body: body + headers["content-type"] }) });
  assert.equal(text.status.answer, "hütext/plain;charset=UTF-8");
  await assert.rejects(ask(() => fetch(url, { body: { a: 1 } })), /a value goes into json/);
  await assert.rejects(ask(() => fetch(url, { body: "a", json: 1 })), /both given/);
});

test("failures and statuses say who tries again", async () => {
  const url = "http://granted.example.com/x";
  for (const [failure, Class] of [["timed-out", TransientError], ["unreachable", TransientError], ["too-large", TransientError], ["denied", TerminalError], ["invalid", TerminalError]]) {
    const { error } = await ask(() => fetch(url), { http: [{ failure }] });
    assert.ok(error instanceof Class, failure);
    assert.equal(error.failure, failure);
    assert.match(error.message, /^GET http:\/\/granted\.example\.com\/x: /);
  }
  const answered = async (response) => (await ask(async () => (await fetch(url)).ensureOk().status, { http: [{ response }] })).error;
  assert.equal(await answered({ status: 204 }), null);
  assert.deepEqual([(await answered({ status: 429, headers: { "Retry-After": "7" } })).delayMs, (await answered({ status: 500 })).delayMs], [7000, undefined]);
  const notFound = await answered({ status: 404, body: "no such thing" });
  assert.ok(notFound instanceof TerminalError);
  assert.equal(notFound.message, "status 404: no such thing");
  const half = await ask(async () => (await fetch(url)).json(), { http: [{ response: { body: '{"half' } }] });
  assert.ok(half.error instanceof TransientError);
});

test("values in the cache expire and are lost on restart", async () => {
  const counter = defineReconciler({
    manifest,
    desired: () => true,
    actual() {
      const count = (cache.get("count") ?? 0) + 1;
      cache.set("count", count, { ttlMs: 60_000 });
      return { state: true, status: { count } };
    },
    patch() {},
  });
  const runner = new Runner(counter, { object: thing({}) });
  const next = async () => (await runner.reconcile()).status.count;
  assert.deepEqual([await next(), await next()], [1, 2]);
  runner.advance(59_999);
  assert.equal(await next(), 3);
  runner.advance(60_000);
  assert.equal(await next(), 1);
  runner.restart();
  assert.equal(await next(), 1);
  const { status } = await ask(() => {
    cache.set("kept", { ü: [1] });
    cache.set("gone", 1, { ttlMs: 0 });
    cache.set("removed", 1);
    cache.remove("removed");
    return [cache.get("kept"), cache.get("gone") ?? "no", cache.get("removed") ?? "no"];
  });
  assert.deepEqual(status.answer, [{ ü: [1] }, "no", "no"]);
});

test("configuration is read by key", async () => {
  const { status } = await ask(() => [config.get("a") ?? null, config.get("empty") ?? null, config.keys()], { config: { a: "1", empty: "" } });
  assert.deepEqual(status.answer, ["1", null, ["a", "empty"]]);
  assert.match((await ask(() => config.require("b"))).error.message, /configuration does not set b/);
});

test("lists go by namespace, labels, owner and number", async () => {
  const labelled = (name, labels, more = {}) => ({ ...CONFIG_MAP, metadata: { name, namespace: "default", labels, ...more } });
  const objects = [
    labelled("two", { a: "2", b: "y" }),
    labelled("one", { a: "1", b: "x" }),
    labelled("three", {}, { ownerReferences: [{ uid: "u9" }] }),
    labelled("four", { a: "1" }, { namespace: "aaa" }),
  ];
  const list = async (options) => {
    const { status } = await ask(() => cluster.listObjects(CONFIG_MAP, options).map(({ metadata }) => metadata.name), { cluster: objects });
    return status.answer.join(" ");
  };
  assert.equal(await list(), "four one three two");
  assert.equal(await list({ limit: 2 }), "four one");
  assert.equal(await list({ namespace: "default" }), "one three two");
  assert.equal(await list({ ownerUid: "u9" }), "three");
  for (const [labelSelector, names] of [
    ["a=1", "four one"], ["a==1,b", "one"], ["a!=1", "three two"], ["!b", "four three"], ["a in (1, 3)", "four one"], ["a notin (1),b", "two"],
  ]) {
    assert.equal(await list({ labelSelector }), names, labelSelector);
  }
});

test("lists go by declared indexes", async () => {
  const used = (name, ids, namespace = "default") => (
    { ...CONFIG_MAP, metadata: { name, namespace, labels: { a: name } }, spec: { users: ids.map((id) => ({ id })) } });
  const objects = [used("two", ["you", 7]), used("one", ["me", ["you", true]]), used("three", ["me", 0.5], "other"), { ...CONFIG_MAP, metadata: { name: "bare" } }];
  const list = async (index, value, options) => {
    const names = () => cluster.listIndexed(CONFIG_MAP, index, value, options).map(({ metadata }) => metadata.name).join(" ");
    const { status, error } = await ask(names, { cluster: objects });
    return error?.message ?? status.answer;
  };
  for (const [index, value, names, options] of [
    ["by-user", "me", "one three"], ["by-user", "me", "three", { namespace: "other" }], ["by-user", "you", "one two"], ["by-user", "you", "one", { limit: 1 }],
    ["by-user", "7", "two"], ["by-user", "true", "one"], ["by-user", "0.5", ""], ["by-user", "nobody", ""], ["by-a", "two", "two"],
    ["by-name", "x", 'the manifest declares no index "by-name" of ConfigMap'],
  ]) {
    assert.equal(await list(index, value, options), names, `${index} ${value}`);
  }
  await assert.rejects(list("by-user", 7), /needs a string as value: 7/);
});

test("kinds the manifest does not ask for are refused", async () => {
  const secret = { apiVersion: "v1", kind: "Secret", namespace: "default", name: "s" };
  assert.match((await ask(() => cluster.getObject(secret))).error.message, /Secret is neither a primary nor a watch/);
  assert.match((await ask(() => cluster.listObjects(secret))).error.message, /neither/);
  assert.equal((await ask(() => cluster.getLive(secret))).status.answer, null);
  await assert.rejects(ask(() => cluster.getObject({ kind: "Secret", name: "s" })), /needs apiVersion and kind/);
});

test("lines go to the log, in and out of a reconcile", async () => {
  const report = await ask(async () => {
    console.log("n is %d", 1, { a: 1 });
    await null;
    console.error(new Error("oh"));
    console.assert(1 === 2, "sums");
    log.warn("odd", { id: 7, why: "x" });
  });
  assert.deepEqual(report.log.map(({ level, message }) => [level, message.split("\n")[0]]), [
    ["info", 'n is 1 {"a":1}'], ["error", "Error: oh"], ["error", "Assertion failed: sums"], ["warn", "odd"],
  ]);
  assert.deepEqual(report.log[3].fields, { id: "7", why: "x" });
});

test("outside a call the host's functions say so", () => {
  assert.throws(() => config.get("a"), /config\.get was used outside a call/);
});

test("reconciles that run side by side have worlds of their own", async () => {
  const reports = await Promise.all(
    ["a", "b", "c"].map((word) => ask(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      console.log(word);
      return config.get("word");
    }, { config: { word } })),
  );
  assert.deepEqual(reports.map(({ status, log: [{ message }] }) => status.answer + message), ["aa", "bb", "cc"]);
});

test("the context says what the reconcile is about", async () => {
  const { status } = await ask((cx) => [cx.kind, cx.ref, cx.ownerReference(), cx.uid, cx.deleting, cx.gone, cx.attempt, cx.trigger, cx.review], {
    object: thing({}, { metadata: { name: "a", namespace: "default", uid: "u1" } }),
  });
  assert.deepEqual(status.answer, [
    { group: "example.com", version: "v1", kind: "Thing" },
    { apiVersion: "example.com/v1", kind: "Thing", namespace: "default", name: "a" },
    { apiVersion: "example.com/v1", kind: "Thing", name: "a", uid: "u1", controller: true },
    "u1", false, false, 1, "event", null,
  ]);
});

test("attempts count until one succeeds", async () => {
  let failing = true;
  const reconciler = defineReconciler({
    manifest,
    desired: (cx) => {
      if (failing) throw new TransientError("not yet");
      return [cx.attempt, cx.trigger];
    },
    actual: (cx) => ({ state: [cx.attempt, cx.trigger] }),
    patch() {},
  });
  const runner = new Runner(reconciler, { object: thing({}) });
  assert.equal((await runner.reconcile()).inSync, false);
  await runner.reconcile();
  failing = false;
  assert.deepEqual((await runner.reconcile()).desired, [3, "retry"]);
  assert.deepEqual((await runner.reconcile()).desired, [1, "event"]);
});

test("an object with cleanup goes when nothing is left, and desired is not asked", async () => {
  const reconciler = defineReconciler({ manifest, desired: () => assert.fail("asked"), actual: () => null, patch() {} });
  const runner = new Runner(reconciler, { object: thing({}) });
  runner.delete();
  assert.notEqual(runner.object, null, "the finalizer holds it");
  const report = await runner.reconcile();
  assert.ok(report.gone);
  assert.equal(runner.object, null);
});

test("an object that is gone is known by its last state", async () => {
  const witness = defineReconciler({
    manifest: defineManifest({ name: "witness", version: "1", primaries: [CONFIG_MAP] }),
    desired: () => null,
    actual: (cx) => ({ state: [cx.uid, cx.gone, cx.deleting, cx.object.data, cx.lastSeen.data] }),
    patch() {},
  });
  const runner = new Runner(witness, { object: { ...card({ a: "1" }), metadata: { name: "card", namespace: "default", uid: "u-1" } } });
  runner.delete();
  assert.deepEqual((await runner.reconcile()).before, ["u-1", true, true, { a: "1" }, { a: "1" }]);
});

test("status is merged into the object, a dry run changes nothing", async () => {
  const runner = changer((data) => new Outcome().apply(card(data)), { dryRun: true });
  const dry = await runner.reconcile();
  assert.equal(dry.changes.length, 1);
  assert.equal(runner.get({ ...CONFIG_MAP, namespace: "default", name: "card" }), null);
  const observer = defineReconciler({ manifest, desired: () => 1, actual: () => ({ state: 1.0, status: { b: 2 } }), patch() {} });
  const other = new Runner(observer, { object: thing({}, { status: { a: 1 } }) });
  assert.equal((await other.reconcile()).patched, false);
  assert.deepEqual(other.object.status, { a: 1, b: 2 });
});

test("admission changes the object under review or refuses it", async () => {
  const gate = defineReconciler({
    manifest: defineManifest({ name: "gate", version: "1" }),
    desired(cx) {
      if (cx.review.userInfo.username === "nobody") throw new DeniedError("nobody may do that", { code: 418, reason: "Teapot" });
      return "checked";
    },
    actual: (cx) => ({ state: cx.object.metadata.labels?.gate }),
    patch: (cx, gateLabel) => new Outcome().patch(null, "merge", { metadata: { labels: { gate: gateLabel } } }).warnUser("labelled"),
  });
  const runner = new Runner(gate);
  const report = await runner.admit(thing({}), { userInfo: { username: "somebody" } });
  assert.ok(report.inSync);
  assert.deepEqual(report.warnings, ["labelled"]);
  assert.deepEqual(report.changes, [{ patch: { type: "merge", patch: { metadata: { labels: { gate: "checked" } } } } }]);
  assert.equal(report.object.metadata.labels.gate, "checked");
  const refused = await runner.admit(thing({}), { userInfo: { username: "nobody" } });
  assert.ok(refused.error instanceof DeniedError);
  assert.deepEqual([refused.error.code, refused.error.reason], [418, "Teapot"]);
  const generated = await runner.admit({ ...CONFIG_MAP, metadata: { generateName: "card-" } }, { namespace: "shop", userInfo: { username: "a" } });
  assert.ok(generated.inSync);
});

test("settle ends when nothing is left to do", async () => {
  const reports = await changer((data) => new Outcome().apply(card(data))).settle();
  assert.deepEqual(reports.map(({ patched }) => patched), [true, false]);
  assert.equal((await changer(() => {}).settle(3)).length, 3);
});

test("JSON patches are carried out in all their operations", async () => {
  const operations = [
    { op: "add", path: "/data/b~1c", value: "1" },
    { op: "copy", from: "/data/b~1c", path: "/data/d" },
    { op: "move", from: "/data/d", path: "/data/e" },
    { op: "remove", path: "/data/old" },
    { op: "add", path: "/list/-", value: 3 },
    { op: "add", path: "/list/0", value: 0 },
    { op: "replace", path: "/list/1", value: 9 },
  ];
  const runner = changer((data, target) => new Outcome().patch(target, "json", operations), { cluster: [{ ...card({ old: "1" }), list: [1, 2] }] });
  const report = await runner.reconcile();
  assert.equal(report.error, null);
  const live = runner.get({ ...CONFIG_MAP, namespace: "default", name: "card" });
  assert.deepEqual([live.data, live.list], [{ "b/c": "1", e: "1" }, [0, 9, 2, 3]]);
  for (const operation of [{ op: "remove", path: "/nothing" }, { op: "add", path: "/list/9", value: 1 }, { op: "add", path: "data", value: 1 }, { op: "jump", path: "" }]) {
    const failing = changer((data, target) => new Outcome().patch(target, "json", [operation]), { cluster: [{ ...card({}), list: [] }] });
    assert.match((await failing.reconcile()).error.message, /^JSON patch: /);
  }
});

test("a manifest is the document it was built as, and what is wrong with one is said", () => {
  assert.deepEqual(manifest, {
    apiVersion: "oarlock.dev/v1alpha1", kind: "PluginManifest", name: "probe", version: "1",
    primaries: [{ group: "example.com", version: "v1", kind: "Thing" }],
    watches: [{ group: "", version: "v1", kind: "ConfigMap", mapTo: { type: "ownerReference" } }],
    indexes: [
      { group: "", version: "v1", kind: "ConfigMap", name: "by-user", jsonPath: ".spec.users[*]['id']" },
      { group: "", version: "v1", kind: "ConfigMap", name: "by-a", label: "a" },
    ],
    http: {
      origins: ["http://granted.example.com:80"], originsFromConfig: ["url"], safeRequests: [{ method: "POST", path: "*/tokens" }],
    },
    cleanup: true,
  });
  const { watches } = defineManifest({ name: "a", version: "1", watches: [CONFIG_MAP] });
  assert.deepEqual(watches, [{ group: "", version: "v1", kind: "ConfigMap" }]);
  const { config: schema } = defineManifest({ name: "a", version: "1", config: { properties: { a: { type: "string" } } } });
  assert.deepEqual(schema, { type: "object", additionalProperties: false, properties: { a: { type: "string" } } });
  for (const [fields, message] of [
    [{ name: "Not_a_label", version: "1" }, /not a DNS label/],
    [{ name: "a" }, /version is not a text/],
    [{ name: "a", version: "1", primary: [] }, /no field primary/],
    [{ name: "a", version: "1", watches: [{ ...CONFIG_MAP, mapTo: {} }] }, /mapTo of the watch of ConfigMap has no type/],
    [{ name: "a", version: "1", indexes: [{ ...CONFIG_MAP, name: "By A", label: "a" }] }, /index of ConfigMap has no name of 1 to 63/],
    [{ name: "a", version: "1", indexes: [{ ...CONFIG_MAP, name: "by-a" }] }, /index by-a of ConfigMap needs either jsonPath or label/],
    [{ name: "a", version: "1", indexes: [{ ...CONFIG_MAP, name: "by-a", label: "a", jsonPath: ".a" }] }, /either jsonPath or label/],
    [{ name: "a", version: "1", primaries: [{ apiVersion: "v1" }] }, /a primary needs apiVersion and kind/],
  ]) {
    assert.throws(() => defineManifest(fields), message);
  }
  assert.throws(() => defineReconciler({ manifest, desired() {}, actual() {} }), /no function patch/);
  assert.throws(() => defineReconciler({ desired() {} }), /needs a manifest/);
});
