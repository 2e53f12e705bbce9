// Types of the SDK. The contract behind it is wit/reconciler.wit.

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** Names a kind as a document does. */
export interface KindRef {
  apiVersion: string;
  kind: string;
}

/** Names an object. `namespace` is absent or empty for cluster-scoped kinds. */
export interface ObjectRef extends KindRef {
  namespace?: string;
  name: string;
}

/** What every Kubernetes object has. */
export interface KubernetesObject extends KindRef {
  metadata: ObjectMeta;
}

export interface ObjectMeta {
  name: string;
  namespace?: string;
  generateName?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference extends KindRef {
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

/** A kind of which nothing is known but that it is an object. */
export interface AnyObject extends KubernetesObject {
  [field: string]: any;
}

/** A document with the fields this plugin wants; to apply or to create. */
export interface Document extends KindRef {
  metadata: Partial<ObjectMeta>;
  [field: string]: any;
}

/** The cause of a reconcile, for logs and metrics. The result of a reconcile must not depend on it. */
export type Trigger = "event" | "initial-list" | "resync" | "requeue" | "retry" | "swap" | "admission";

/** What a reconcile is about: the same for each of its calls. */
export class Context<T extends KubernetesObject = AnyObject> {
  private constructor();
  /** The object's kind, one of the manifest's primaries. */
  readonly kind: { group: string; version: string; kind: string };
  /** apiVersion of the object's kind. */
  readonly apiVersion: string;
  readonly key: { namespace: string; name: string };
  /** Empty for cluster-scoped kinds. */
  readonly namespace: string;
  readonly name: string;
  /** Names the object. */
  readonly ref: Required<ObjectRef>;
  /**
   * The object's uid, kept when it is gone. What is made for the object is marked with it and found by it: a name may come back for
   * another object, a uid never does. Empty only at the admission of a create.
   */
  readonly uid: string;
  /**
   * The object as it was when the reconcile began; when it is gone, its last known state. A TerminalError when nothing is known of it. A
   * plugin that changes the object itself reads it with `cluster.getObject(cx.ref)`.
   */
  readonly object: T;
  /** When the object is gone: its last known state. */
  readonly lastSeen: T | null;
  /** The object is being deleted or is gone: nothing of it should exist. */
  readonly deleting: boolean;
  /** It no longer exists in the cluster. */
  readonly gone: boolean;
  readonly trigger: Trigger;
  /** The number of this attempt; 1 is the first since the last success. */
  readonly attempt: number;
  /** An id that the log lines, events and requests of one reconcile share. */
  readonly correlationId: string;
  /** Nothing may change: requests other than GET, HEAD and granted safe ones are refused. */
  readonly dryRun: boolean;
  /** Admission: the AdmissionRequest as the API server sent it, plus `pending` initializers. Null in a reconcile. */
  readonly review: Record<string, any> | null;
  /** An entry for `metadata.ownerReferences` that makes this object the controller of another: it goes when this one goes. */
  ownerReference(): Required<OwnerReference>;
}

/** The world as it is, and what to say about it. */
export interface Observation<S> {
  /** Compared with desired as JSON. Null or absent: it does not exist. */
  state?: S | null;
  /** Fields of the object's status. Fields written before that are not among them are taken away. */
  status?: object | null;
  /** Look again although nothing changed, because something is still building. At most a day. */
  requeueAfterMs?: number | null;
}

/** Refuse the change when the object has another uid or resource version by now. */
export interface Precondition {
  uid?: string;
  resourceVersion?: string;
}

export interface ApplyOptions {
  /** Take fields over from other field managers. Without it a conflict is a warning event and a slow retry. */
  force?: boolean;
  /** `status` and the like. */
  subresource?: string;
  precondition?: Precondition;
}

export interface PatchOptions {
  subresource?: string;
  precondition?: Precondition;
}

export interface DeleteOptions {
  /** `background` unless set. */
  propagation?: "background" | "foreground" | "orphan";
  precondition?: Precondition;
}

/** One operation of a JSON patch (RFC 6902). */
export interface JsonPatchOperation {
  op: "add" | "remove" | "replace" | "move" | "copy" | "test";
  path: string;
  from?: string;
  value?: unknown;
}

export type PatchType = "merge" | "json" | "strategic";

/** What the host is to do: carried out in order; the first failure ends the list. */
export type Change =
  | ({ apply: Document } & ApplyOptions)
  | { create: Document }
  | ({ patch: { target?: ObjectRef; type?: PatchType; patch: object | JsonPatchOperation[] } } & PatchOptions)
  | ({ delete: ObjectRef } & DeleteOptions);

/** A Kubernetes Event on the object. Equal ones are counted, not repeated. */
export interface Event {
  severity: "normal" | "warning";
  /** UpperCamelCase. */
  reason: string;
  message: string;
}

/** What `patch` answers, as plain data. */
export interface OutcomeFields {
  changes?: Change[];
  /** Written after the changes were carried out. */
  events?: Event[];
  /** Admission only: warnings for the user who sent the request. */
  warnings?: string[];
  requeueAfterMs?: number | null;
}

/** The same, built up: changes in order, then events, and when to look again. */
export class Outcome implements OutcomeFields {
  changes: Change[];
  events: Event[];
  warnings: string[];
  requeueAfterMs: number | undefined;
  /** Server-side apply: the whole of what this plugin wants of the object. What it wanted before and left out now is removed. */
  apply(object: Document, options?: ApplyOptions): this;
  /** Creates an object; that it exists already is a failure. */
  create(object: Document): this;
  /** Patches an existing object; without a target, in admission, the object under review. */
  patch(target: ObjectRef | null | undefined, type: "json", patch: JsonPatchOperation[], options?: PatchOptions): this;
  patch(target: ObjectRef | null | undefined, type: "merge" | "strategic", patch: object, options?: PatchOptions): this;
  /** Deletes an object; that it is gone already counts as done. */
  delete(ref: ObjectRef, options?: DeleteOptions): this;
  /** A Normal event: `reason` is UpperCamelCase. */
  normal(reason: string, message: string): this;
  /** A Warning event. */
  warning(reason: string, message: string): this;
  /** Admission only: a warning for the user who sent the request. */
  warnUser(message: string): this;
  /** Look again although nothing changed. At most a day. */
  requeueAfter(ms: number): this;
}

type Maybe<T> = T | null | undefined | void;
type MaybePromise<T> = T | Promise<T>;

/** What a plugin is: a manifest and three questions about one object at a time. */
export interface Reconciler<T extends KubernetesObject = AnyObject, S = Json> {
  manifest: Manifest;
  /** The state the object asks for. Null: nothing should exist. The host does not call it when the object is being deleted or is gone. */
  desired(cx: Context<T>): MaybePromise<Maybe<S>>;
  /** The state the world is in, and what to write into status. Asked again after a patch. */
  actual(cx: Context<T>): MaybePromise<Maybe<Observation<S>>>;
  /**
   * Moves actual to desired: changes in Kubernetes are returned and carried out by the host, effects elsewhere happen here. A crash may
   * come after each of them: look for what is there before making something new.
   */
  patch(cx: Context<T>, desired: S | null, actual: S | null): MaybePromise<Maybe<OutcomeFields>>;
  /**
   * Only of a plugin whose manifest has `conversions`: `object` in the API version `desired`, for example `example.com/v2`. Its apiVersion
   * is another version of the same definition. Kind, name, namespace and uid stay. The result depends on the arguments alone: only the log
   * works in this call. Nothing may be lost on the way to another version and back: `keep` what a version lacks, and `restore` it.
   * A ConversionError is for the user whose request fails: it says which field cannot be converted.
   */
  convert?(object: AnyObject, desired: string): MaybePromise<AnyObject>;
}

/** Keeps a value that the object's new version lacks in an annotation, as JSON. Null or undefined removes the annotation. */
export function keep(object: AnyObject, annotation: string, value: unknown): void;

/** Takes a value that `keep` kept out of its annotation; null if there is none. A ConversionError when it is not JSON. */
export function restore(object: AnyObject, annotation: string): any;

/** Checks that a plugin has a manifest, answers the three questions, and converts what the manifest names; returns it as it is. */
export function defineReconciler<T extends KubernetesObject = AnyObject, S = Json>(reconciler: Reconciler<T, S>): Reconciler<T, S>;

/** A kind, by apiVersion or by group and version. */
export type KindFields = { kind: string } & ({ apiVersion: string } | { group?: string; version: string });

export type Primary = KindFields & {
  /** Only objects in these namespaces. Empty: all. */
  namespaces?: string[];
  /** In `kubectl -l` notation. */
  labelSelector?: string;
  /** In `--field-selector` notation. */
  fieldSelector?: string;
  /** `false`: the host does not manage the status of this kind, such as a built-in one. Without it, the manifest's field decides. */
  manageStatus?: boolean;
};

/** From a watched object to the keys it wakes. Those without parameters can be written as their type alone. */
export type Mapping =
  | "ownerReference"
  | "sameName"
  | "all"
  | "cacheOnly"
  | { type: "ownerReference" | "sameName" | "all" | "cacheOnly" }
  | { type: "label" | "annotation"; key: string }
  | { type: "referencedBy"; pointer: string };

export type Watch = KindFields & {
  /**
   * Unset, a change wakes the keys whose last reconcile read the object, whether or not it existed, or a list that contained or now contains
   * it. Set it only for a reason: for example when a change concerns keys that do not read the object.
   */
  mapTo?: Mapping;
  names?: string[];
  namespaces?: string[];
  labelSelector?: string;
  /** Which primary those keys are of. The first unless set. Only with `mapTo`. */
  primary?: KindFields;
};

/** An index of a kind, for `cluster.listIndexed`. The kind is a primary or a watch. */
export type Index = KindFields & {
  /** 1 to 63 characters (a-z, 0-9, -). Each index of a kind has another name. */
  name: string;
} & (
    | {
        /** Field names, `['name']`, `[0]` and `[*]`: `.spec.volumes[*].configMap.name`. Values are strings, integers, booleans, or lists of them. */
        jsonPath: string;
        label?: undefined;
      }
    | {
        /** The key of the label whose value is the value in the index. */
        label: string;
        jsonPath?: undefined;
      }
  );

/** Kubernetes permissions in the shape of an RBAC rule. */
export interface PolicyRule {
  /** `""` is the core group. */
  apiGroups: string[];
  /** In the plural: `networks`, `networks/status`. */
  resources: string[];
  /** An apply needs `patch`, and `create` if the object may be new. */
  verbs: (
    | "get" | "list" | "watch" | "create" | "update" | "patch" | "delete"
    | "bind" | "escalate" | "impersonate" | "approve" | "attest" | "sign" | "use"
  )[];
  resourceNames?: string[];
  namespaces?: string[];
}

export interface HttpAccess {
  /** Scheme, host and port, without a path. */
  origins?: string[];
  /** Keys of the configuration whose values are URLs: their origins are asked for as well. */
  originsFromConfig?: string[];
  /** Requests that change nothing although their method is not GET or HEAD: they may go out in a dry run. */
  safeRequests?: { method: string; path: string }[];
}

/** What a plugin answers at admission, in the shape of the webhook API. */
export interface AdmissionRule {
  operations: ("CREATE" | "UPDATE" | "DELETE" | "CONNECT")[];
  apiGroups: string[];
  apiVersions: string[];
  resources: string[];
  scope?: "Cluster" | "Namespaced" | "*";
  /** Refuse what differs, instead of changing it. */
  validate?: boolean;
  failurePolicy?: "Fail" | "Ignore";
  matchPolicy?: "Exact" | "Equivalent";
  reinvocationPolicy?: "Never" | "IfNeeded";
  sideEffects?: "None" | "NoneOnDryRun";
  timeoutSeconds?: number;
  namespaceSelector?: object;
  objectSelector?: object;
  matchConditions?: { name: string; expression: string }[];
  [field: string]: unknown;
}

/** What a plugin is and asks for. Its schema is manifest.schema.json. */
export interface ManifestFields {
  /** A DNS label of at most 40 characters, the same from version to version: it names the field manager and the finalizer. */
  name: string;
  /** For people. */
  version: string;
  description?: string;
  primaries?: Primary[];
  watches?: Watch[];
  /** The indexes by which `cluster.listIndexed` lists. */
  indexes?: Index[];
  admission?: AdmissionRule[];
  /** The definitions between whose versions `convert` converts, each by its name: `networks.example.com`. */
  conversions?: string[];
  permissions?: PolicyRule[];
  http?: HttpAccess;
  /** Objects go only when `actual` says nothing exists any more: the host keeps a finalizer on them. */
  cleanup?: boolean;
  /** The host keeps `status.observedGeneration` and the `Ready` condition. Of two plugins for one kind only one may. */
  manageStatus?: boolean;
  /** JSON Schema of the configuration. Keys that are not declared are refused unless `additionalProperties` says otherwise. */
  config?: { properties: Record<string, object>; required?: string[]; [keyword: string]: unknown };
  /** How many keys are reconciled at the same time, 1 to 8. 2 unless set; a grant may say more. */
  workers?: number;
  /** Every key is reconciled again after this long although nothing changed. 30 unless set. */
  resyncSeconds?: number;
}

export interface Manifest {
  readonly apiVersion: "oarlock.dev/v1alpha1";
  readonly kind: "PluginManifest";
  readonly name: string;
  readonly version: string;
  readonly primaries: object[];
  readonly watches: object[];
  readonly [field: string]: unknown;
}

/** Builds the manifest. A field that does not exist, a name that is none and the like are TypeErrors, when the plugin is built. */
export function defineManifest(fields: ManifestFields): Manifest;

/** Whether two JSON values are the same, as the host compares states: the order of keys does not count. */
export function sameJson(a: unknown, b: unknown): boolean;

/** An error the host understands. Everything else that is thrown is a fault of the plugin: logged, tried again, and counted. */
export class OarlockError extends Error {}

/** Why there was no answer to a request. After the first two the request may have had its effect. */
export type Failure = "timed-out" | "unreachable" | "too-large" | "denied" | "invalid";

/** The world outside is at fault for now: the host tries again, after `delayMs` or with the key's own backoff. */
export class TransientError extends OarlockError {
  constructor(message: string, options?: { delayMs?: number; cause?: unknown });
  readonly delayMs: number | undefined;
  readonly failure: Failure | undefined;
}

/** The object is at fault: only a change of it, the next resync or a swap tries again. */
export class TerminalError extends OarlockError {
  constructor(message: string, options?: { cause?: unknown });
  readonly failure: Failure | undefined;
}

/** Admission only: refuse the request, and tell its user why. 403 Forbidden unless set. */
export class DeniedError extends OarlockError {
  constructor(message: string, options?: { code?: number; reason?: string; cause?: unknown });
  readonly code: number;
  readonly reason: string;
}

/** Conversion only: the object cannot be converted, and the request of its user fails with this message. */
export class ConversionError extends OarlockError {
  constructor(message: string, options?: { cause?: unknown });
}

export class Headers implements Iterable<[string, string]> {
  constructor(init?: Record<string, string> | Iterable<[string, string]>);
  append(name: string, value: string): void;
  set(name: string, value: string): void;
  get(name: string): string | null;
  has(name: string): boolean;
  delete(name: string): void;
  forEach(callback: (value: string, name: string, headers: Headers) => void): void;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  entries(): IterableIterator<[string, string]>;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}

/** An answer, whatever its status. */
export class Response {
  constructor(body?: Uint8Array | null, init?: { status?: number; headers?: Record<string, string> | Headers; url?: string });
  readonly status: number;
  /** 200 to 299. */
  readonly ok: boolean;
  readonly url: string;
  readonly headers: Headers;
  text(): Promise<string>;
  /** What is no JSON is a TransientError: half an answer, or a proxy's page. */
  json<T = any>(): Promise<T>;
  bytes(): Promise<Uint8Array>;
  arrayBuffer(): Promise<ArrayBuffer>;
  /**
   * Itself when it is ok. Else a TransientError for 408, 425, 429 (with its Retry-After) and 5xx, a TerminalError for the rest.
   */
  ensureOk(): this;
}

export interface FetchInit {
  /** GET unless set. */
  method?: string;
  headers?: Record<string, string> | Iterable<[string, string]> | Headers;
  body?: string | Uint8Array | ArrayBuffer | null;
  /** A value that becomes the body, with its content-type. */
  json?: unknown;
  /** For the whole exchange; never more than what is left of the reconcile's deadline. */
  timeoutMs?: number;
}

/**
 * Sends a request to a granted origin. Redirects are not followed. No answer at all is a TransientError or, where trying again cannot
 * help, a TerminalError; its `failure` says which.
 */
export function fetch(url: string | { toString(): string }, init?: FetchInit): Promise<Response>;

/** Reads of the cluster through the host's caches. Kinds and namespaces outside the grant are a TerminalError, not an empty answer. */
export namespace cluster {
  interface ListOptions {
    /** Empty: all namespaces. */
    namespace?: string;
    /** In `kubectl -l` notation. */
    labelSelector?: string;
    /** Only objects with an owner reference to this uid. */
    ownerUid?: string;
    /** At most this many, in order of namespace and name. 0: all. */
    limit?: number;
  }
  /** One object from the cache. Its kind must be a primary or a watch. */
  function getObject<T extends KubernetesObject = AnyObject>(ref: ObjectRef): T | null;
  /** Objects from the cache, in order of namespace and name. The kind must be a primary or a watch. */
  function listObjects<T extends KubernetesObject = AnyObject>(kind: KindRef, options?: ListOptions): T[];
  /**
   * The same, only objects with `value` in an index of the manifest (`indexes`). The time depends on the number of these objects alone. A
   * TerminalError when the manifest declares no such index of the kind.
   */
  function listIndexed<T extends KubernetesObject = AnyObject>(kind: KindRef, index: string, value: string, options?: ListOptions): T[];
  /**
   * The counterpart of an apply: what this plugin owns of the object, as it was applied while nothing of that changed. Null: the object
   * does not exist, or this plugin owns nothing of it.
   */
  function getApplied<T extends KubernetesObject = AnyObject>(ref: ObjectRef): T | null;
  /** Past the cache, from the API server. Costs a request. */
  function getLive<T extends KubernetesObject = AnyObject>(ref: ObjectRef): T | null;
}

/** Strategic merge patch as client-go has it, carried out by the host. */
export namespace merge {
  /** The patch that makes `modified` of `original`. */
  function createTwoWay(kind: KindRef, original: object, modified: object): object;
  /** The patch that brings `current` what changed from `original` to `modified`, and leaves alone what others wrote. */
  function createThreeWay(kind: KindRef, original: object, modified: object, current: object): object;
  /** `original` with `patch` applied. */
  function applyPatch<T extends object>(kind: KindRef, original: T, patch: object): T;
}

/** Small values the host keeps for this plugin between reconciles: in memory, bounded, lost on restart. A hint, never the only place. */
export namespace cache {
  /** Undefined: never set, expired, or dropped for room. */
  function get<T = unknown>(key: string): T | undefined;
  /** Keeps a JSON value for `ttlMs`, or without it as long as there is room. */
  function set(key: string, value: unknown, options?: { ttlMs?: number }): void;
  function remove(key: string): void;
}

/** The plugin's configuration: values of its grant, and of secrets it was granted, as text. */
export namespace config {
  /** Undefined: not set, or set to nothing. */
  function get(key: string): string | undefined;
  /** A TerminalError that names the key when it is not set. */
  function require(key: string): string;
  /** Every key that is set, in order. */
  function keys(): string[];
}

/** Lines in the host's log with fields by name. `console` writes there as well. */
export namespace log {
  type Fields = Record<string, unknown>;
  function debug(message: string, fields?: Fields): void;
  function info(message: string, fields?: Fields): void;
  function warn(message: string, fields?: Fields): void;
  function error(message: string, fields?: Fields): void;
}
