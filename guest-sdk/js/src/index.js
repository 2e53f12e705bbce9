// What a reconciler is written with. Nothing here needs wasm: under Node the imports of the host are those of a test's `Runner`.

export * as cache from "./cache.js";
export * as cluster from "./cluster.js";
export * as config from "./config.js";
export * as log from "./log.js";
export * as merge from "./merge.js";
export { Context } from "./context.js";
export { keep, restore } from "./converter.js";
export { ConversionError, DeniedError, OarlockError, TerminalError, TransientError } from "./errors.js";
export { fetch, Headers, Response } from "./http.js";
export { sameJson } from "./json.js";
export { defineManifest } from "./manifest.js";
export { Outcome } from "./outcome.js";
export { defineReconciler } from "./reconciler.js";
