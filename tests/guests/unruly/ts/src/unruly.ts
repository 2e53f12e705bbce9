// A guest that misbehaves in the way of TypeScript, as its configuration says: what the types promise is not so. For tests of the host.

import { config, defineManifest, type AnyObject, type Context } from "oarlock-guest";
import { guarded, serve } from "oarlock-guest/guest";

interface State {
  ok: boolean;
  wall?: number;
  random?: number;
  calls?: number;
}

const GOOD: State = { ok: true };

// The types of another platform: the compiler believes that it is there.
declare const process: { exit(code: number): never; env: Record<string, string | undefined>; getBuiltinModule(name: string): any };
declare class Worker {
  constructor(file: string);
}

enum Mode {
  Throw = "throw",
  Exit = "exit",
  Open = "open",
  Env = "env",
  Thread = "thread",
  Print = "print",
  Sleep = "sleep",
  Loop = "loop",
  Nonsense = "nonsense",
  Chance = "chance",
}

let calls = 0;

class Answer<T> {
  constructor(private readonly value: T) {}

  checked(cx: Context): never {
    throw new RangeError(`the answer is ${this.value} and not ${cx.name}`);
  }
}

function misbehaved(mode: Mode | undefined, cx: Context): State | undefined {
  switch (mode) {
    case Mode.Throw:
      return new Answer<number>(42).checked(cx);
    case Mode.Exit:
      return process.exit(3);
    case Mode.Open:
      return process.getBuiltinModule("node:fs").readFileSync("/etc/passwd", "utf8");
    case Mode.Env:
      return { ok: process.env.HOME!.length > 0 };
    case Mode.Thread:
      return { ok: new Worker("worker.js") instanceof Worker };
    case Mode.Print:
      console.log("printed to stdout");
      console.error("printed to stderr");
      return undefined;
    case Mode.Sleep:
      for (const end = Date.now() + 1000; Date.now() < end; );
      return undefined;
    case Mode.Loop:
      for (;;);
    case Mode.Chance:
      // Not the same twice: clocks, a random number, and what an earlier reconcile left in memory.
      return { ok: false, wall: Date.now(), random: Math.random(), calls: ++calls };
    default:
      return undefined;
  }
}

const mode = () => config.get("mode") as Mode | undefined;

const well = serve<AnyObject, State>({
  manifest: defineManifest({
    name: "unruly-ts",
    version: "0.1.0",
    primaries: [{ apiVersion: "v1", kind: "ConfigMap" }],
    config: { properties: { mode: { type: "string" } } },
  }),
  desired: (cx) => misbehaved(mode(), cx) ?? GOOD,
  actual: () => ({ state: GOOD }),
  patch() {},
});

export const reconcile = {
  ...well,
  getDesired(request: unknown): string | null {
    // Past the SDK, which answers nothing but JSON.
    if (guarded(mode) === Mode.Nonsense) return "this is no JSON";
    return well.getDesired(request);
  },
};
