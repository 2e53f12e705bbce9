import assert from "node:assert/strict";
import { test } from "node:test";
import { lineRuns } from "../bin/source-map.js";
import { format } from "../src/console.js";
import { random, seed } from "../src/random.js";
import { installLineMap, trace } from "../src/trace.js";
import { decode, encode } from "../src/utf8.js";

test("UTF-8 is written and read as TextEncoder and TextDecoder do", () => {
  for (const text of ["", "plain", "ü€𝄞 \u0000", "\ud800 lone", "x".repeat(10_000) + "€"]) {
    assert.deepEqual(encode(text), new TextEncoder().encode(text));
    assert.equal(decode(encode(text)), new TextDecoder("utf-8", { ignoreBOM: true }).decode(new TextEncoder().encode(text)));
  }
  const broken = [[0xff], [0xc0, 0x80], [0xe2, 0x82], [0xe2, 0x28, 0xa1], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x92], [0xf5, 0x80], [0x61, 0x80, 0x62]];
  for (const bytes of broken) {
    assert.equal(decode(Uint8Array.from(bytes)), new TextDecoder().decode(Uint8Array.from(bytes)), String(bytes));
  }
  let state = 1;
  for (let round = 0; round < 2000; round += 1) {
    const bytes = Uint8Array.from({ length: 8 }, () => (state = (state * 1103515245 + 12345) % 2147483648) >> 16);
    assert.equal(decode(bytes), new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes), String(bytes));
  }
});

test("lines are formatted as a console does", () => {
  assert.equal(format(["%s has %d of %i (%j) %%", "a", "2", 3.7, { x: 1 }, "rest", 4]), 'a has 2 of 3 ({"x":1}) % rest 4');
  assert.equal(format([{ a: [1, null] }, undefined, true, 5n]), '{"a":[1,null]} undefined true 5n');
  assert.equal(format(["100%"]), "100%");
  assert.equal(format(["%s"]), "%s");
  assert.equal(format([new Map([["a", new Set([1])]]), () => 1]), 'Map [["a",{}]] [Function (anonymous)]');
  const circle = {};
  circle.self = circle;
  assert.equal(format([circle]), "[object Object]");
});

test("a trace says the message, the frames and the causes", () => {
  function inner() {
    throw new RangeError("too far", { cause: new Error("the map") });
  }
  try {
    inner();
  } catch (error) {
    const lines = trace(error).split("\n");
    assert.equal(lines[0], "RangeError: too far");
    assert.match(lines[1], /^ {4}at inner \(.*text\.test\.js:\d+/);
    assert.ok(lines.includes("caused by Error: the map"));
  }
  assert.equal(trace({ not: "an error" }), 'thrown: {"not":"an error"}');
});

test("frames of the bundle are those of its sources", () => {
  // Line 2 and 3 of the bundle are 5 and 6 of a.js, line 5 is 1 of b.js.
  const runs = lineRuns(";AAIA,CAAC;AACA;;ACLA");
  assert.deepEqual(runs, [[2, 2, 0, 5], [5, 1, 1, 1]]);
  installLineMap("bundle.js", { sources: ["src/a.js", "src/b.js"], runs });
  const error = new Error("x");
  error.stack = [
    "    at one (bundle.js:2:10)", "    at bundle.js:3:1", "    at helper (bundle.js:4:1)", "    at two (bundle.js:5:3)",
    "    at call (native)", "    at beyond (bundle.js:9:1)", "    at <anonymous> (other.js:7:1)",
  ].join("\n");
  assert.deepEqual(trace(error).split("\n"), [
    "Error: x", "    at one (src/a.js:5)", "    at src/a.js:6", "    at two (src/b.js:1)", "    at <anonymous> (other.js:7:1)",
  ]);
  installLineMap("nothing", { sources: [], runs: [] });
});

test("the first random number of a reconcile looks at the clock, for the host", (t) => {
  const now = t.mock.method(Date, "now");
  seed("a u1 1");
  assert.equal(now.mock.callCount(), 0);
  random();
  random();
  assert.equal(now.mock.callCount(), 1);
});

test("random numbers are those of their seed, and spread", () => {
  const draw = (text) => {
    seed(text);
    return Array.from({ length: 1000 }, random);
  };
  assert.deepEqual(draw("a u1 1"), draw("a u1 1"));
  assert.notDeepEqual(draw("a u1 1"), draw("a u1 2"));
  const [a, b] = [draw("a"), draw("b")];
  assert.ok([...a, ...b].every((number) => number >= 0 && number < 1));
  const mean = a.reduce((sum, number) => sum + number, 0) / a.length;
  assert.ok(Math.abs(mean - 0.5) < 0.05, String(mean));
  assert.equal(new Set([...a, ...b]).size, 2000);
});
