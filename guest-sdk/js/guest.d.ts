// For guests that answer the contract themselves, such as those that test a host: `oarlock-componentize --raw`.

import type { KubernetesObject, Reconciler } from "./index.js";

/** The functions of the contract: `export const reconcile = serve(reconciler)`. */
export function serve<T extends KubernetesObject, S>(reconciler: Reconciler<T, S>): {
  describe(): string;
  getDesired(request: unknown): string | null;
  getActual(request: unknown): unknown;
  patch(request: unknown, desired: string | null, actual: string | null): unknown;
};

/** Runs one call to its end: its promises, its log lines, its errors. */
export function guarded<T>(call: () => T | Promise<T>, request?: unknown): T;
