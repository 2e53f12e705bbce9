// What a reconcile is about.

import { TerminalError } from "./errors.js";
import { apiVersionOf } from "./refs.js";

/** What a reconcile is about: the same for each of its calls. */
export class Context {
  #request;
  #parsed = {};

  constructor(request) {
    this.#request = request;
  }

  /** The object's kind, one of the manifest's primaries: `{ group, version, kind }`. */
  get kind() {
    return this.#request.kind;
  }

  /** apiVersion of the object's kind. */
  get apiVersion() {
    return apiVersionOf(this.#request.kind);
  }

  /** `{ namespace, name }`. */
  get key() {
    return this.#request.key;
  }

  /** Namespace; empty for cluster-scoped kinds. */
  get namespace() {
    return this.#request.key.namespace;
  }

  /** Name. */
  get name() {
    return this.#request.key.name;
  }

  /** Names the object: `{ apiVersion, kind, namespace, name }`. */
  get ref() {
    return { apiVersion: this.apiVersion, kind: this.kind.kind, namespace: this.namespace, name: this.name };
  }

  /**
   * The object's uid, kept when it is gone. What is made for the object is marked with it and found by it: a name may come back for
   * another object, a uid never does. Empty only at the admission of a create.
   */
  get uid() {
    return this.#request.uid;
  }

  /** The object; when it is gone, its last known state. A TerminalError when nothing is known of it. */
  get object() {
    const object = this.#json("object") ?? this.#json("lastSeen");
    if (object === null) throw new TerminalError("the object is gone and nothing is known of it");
    return object;
  }

  /** When the object is gone: its last known state, or null. */
  get lastSeen() {
    return this.#json("lastSeen");
  }

  /** The object is being deleted or is gone: nothing of it should exist. */
  get deleting() {
    return this.#request.deleting || this.gone;
  }

  /** It no longer exists in the cluster. */
  get gone() {
    return this.#request.object == null && this.#request.review == null;
  }

  /** The cause of this reconcile, for logs and metrics only. */
  get trigger() {
    return this.#request.trigger;
  }

  /** The number of this attempt; 1 is the first since the last success. */
  get attempt() {
    return this.#request.attempt;
  }

  /** An id that the log lines, events and requests of one reconcile share. */
  get correlationId() {
    return this.#request.correlationId;
  }

  /** Nothing may change: requests other than GET, HEAD and granted safe ones are refused. */
  get dryRun() {
    return this.#request.dryRun;
  }

  /** Admission: the AdmissionRequest as the API server sent it, plus `pending` initializers. Null in a reconcile. */
  get review() {
    return this.#json("review");
  }

  /** An entry for `metadata.ownerReferences` that makes this object the controller of another: it goes when this one goes. */
  ownerReference() {
    return {
      apiVersion: this.apiVersion,
      kind: this.kind.kind,
      name: this.name,
      uid: this.uid,
      controller: true,
    };
  }

  #json(field) {
    if (!(field in this.#parsed)) {
      const text = this.#request[field];
      this.#parsed[field] = text == null ? null : JSON.parse(text);
    }
    return this.#parsed[field];
  }
}
