// The component's entry over fake imports. Each file of tests is a process of its own, so its globals may be replaced.

import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";
import { ConversionError, DeniedError, TerminalError, TransientError, cluster, defineManifest } from "../src/index.js";

globalThis.hostFake = { log: { log: () => {} } };
register(
  `data:text/javascript,${encodeURIComponent(`
    export async function resolve(specifier, context, next) {
      const found = /^oarlock:reconciler\\/(\\w+)@/.exec(specifier);
      if (!found) return next(specifier, context);
      const source = "export default new Proxy({}, { get: (_, name) => globalThis.hostFake." + found[1] + "?.[name] })";
      return { url: "data:text/javascript," + encodeURIComponent(source), shortCircuit: true };
    }
  `)}`,
);
const own = { Promise, random: Math.random, console, setTimeout };
const { guarded, serve, serveConversion } = await import("../src/guest.js");
const { QueuedPromise, enqueue } = await import("../src/promise.js");
const replaced = { Promise: globalThis.Promise, random: Math.random, console: globalThis.console, setTimeout: globalThis.setTimeout };
const back = () => {
  Object.assign(globalThis, { Promise: own.Promise, console: own.console, setTimeout: own.setTimeout });
  Math.random = own.random;
};
back();

const request = { kind: { group: "", version: "v1", kind: "ConfigMap" }, key: { namespace: "a", name: "b" }, uid: "u", object: "{}", deleting: false, correlationId: "c", attempt: 1 };

test("the globals of a component are put in", () => {
  assert.equal(replaced.Promise, QueuedPromise);
  assert.notEqual(replaced.console, own.console);
  assert.throws(() => replaced.setTimeout(() => {}, 1), /no timers/);
});

/**
 * What a call comes to in a component, and the lines of its log. Its promises are ours; the adapter's async functions are native here, as
 * only the build rewrites them.
 */
function run(call) {
  const lines = [];
  globalThis.hostFake = { log: { log: (level, message) => lines.push([level, message]) } };
  try {
    return { answer: guarded(call, request), lines };
  } catch (error) {
    return { [error?.payload ? "error" : "trap"]: error?.payload ?? error, lines };
  }
}

test("answers come out of promises", () => {
  assert.equal(run(() => QueuedPromise.resolve(1).then((one) => one + 1)).answer, 2);
  assert.equal(run(() => "at once").answer, "at once");
});

test("what an error leaves behind is done in its own call", () => {
  let ran = 0;
  const failing = () => {
    enqueue(() => (ran += 1));
    throw new TerminalError("no");
  };
  assert.equal(run(failing).error.tag, "terminal");
  assert.equal(ran, 1);
});

test("each call of an instance sees the object of its own request, as the host sent it", () => {
  const seen = [];
  const look = (cx) => {
    seen.push(cx.object.data.n);
    cx.object.data.n = "changed";
    return null;
  };
  const { getDesired, getActual } = serve({
    manifest: defineManifest({ name: "looks", version: "1" }),
    desired: look,
    actual: look,
    patch() {},
  });
  for (const [n, correlationId] of [["1", "a"], ["2", "b"], ["3", "b"]]) {
    const asked = { ...request, correlationId, object: JSON.stringify({ data: { n } }) };
    assert.equal(getDesired(asked), null);
    assert.equal(getActual(asked).state, null);
  }
  assert.deepEqual(seen, ["1", "1", "2", "2", "3", "3"]);
});

test("errors of Oarlock are the contract's", () => {
  const thrown = (error) => run(() => QueuedPromise.reject(error)).error;
  assert.deepEqual(thrown(new TransientError("a")), { tag: "transient", val: { delayMs: null, message: "a" } });
  assert.deepEqual(thrown(new TransientError("a", { delayMs: 0.5 })), { tag: "transient", val: { delayMs: 1, message: "a" } });
  assert.deepEqual(thrown(new TerminalError("b")), { tag: "terminal", val: "b" });
  assert.deepEqual(thrown(new DeniedError("c")), { tag: "denied", val: { code: 403, reason: "Forbidden", message: "c" } });
});

test("an error of an import is the class of what it says", () => {
  const answer = run(() => {
    globalThis.hostFake.cluster = { getObject: () => { throw Object.assign(new Error("x"), { payload: { tag: "transient", val: { delayMs: 7, message: "later" } } }); } };
    return cluster.getObject({ apiVersion: "v1", kind: "ConfigMap", name: "a" });
  });
  assert.deepEqual(answer.error, { tag: "transient", val: { delayMs: 7, message: "later" } });
});

test("a fault of the plugin is logged with its trace, then traps", () => {
  const { trap, lines } = run(() => {
    throw new RangeError("the answer is 42");
  });
  assert.equal(trap.message, "the answer is 42");
  assert.equal(lines.length, 1);
  assert.equal(lines[0][0], "error");
  assert.match(lines[0][1], /^RangeError: the answer is 42\n {4}at /);
  const text = run(() => {
    throw "just text";
  });
  assert.ok(text.trap instanceof Error, "text would be taken for an error of the contract");
  assert.deepEqual(text.lines, [["error", "thrown: just text"]]);
});

test("the error of a conversion is its message", () => {
  const failed = () => QueuedPromise.reject(new ConversionError("spec.size is odd"));
  assert.deepEqual(run(failed).error, { tag: "terminal", val: "spec.size is odd" }, "in a reconcile");
  const message = (error) => error.message;
  assert.throws(() => guarded(failed, undefined, message), ({ payload }) => payload === "spec.size is odd");
  assert.equal(serveConversion({}), undefined);
  assert.equal(typeof serveConversion({ convert() {} }).convert, "function");
  assert.equal(globalThis.__oarlockConverts, true);
});

test("what was rejected and not looked at is logged", () => {
  const { answer, lines } = run(() => {
    QueuedPromise.reject(new Error("lost"));
    return 1;
  });
  assert.equal(answer, 1);
  assert.match(lines[0][1], /nobody looked: Error: lost/);
});

test("each reconcile draws its own random numbers", () => {
  const draw = (correlationId) => {
    const numbers = [];
    guarded(() => numbers.push(replaced.random()), { ...request, correlationId });
    return numbers[0];
  };
  assert.equal(draw("one"), draw("one"));
  assert.notEqual(draw("one"), draw("two"));
});
