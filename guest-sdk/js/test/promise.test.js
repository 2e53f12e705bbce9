import assert from "node:assert/strict";
import { test } from "node:test";
import { QueuedPromise, enqueue, settle, takeUnhandled } from "../src/promise.js";

/** What a promise comes to when its jobs are run, as [state, value]. */
function end(promise) {
  try {
    return ["fulfilled", settle(() => promise)];
  } catch (error) {
    return ["rejected", error];
  }
}

test("handlers run after what runs now, in the order of native promises", async () => {
  const run = (P, push) => {
    const first = P.resolve(1);
    first.then(() => push("a")).then(() => push("b"));
    P.resolve(P.resolve(2)).then(() => push("c"));
    new P((resolve) => resolve(first)).then(() => push("d"));
    P.reject(3).catch(() => push("e")).finally(() => push("f"));
    push("now");
  };
  const [ours, native] = [[], []];
  run(QueuedPromise, (step) => ours.push(step));
  run(Promise, (step) => native.push(step));
  settle(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(ours, native);
});

test("the combinators end as those of native promises do", async () => {
  const cases = [
    (P) => P.all([1, P.resolve(2), new P((resolve) => P.resolve().then(() => resolve(3)))]),
    (P) => P.all([]),
    (P) => P.all([1, P.reject("no"), P.reject("neither")]),
    (P) => P.allSettled([1, P.reject("no")]),
    (P) => P.any([P.reject("no"), P.resolve(2)]),
    (P) => P.any([P.reject("no"), P.reject("neither")]).catch((error) => [error.constructor.name, error.errors]),
    (P) => P.race([new P(() => {}), P.resolve(1), P.reject(2)]),
    (P) => P.resolve(1).finally(() => 2),
    (P) => P.resolve(1).finally(() => P.reject(2)),
    (P) => P.reject(1).finally(() => 2),
    (P) => P.resolve({ then: (resolve) => resolve("thenable") }),
    (P) => P.resolve({ then: () => { throw "thrown"; } }),
    (P) => new P((resolve, reject) => { resolve(1); reject(2); throw 3; }),
    (P) => new P(() => { throw "at once"; }),
    (P) => P.resolve(1).then(2).then((value) => value + 1),
  ];
  for (const make of cases) {
    const native = await make(Promise).then((value) => ["fulfilled", value], (reason) => ["rejected", reason]);
    assert.deepEqual(end(make(QueuedPromise)), native, String(make));
  }
  takeUnhandled();
});

test("a promise resolved with itself is rejected", () => {
  let resolve;
  const promise = new QueuedPromise((itsResolve) => (resolve = itsResolve));
  resolve(promise);
  assert.match(end(promise)[1].message, /resolved with itself/);
});

test("what nothing settles is said, not waited for", () => {
  assert.match(end(new QueuedPromise(() => {}))[1].message, /nothing will settle/);
});

test("rejections nobody looked at are known, each once", () => {
  QueuedPromise.reject("lost");
  QueuedPromise.reject("found").catch(() => {});
  settle(() => {});
  assert.deepEqual(takeUnhandled(), ["lost"]);
  assert.deepEqual(takeUnhandled(), []);
});

test("a job that throws leaves nothing behind for the next call", () => {
  enqueue(() => {
    throw new Error("job");
  });
  enqueue(() => assert.fail("the next call must not run it"));
  assert.throws(() => settle(() => {}), /job/);
  assert.equal(settle(() => QueuedPromise.resolve(1).then((value) => value + 1)), 2);
});

test("withResolvers and try", () => {
  const { promise, resolve } = QueuedPromise.withResolvers();
  resolve(5);
  assert.equal(settle(() => promise), 5);
  assert.deepEqual(end(QueuedPromise.try(() => { throw "x"; })), ["rejected", "x"]);
  takeUnhandled();
});
