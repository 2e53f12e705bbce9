// The component's entry: the host's functions go in, and what QuickJS lacks or has wrong for a plugin is put right. Comes first in the
// bundle, before any code of the plugin.

import cacheImports from "oarlock:reconciler/cache@0.1.0";
import clusterImports from "oarlock:reconciler/cluster@0.1.0";
import configImports from "oarlock:reconciler/config@0.1.0";
import httpImports from "oarlock:reconciler/http@0.1.0";
import logImports from "oarlock:reconciler/log@0.1.0";
import mergeImports from "oarlock:reconciler/merge@0.1.0";
import { adapt } from "./adapter.js";
import { makeConsole } from "./console.js";
import { OarlockError, toRaw } from "./errors.js";
import { fetch, Headers, Response } from "./http.js";
import { install } from "./imports.js";
import { error as logError } from "./log.js";
import { QueuedPromise, enqueue, settle, takeUnhandled } from "./promise.js";
import { seed, random } from "./random.js";
import { defineReconciler } from "./reconciler.js";
import { BUNDLE, installLineMap, trace } from "./trace.js";
import { decode, encode } from "./utf8.js";

// Filled in at the end of the bundle, by the build.
globalThis.__oarlockLines = { sources: [], runs: [] };

const imports = {
  cache: cacheImports,
  cluster: clusterImports,
  config: configImports,
  http: httpImports,
  log: logImports,
  merge: mergeImports,
};
let called = false;
install(() => (called ? imports : null));

class TextEncoder {
  encoding = "utf-8";
  encode(text = "") {
    return encode(String(text));
  }
}

class TextDecoder {
  encoding = "utf-8";
  constructor(label = "utf-8") {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`TextDecoder: only UTF-8, not ${label}`);
  }
  decode(bytes = new Uint8Array(0)) {
    return decode(bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes.buffer ?? bytes));
  }
}

function noTimers() {
  throw new Error("a plugin has no timers: answer requeueAfterMs, or throw a TransientError with delayMs, to be asked again later");
}

Object.assign(globalThis, {
  console: makeConsole(),
  fetch,
  Headers,
  Response,
  TextEncoder,
  TextDecoder,
  Promise: QueuedPromise,
  queueMicrotask: enqueue,
  setTimeout: noTimers,
  setInterval: noTimers,
  setImmediate: noTimers,
});
Math.random = random;
// QuickJS's own is built on its own promises, whose jobs never run.
Array.fromAsync = async (items, map = (item) => item) => {
  const made = [];
  for await (const item of items) made.push(await map(item, made.length));
  return made;
};

/** The functions of the contract, for `export const reconcile = serve(reconciler)`. */
export function serve(reconciler) {
  const adapted = adapt(defineReconciler(reconciler));
  return {
    describe: () => guarded(() => adapted.describe()),
    getDesired: (request) => guarded(() => adapted.getDesired(request), request),
    getActual: (request) => guarded(() => adapted.getActual(request), request),
    patch: (request, desired, actual) => guarded(() => adapted.patch(request, desired, actual), request),
  };
}

/**
 * The interface of a plugin that converts, for `export const conversion = serveConversion(reconciler)`; undefined of one that does not. The
 * build looks at `__oarlockConverts` for the world of the component.
 */
export function serveConversion(reconciler) {
  if (!reconciler.convert) return undefined;
  globalThis.__oarlockConverts = true;
  const adapted = adapt(reconciler);
  return {
    convert(object, desired) {
      try {
        return guarded(() => adapted.convert(object, desired), undefined, ({ message }) => message);
      } catch (error) {
        if (typeof error.payload === "string") throw error;
        // The error of this function is text, and the bindings would answer that of any Error. No symbol becomes text: they trap.
        return Symbol("trap");
      }
    },
  };
}

/**
 * Runs one call to its end. A fault of the plugin is logged, because a trap carries no text, and becomes a trap. `raw`: the contract's form
 * of an error.
 */
export function guarded(call, request, raw = toRaw) {
  if (!called) installLineMap(BUNDLE, globalThis.__oarlockLines);
  called = true;
  if (request) seed(`${request.correlationId} ${request.uid} ${request.attempt}`);
  try {
    const answer = settle(call);
    for (const reason of takeUnhandled()) logError(`a promise was rejected and nobody looked: ${trace(reason)}`);
    return answer;
  } catch (error) {
    takeUnhandled();
    // The bindings answer what is in `payload`; any other error they turn into a trap.
    if (error instanceof OarlockError) throw { payload: raw(error) };
    logError(trace(error));
    throw error instanceof Error ? error : new Error(String(error));
  }
}
