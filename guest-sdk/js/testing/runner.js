// One object, reconciled as the host would: desired, actual, and when they differ patch, its changes, and actual again.

import { AsyncLocalStorage } from "node:async_hooks";
import { adapt } from "../src/adapter.js";
import { CONSOLE_LEVELS, makeConsole } from "../src/console.js";
import { OarlockError, fromRaw } from "../src/errors.js";
import { fetch as lentFetch } from "../src/http.js";
import { install } from "../src/imports.js";
import { isMap, sameJson } from "../src/json.js";
import { apiVersionOf } from "../src/refs.js";
import { copy, mergePatch } from "./json.js";
import { checkConverted, onlyLog } from "./conversion.js";
import { World, identity } from "./world.js";

/** The world of the reconcile that runs here, whatever else runs beside it. */
const current = new AsyncLocalStorage();
install(() => current.getStore()?.lent ?? null);

// What a component has as globals. Outside a reconcile they are Node's.
const lentConsole = makeConsole();
for (const method of [...Object.keys(CONSOLE_LEVELS), "assert"]) {
  const own = console[method];
  console[method] = function (...values) {
    return current.getStore() ? lentConsole[method](...values) : own.apply(this, values);
  };
}
const ownFetch = globalThis.fetch;
globalThis.fetch = (...request) => (current.getStore() ? lentFetch(...request) : ownFetch(...request));

/** Runs a reconciler for one object. The world stays between reconciles: objects, cache, clock. */
export class Runner {
  #reconciler;
  #adapted;
  #world;
  #ref = null;
  #uid = "";
  #lastSeen = null;
  #attempt = 1;

  /**
   * `object`: what is reconciled. `cluster`: other objects. `applied`: documents as this plugin applied them earlier. `config`: values by
   * key. `http`: exchanges in order, `{ request, response }` or `{ request, failure }`, or a function of the request. `dryRun`.
   */
  constructor(reconciler, { object, cluster = [], applied = [], config = {}, http = [], dryRun = false } = {}) {
    this.#reconciler = reconciler;
    this.#adapted = adapt(reconciler);
    this.#world = new World(reconciler.manifest);
    this.#world.config = new Map(Object.entries(config));
    this.#world.dryRun = dryRun;
    this.http = http;
    for (const other of cluster) this.put(other);
    for (const document of applied) this.#world.apply(document);
    if (object) this.object = object;
  }

  /** Answers of the next requests. */
  set http(http) {
    this.#world.http = typeof http === "function" ? http : [...http];
  }

  /** Exchanges that are left over, or the function. */
  get http() {
    return this.#world.http;
  }

  /** The primary object as it is in the cluster; null when it is gone. */
  get object() {
    return (this.#ref && copy(this.#world.get(this.#ref.kind, this.#ref.key))) ?? null;
  }

  /** Creates or replaces it. It gets a uid when it has none. */
  set object(object) {
    this.#world.store(object);
    this.#ref = identity(object);
  }

  /** Creates or replaces another object, as somebody else would. */
  put(object) {
    this.#world.store(object);
  }

  /** Changes the primary object, as its user would: `edit((object) => { object.spec.size = 2; })`. */
  edit(change) {
    const object = this.object;
    change(object);
    this.#world.store(object);
  }

  /** Deletes the primary object, as its user would: with `cleanup` in the manifest it stays until nothing is left. */
  delete() {
    if (this.#world.manifest.cleanup) {
      this.edit((object) => (object.metadata.deletionTimestamp = "2026-01-01T00:00:00Z"));
      return;
    }
    this.#lastSeen = this.object;
    this.#uid = this.#lastSeen.metadata.uid;
    this.#world.remove(this.#ref.kind, this.#ref.key);
  }

  /** An object of the cluster, or null. */
  get(ref) {
    const { kind, key } = identity({ apiVersion: ref.apiVersion, kind: ref.kind, metadata: ref });
    return copy(this.#world.get(kind, key)) ?? null;
  }

  /** Removes an object of the cluster, as somebody else would. */
  remove(ref) {
    const { kind, key } = identity({ apiVersion: ref.apiVersion, kind: ref.kind, metadata: ref });
    return this.#world.remove(kind, key);
  }

  /** Time passes: values in the cache expire. */
  advance(ms) {
    this.#world.now += ms;
  }

  /** The host restarts: what it kept in memory is lost. */
  restart() {
    this.#world.cache.clear();
    this.#attempt = 1;
  }

  /** One reconcile. What the reconciler throws that is no Oarlock error is thrown here too. */
  async reconcile() {
    if (!this.#ref) throw new Error("the runner has no object: new Runner(reconciler, { object })");
    const request = this.#request();
    const report = await this.#run(request);
    this.#attempt = report.error ? this.#attempt + 1 : 1;
    if (!report.error) this.#finish(request, report);
    return report;
  }

  /** Reconciles until nothing is left to do, at most `limit` times, and returns every report. */
  async settle(limit = 10) {
    const reports = [];
    while (reports.length < limit) {
      const report = await this.reconcile();
      reports.push(report);
      if (report.gone || (report.inSync && !report.patched)) return reports;
    }
    return reports;
  }

  /** An object in another API version. What the host would refuse of the answer is thrown, as a ConversionError is. */
  async convert(object, desired) {
    if (!this.#reconciler.convert) throw new Error("the reconciler has no function convert");
    this.#world.problem = null;
    const call = () => this.#adapted.convert(JSON.stringify(object), desired);
    const converted = JSON.parse(await current.run({ lent: onlyLog(this.#world.imports()) }, call));
    checkConverted(object, converted, desired);
    return converted;
  }

  /** Admission of `object`; `review` is the AdmissionRequest. The report's `object` is the one under review as it was changed. */
  async admit(object, review) {
    const { metadata = {} } = object;
    const key = { namespace: metadata.namespace ?? review.namespace ?? "", name: metadata.name ?? review.name ?? "" };
    const { kind } = identity({ ...object, metadata: { name: "" } });
    const request = {
      ...this.#common(),
      kind,
      key,
      uid: metadata.uid ?? "",
      object: JSON.stringify(object),
      lastSeen: null,
      deleting: metadata.deletionTimestamp !== undefined,
      trigger: "admission",
      review: JSON.stringify(review),
    };
    return this.#run(request, copy(object));
  }

  #common() {
    return { attempt: this.#attempt, correlationId: "test", dryRun: this.#world.dryRun };
  }

  #request() {
    const object = this.object;
    if (object) [this.#uid, this.#lastSeen] = [object.metadata.uid, object];
    return {
      ...this.#common(),
      kind: this.#ref.kind,
      key: this.#ref.key,
      uid: this.#uid,
      object: object ? JSON.stringify(object) : null,
      lastSeen: object ? null : JSON.stringify(this.#lastSeen),
      deleting: !object || object.metadata.deletionTimestamp !== undefined,
      trigger: this.#attempt > 1 ? "retry" : "event",
      review: null,
    };
  }

  async #run(request, underReview) {
    const world = this.#world;
    const report = {
      desired: null, before: null, after: null, status: null, requeueAfterMs: undefined, patched: false, changes: [], events: [],
      warnings: [], error: null, gone: false, inSync: false,
    };
    const [log, requests] = [world.log.length, world.requests.length];
    world.problem = null;
    try {
      await current.run({ lent: world.imports() }, () => this.#steps(request, report, underReview));
    } catch (error) {
      report.error = errorOf(error);
    }
    if (world.problem) throw world.problem;
    report.log = world.log.slice(log);
    report.requests = world.requests.slice(requests);
    report.inSync = report.error === null && sameJson(report.desired, report.after);
    return report;
  }

  async #steps(request, report, underReview) {
    const parsed = (text) => (text == null ? null : JSON.parse(text));
    const observe = async (asked) => {
      const { state, status, requeueAfterMs } = await this.#adapted.getActual(asked);
      report.after = parsed(state);
      report.status = parsed(status);
      earlier(report, requeueAfterMs);
      return state;
    };
    const desired = request.deleting ? null : await this.#adapted.getDesired(request);
    report.desired = parsed(desired);
    const actual = await observe(request);
    report.before = report.after;
    if (sameJson(report.desired, report.before)) return;
    report.patched = true;
    const outcome = await this.#adapted.patch(request, desired, actual);
    report.changes = outcome.changes.map(readable);
    report.warnings = outcome.warnings;
    earlier(report, outcome.requeueAfterMs);
    if (request.dryRun) return;
    let reviewed = underReview;
    for (const change of outcome.changes) reviewed = this.#world.carryOut(change, reviewed);
    // Events are for changes that were carried out.
    report.events = outcome.events;
    if (reviewed) report.object = reviewed;
    // The request is the same for every call: a plugin that changes the object itself reads it again. Only what is under review is
    // nowhere to be read.
    await observe(reviewed ? { ...request, object: JSON.stringify(reviewed) } : request);
  }

  /** What the host does afterwards: status, and the finalizer of an object that is going. */
  #finish(request, report) {
    if (request.dryRun) return;
    const object = this.object;
    if (object && report.status) {
      const status = mergePatch(object.status ?? {}, report.status);
      if (!sameJson(status, object.status ?? {})) this.#world.store({ ...object, status });
    }
    if (request.deleting && object && report.after === null) {
      this.#lastSeen = object;
      this.#world.remove(request.kind, request.key);
      report.gone = true;
    }
  }
}

function errorOf(error) {
  if (error instanceof OarlockError) return error;
  // Of a change that could not be carried out.
  if (isMap(error?.payload) && error.payload.tag) return fromRaw(error.payload);
  throw error;
}

function earlier(report, ms) {
  if (ms != null) report.requeueAfterMs = Math.min(ms, report.requeueAfterMs ?? Infinity);
}

/** A change of the contract as case files write it. */
function readable({ tag, val }) {
  const ref = ({ kind, key }) => ({
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    ...(key.namespace ? { namespace: key.namespace } : {}),
    name: key.name,
  });
  const siblings = {};
  if (val.subresource) siblings.subresource = val.subresource;
  const precondition = Object.entries(val.precondition ?? {}).filter(([, wanted]) => wanted !== null);
  if (precondition.length > 0) siblings.precondition = Object.fromEntries(precondition);
  switch (tag) {
    case "apply":
      return { apply: JSON.parse(val.object), ...(val.force ? { force: true } : {}), ...siblings };
    case "create":
      return { create: JSON.parse(val) };
    case "patch": {
      const type = val.patchType.replace(/-patch$/, "").replace(/-merge$/, "");
      const patch = { type, patch: JSON.parse(val.patch) };
      return { patch: val.target ? { target: ref(val.target), ...patch } : patch, ...siblings };
    }
    default:
      return { delete: ref(val.target), ...(val.propagation === "background" ? {} : { propagation: val.propagation }), ...siblings };
  }
}
