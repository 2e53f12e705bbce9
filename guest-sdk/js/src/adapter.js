// Between a reconciler and the contract: calls with documents as text, answers checked before they leave.

import { Context } from "./context.js";
import { milliseconds } from "./errors.js";
import { isMap } from "./json.js";
import { keyOf, kindOf } from "./refs.js";

const PATCH_TYPES = { json: "json-patch", merge: "merge-patch", strategic: "strategic-merge-patch" };
const PROPAGATIONS = ["background", "foreground", "orphan"];
const CHANGES = ["apply", "create", "patch", "delete"];

/** The functions of the contract: each returns its answer, or a promise of it. What they throw is an OarlockError, or a fault of the plugin. */
export function adapt(reconciler) {
  return {
    describe() {
      return json(reconciler.manifest, "the manifest");
    },

    getDesired(request) {
      const cx = new Context(request);
      // By definition: the host does not ask, and plugins need not think of it.
      if (cx.deleting) return null;
      return then(reconciler.desired(cx), (answer) => state(answer, "desired()"));
    },

    getActual(request) {
      return then(reconciler.actual(new Context(request)), observed);
    },

    patch(request, desired, actual) {
      return then(reconciler.patch(new Context(request), value(desired), value(actual)), outcome);
    },

    convert(object, desired) {
      return then(reconciler.convert(JSON.parse(object), desired), (converted) => {
        if (!isMap(converted)) throw new TypeError(`convert() answered ${name(converted)}, not an object`);
        return json(converted, "what convert() answered");
      });
    },
  };
}

/** What comes after an answer. Most plugins answer at once: a promise for each call would be half of what the call takes. */
function then(answer, next) {
  return typeof answer?.then === "function" ? Promise.resolve(answer).then(next) : next(answer);
}

function observed(answer) {
  const observation = answer ?? {};
  if (!isMap(observation)) throw new TypeError(`actual() answered ${name(observation)}, not { state, status, requeueAfterMs }`);
  only(observation, ["state", "status", "requeueAfterMs"], "what actual() answered");
  const { status, requeueAfterMs } = observation;
  if (status != null && !isMap(status)) throw new TypeError(`the status that actual() answered is not an object: ${name(status)}`);
  return {
    state: state(observation.state, "the state that actual() answered"),
    status: status == null ? null : json(status, "the status"),
    requeueAfterMs: requeueAfterMs == null ? null : milliseconds(requeueAfterMs, "requeueAfterMs"),
  };
}

function outcome(answer) {
  const given = answer ?? {};
  if (!isMap(given)) throw new TypeError(`patch() answered ${name(given)}, not an Outcome`);
  only(given, ["changes", "events", "warnings", "requeueAfterMs"], "what patch() answered");
  const { changes = [], events = [], warnings = [], requeueAfterMs } = given;
  return {
    changes: changes.map(change),
    events: events.map(event),
    warnings: warnings.map(String),
    requeueAfterMs: requeueAfterMs == null ? null : milliseconds(requeueAfterMs, "requeueAfterMs"),
  };
}

const value = (text) => (text == null ? null : JSON.parse(text));

function state(answer, what) {
  return answer == null ? null : json(answer, what);
}

function json(answer, what) {
  let text;
  try {
    text = JSON.stringify(answer);
  } catch (cause) {
    throw new TypeError(`${what} is no JSON: ${cause.message}`, { cause });
  }
  if (text === undefined) throw new TypeError(`${what} is no JSON: ${name(answer)}`);
  return text;
}

function change(given) {
  const kinds = CHANGES.filter((kind) => given?.[kind] !== undefined);
  if (kinds.length !== 1) throw new TypeError(`a change is one of ${CHANGES.join(", ")}: ${JSON.stringify(given)}`);
  const [kind] = kinds;
  const subject = given[kind];
  switch (kind) {
    case "apply":
      only(given, ["apply", "force", "subresource", "precondition"], "an apply");
      document(subject, "an apply");
      return {
        tag: "apply",
        val: {
          object: json(subject, "an apply"),
          subresource: given.subresource ?? "",
          force: given.force ?? false,
          precondition: precondition(given.precondition),
        },
      };
    case "create":
      only(given, ["create"], "a create");
      document(subject, "a create", true);
      return { tag: "create", val: json(subject, "a create") };
    case "patch": {
      only(given, ["patch", "subresource", "precondition"], "a patch");
      only(subject, ["target", "type", "patch"], "a patch");
      const patchType = PATCH_TYPES[subject.type ?? "merge"];
      if (!patchType) throw new TypeError(`a patch is of type json, merge or strategic: ${subject.type}`);
      if (!(subject.type === "json" ? Array.isArray(subject.patch) : isMap(subject.patch))) {
        throw new TypeError(`a patch of type ${subject.type ?? "merge"} is not ${name(subject.patch)}`);
      }
      return {
        tag: "patch",
        val: {
          target: subject.target == null ? null : target(subject.target, "the target of a patch"),
          patchType,
          patch: json(subject.patch, "a patch"),
          subresource: given.subresource ?? "",
          precondition: precondition(given.precondition),
        },
      };
    }
    default: {
      only(given, ["delete", "propagation", "precondition"], "a delete");
      const propagation = given.propagation ?? "background";
      if (!PROPAGATIONS.includes(propagation)) throw new TypeError(`propagation is one of ${PROPAGATIONS.join(", ")}: ${propagation}`);
      return {
        tag: "delete",
        val: { target: target(subject, "a delete"), propagation, precondition: precondition(given.precondition) },
      };
    }
  }
}

function document(object, what, generated = false) {
  kindOf(object, what);
  const metadata = object.metadata;
  if (typeof metadata?.name !== "string" && !(generated && typeof metadata?.generateName === "string")) {
    throw new TypeError(`${what} needs metadata.name: ${JSON.stringify(object)}`);
  }
}

function target(ref, what) {
  only(ref, ["apiVersion", "kind", "namespace", "name"], what);
  return { kind: kindOf(ref, what), key: keyOf(ref, what) };
}

function precondition({ uid, resourceVersion } = {}) {
  return { uid: uid ?? null, resourceVersion: resourceVersion ?? null };
}

function event({ severity, reason, message }) {
  if (severity !== "normal" && severity !== "warning") throw new TypeError(`an event is normal or warning: ${severity}`);
  if (typeof reason !== "string" || !/^[A-Z][A-Za-z0-9]*$/.test(reason)) {
    throw new TypeError(`the reason of an event is in UpperCamelCase: ${reason}`);
  }
  return { severity, reason, message: String(message) };
}

/** A misspelt field would be ignored without a word. */
function only(object, fields, what) {
  for (const field of Object.keys(object ?? {})) {
    if (!fields.includes(field)) throw new TypeError(`${what} has no field ${field}; it has ${fields.join(", ")}`);
  }
}

function name(given) {
  if (given === null) return "null";
  if (Array.isArray(given)) return "a list";
  return typeof given === "object" ? "an object" : `${typeof given} ${String(given)}`;
}
