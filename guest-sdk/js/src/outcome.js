// What `patch` answers. A plain object of the same fields will do as well.

/** Changes in order, then events, and when to look again. */
export class Outcome {
  changes = [];
  events = [];
  warnings = [];
  requeueAfterMs = undefined;

  /**
   * Server-side apply of `object` (with apiVersion, kind, metadata.name, and metadata.namespace for namespaced kinds): the whole of what
   * this plugin wants of it. Options: `force`, `subresource`, `precondition`.
   */
  apply(object, options = {}) {
    this.changes.push({ apply: object, ...options });
    return this;
  }

  /** Creates `object`; that it exists already is a failure. */
  create(object) {
    this.changes.push({ create: object });
    return this;
  }

  /**
   * Patches an existing object; in admission without a target: the object under review. `type` is merge, json or strategic. Options:
   * `subresource`, `precondition`.
   */
  patch(target, type, patch, options = {}) {
    this.changes.push({ patch: target ? { target, type, patch } : { type, patch }, ...options });
    return this;
  }

  /** Deletes an object; that it is gone already counts as done. Options: `propagation`, `precondition`. */
  delete(ref, options = {}) {
    this.changes.push({ delete: ref, ...options });
    return this;
  }

  /** A Normal event on the object: `reason` is UpperCamelCase. Written after the changes were carried out. */
  normal(reason, message) {
    this.events.push({ severity: "normal", reason, message });
    return this;
  }

  /** A Warning event on the object. */
  warning(reason, message) {
    this.events.push({ severity: "warning", reason, message });
    return this;
  }

  /** Admission only: a warning for the user who sent the request. */
  warnUser(message) {
    this.warnings.push(message);
    return this;
  }

  /** Look again although nothing changed. At most a day. */
  requeueAfter(ms) {
    this.requeueAfterMs = ms;
    return this;
  }
}
