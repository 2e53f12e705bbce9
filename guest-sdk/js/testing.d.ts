// Runs a reconciler under Node: no wasm, no cluster.

import type { AnyObject, Change, Event, KubernetesObject, ObjectRef, OarlockError, Reconciler, Failure } from "./index.js";

/** A request as it was sent. */
export interface SentRequest {
  method: string;
  url: string;
  /** Names in lower case. */
  headers: Record<string, string>;
  body: string;
}

export interface ExpectedRequest {
  method?: string;
  url?: string;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string;
}

export interface Answer {
  /** 200 unless set. */
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string;
}

/** A request and its answer. What is named of the request is compared. */
export type Exchange = { request?: ExpectedRequest } & ({ response: Answer } | { failure: Failure });

/** Exchanges in the order they are made, or a function that answers. */
export type Http = Exchange[] | ((request: SentRequest & { json(): unknown }) => Answer | { failure: Failure });

export interface RunnerOptions {
  /** What is reconciled. */
  object?: AnyObject;
  /** Other objects of the cluster. */
  cluster?: AnyObject[];
  /** Documents as this plugin applied them earlier: in the cluster, and answered by `getApplied`. */
  applied?: AnyObject[];
  config?: Record<string, string>;
  http?: Http;
  /** Nothing may change. */
  dryRun?: boolean;
}

/** What one reconcile did. */
export interface Report<S = any> {
  desired: S | null;
  /** The state the world was in before the patch. */
  before: S | null;
  /** And after it; the same as `before` when nothing was patched. */
  after: S | null;
  /** What the last observation said about the object. */
  status: any;
  /** Whether `patch` was asked. */
  patched: boolean;
  /** No error, and nothing left to do. */
  inSync: boolean;
  /** As case files write them. */
  changes: Change[];
  /** Only of a patch whose changes were carried out. */
  events: Event[];
  warnings: string[];
  /** What ended the reconcile early. */
  error: (OarlockError & { delayMs?: number; failure?: Failure; code?: number; reason?: string }) | null;
  /** The earliest time the plugin asked to look again. */
  requeueAfterMs: number | undefined;
  /** In order. */
  requests: SentRequest[];
  log: { level: "debug" | "info" | "warn" | "error"; message: string; fields: Record<string, string> }[];
  /** The object exists no more: nothing was left of it, and its finalizer was let go. */
  gone: boolean;
  /** Admission: the object under review as it was changed. */
  object?: AnyObject;
}

/** Runs a reconciler for one object. The world stays between reconciles: objects, cache, clock. */
export class Runner<T extends KubernetesObject = AnyObject, S = any> {
  constructor(reconciler: Reconciler<T, S>, options?: RunnerOptions);
  /** The primary object as it is in the cluster; null when it is gone. */
  get object(): AnyObject | null;
  /** Creates or replaces it. It gets a uid when it has none. */
  set object(object: AnyObject);
  get http(): Http;
  set http(http: Http);
  /** Creates or replaces another object, as somebody else would. */
  put(object: AnyObject): void;
  /** Changes the primary object, as its user would. */
  edit(change: (object: AnyObject) => void): void;
  /** Deletes the primary object, as its user would: with `cleanup` in the manifest it stays until nothing is left. */
  delete(): void;
  /** An object of the cluster. */
  get(ref: ObjectRef): AnyObject | null;
  /** Removes an object of the cluster, as somebody else would. */
  remove(ref: ObjectRef): boolean;
  /** Time passes: values in the cache expire. */
  advance(ms: number): void;
  /** The host restarts: what it kept in memory is lost. */
  restart(): void;
  /** One reconcile. What the reconciler throws that is no Oarlock error is thrown here too. */
  reconcile(): Promise<Report<S>>;
  /** Reconciles until nothing is left to do, at most `limit` times (10). */
  settle(limit?: number): Promise<Report<S>[]>;
  /**
   * An object in another API version, by the reconciler's `convert`. What the host would refuse of the answer is thrown, as a
   * ConversionError is.
   */
  convert(object: AnyObject, desired: string): Promise<AnyObject>;
  /** Admission of an object; `review` is the AdmissionRequest. */
  admit(object: object, review: object): Promise<Report<S>>;
}
