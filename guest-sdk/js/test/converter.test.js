import assert from "node:assert/strict";
import { test } from "node:test";
import { ConversionError, cluster, defineManifest, defineReconciler, keep, restore } from "../src/index.js";
import { Runner } from "../testing/index.js";

const manifest = defineManifest({ name: "things", version: "1", conversions: ["things.example.com"] });
const questions = { desired() {}, actual() {}, patch() {} };
const v1 = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a", namespace: "b", uid: "u" }, spec: { size: 1 } };

/** What a runner makes of an object with this function. */
const convert = (body) => new Runner(defineReconciler({ manifest, ...questions, convert: body })).convert(v1, "example.com/v2");

test("what is kept is restored and leaves no trace", () => {
  const object = structuredClone(v1);
  keep(object, "example.com/x", { a: [1, '"'] });
  assert.equal(typeof object.metadata.annotations["example.com/x"], "string");
  assert.deepEqual(restore(object, "example.com/x"), { a: [1, '"'] });
  assert.deepEqual(object, v1);
  assert.equal(restore(object, "example.com/x"), null);
  keep(object, "example.com/x", undefined);
  assert.deepEqual(object, v1);
  object.metadata.annotations = { "example.com/x": "{", other: "1" };
  assert.throws(() => restore(object, "example.com/x"), (error) => error instanceof ConversionError && /annotation example.com\/x is not JSON/.test(error.message));
});

test("an object is converted, and the one that was given stays", async () => {
  const before = structuredClone(v1);
  const converted = await convert(async (object, desired) => Object.assign(object, { apiVersion: desired, spec: { sizes: [object.spec.size] } }));
  assert.deepEqual(converted, { ...v1, apiVersion: "example.com/v2", spec: { sizes: [1] } });
  assert.deepEqual(v1, before);
});

test("a failed conversion says why", async () => {
  await assert.rejects(
    convert(() => {
      throw new ConversionError("spec.size is odd");
    }),
    (error) => error instanceof ConversionError && error.message === "spec.size is odd",
  );
});

test("what the host refuses of an answer is thrown", async () => {
  const answers = [
    [(object) => object, /apiVersion "example.com\/v1" instead of "example.com\/v2"/],
    [(object, apiVersion) => ({ ...object, apiVersion, kind: "Other" }), /another kind than/],
    [(object, apiVersion) => ({ ...object, apiVersion, metadata: { ...object.metadata, uid: "v" } }), /another metadata.uid than/],
    [() => undefined, /answered undefined/],
    [() => cluster.getObject({ ...v1, name: "a" }), /the only import that works in a conversion is log/],
  ];
  for (const [body, message] of answers) await assert.rejects(convert(body), message);
  const plain = defineReconciler({ manifest: defineManifest({ name: "a", version: "1" }), ...questions });
  await assert.rejects(new Runner(plain).convert(v1, "example.com/v2"), /no function convert/);
});

test("a reconciler converts what its manifest names, and nothing else", () => {
  assert.throws(() => defineReconciler({ manifest, ...questions }), /names the conversions things.example.com, but the reconciler has no function convert/);
  const none = defineManifest({ name: "things", version: "1" });
  assert.throws(() => defineReconciler({ manifest: none, ...questions, convert() {} }), /has a function convert, but the manifest names no definition/);
});
