// A guest that misbehaves in the way of JavaScript, as its configuration says. For tests of the host.

import { config, defineManifest } from "oarlock-guest";
import { guarded, serve } from "oarlock-guest/guest";

const GOOD = { ok: true };

const modes = {
  throw: () => first(),
  // What Node has for it. In a component there is no process, and that is an error like any other.
  exit: () => process.exit(3),
  open: () => ({ read: process.getBuiltinModule("node:fs").readFileSync("/etc/passwd", "utf8") }),
  env: () => ({ home: process.env.HOME }),
  thread: () => ({ worker: String(new Worker("worker.js")) }),
  print() {
    console.log("printed to stdout");
    console.error("printed to stderr");
  },
  sleep() {
    // QuickJS has neither Atomics.wait nor timers here: looking at the clock is what is left.
    const end = Date.now() + 1000;
    while (Date.now() < end);
  },
  loop() {
    for (;;);
  },
  // Not the same twice: clocks, a random number, and what an earlier reconcile left in memory.
  chance: () => ({ ok: false, wall: Date.now(), random: Math.random(), calls: ++calls }),
  // Always in sync, but not for sure.
  clock: () => ({ ok: Date.now() > 0 }),
  dice: () => ({ ok: Math.random() < 1 }),
};

let calls = 0;

function first() {
  second();
}

function second() {
  throw new Error("the answer is 42");
}

const well = serve({
  manifest: defineManifest({
    name: "unruly-js",
    version: "0.1.0",
    primaries: [{ apiVersion: "v1", kind: "ConfigMap" }],
    config: { properties: { mode: { type: "string" } } },
  }),
  desired: () => modes[config.get("mode")]?.() ?? GOOD,
  actual: () => ({ state: GOOD }),
  patch() {},
});

export const reconcile = {
  ...well,
  getDesired(request) {
    // Past the SDK, which answers nothing but JSON.
    if (guarded(() => config.get("mode")) === "nonsense") return "this is no JSON";
    return well.getDesired(request);
  },
};
