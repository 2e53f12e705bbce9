// Runs a reconciler under Node: no wasm, no cluster.

export { Runner } from "./runner.js";
