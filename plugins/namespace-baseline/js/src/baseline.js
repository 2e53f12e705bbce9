// Gives every Namespace that asks for it, by a label, a ResourceQuota and a NetworkPolicy that denies what is not allowed.

import { Outcome, TerminalError, cluster, config, defineManifest, defineReconciler, sameJson } from "oarlock-guest";

const ANNOTATION = "baseline.oarlock.dev/quota";
const DEFAULTS = {
  label: "oarlock.dev/baseline",
  quota: '{"pods":"50","requests.cpu":"10","requests.memory":"20Gi"}',
  denyEgress: "false",
};
const VERBS = ["get", "list", "watch", "create", "patch", "delete"];

/** The parts of a state, in the order they are written. */
const PARTS = {
  quota: { apiVersion: "v1", kind: "ResourceQuota", name: "baseline" },
  networkPolicy: { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", name: "default-deny" },
};

const setting = (key) => config.get(key) ?? DEFAULTS[key];
const refOf = (cx, part) => ({ ...PARTS[part], namespace: cx.name });

export default defineReconciler({
  manifest: defineManifest({
    name: "namespace-baseline",
    version: "0.1.0-js",
    description: "Gives labelled Namespaces a quota and a network policy that denies by default",
    primaries: [{ apiVersion: "v1", kind: "Namespace" }],
    watches: Object.values(PARTS).map(({ name, ...kind }) => ({ ...kind, names: [name], mapTo: "ownerReference" })),
    permissions: [
      { apiGroups: [""], resources: ["resourcequotas"], verbs: VERBS },
      { apiGroups: ["networking.k8s.io"], resources: ["networkpolicies"], verbs: VERBS },
    ],
    config: {
      properties: {
        label: { type: "string", description: "Namespaces whose label of this name is true are on", default: DEFAULTS.label },
        quota: { type: "string", description: "What the quota allows: a JSON object of strings", default: DEFAULTS.quota },
        denyEgress: { type: "string", enum: ["true", "false"], description: "Deny what goes out, too", default: DEFAULTS.denyEgress },
      },
    },
    resyncSeconds: 300,
  }),

  desired(cx) {
    const { labels = {}, annotations = {} } = cx.object.metadata;
    if (labels[setting("label")] !== "true") return null;
    const hard =
      ANNOTATION in annotations
        ? quantities(annotations[ANNOTATION], `annotation ${ANNOTATION}`)
        : quantities(setting("quota"), "config quota");
    const policyTypes = setting("denyEgress") === "true" ? ["Ingress", "Egress"] : ["Ingress"];
    return {
      quota: document(cx, "quota", { hard }),
      networkPolicy: document(cx, "networkPolicy", { podSelector: {}, policyTypes }),
    };
  },

  actual(cx) {
    // With its Namespace everything in it goes.
    if (cx.deleting) return null;
    const state = {};
    for (const part of Object.keys(PARTS)) {
      const applied = cluster.getApplied(refOf(cx, part));
      if (applied) state[part] = applied;
    }
    return { state: Object.keys(state).length > 0 ? state : null };
  },

  patch(cx, desired, actual) {
    const outcome = new Outcome();
    for (const part of Object.keys(PARTS)) {
      if (desired?.[part] && !sameJson(desired[part], actual?.[part])) outcome.apply(desired[part]);
    }
    if (outcome.changes.length > 0) outcome.normal("BaselineWritten", "quota baseline and network policy default-deny written");
    for (const part of Object.keys(PARTS)) {
      if (actual?.[part] && !desired?.[part]) outcome.delete(refOf(cx, part));
    }
    if (!desired) outcome.normal("BaselineRemoved", "quota baseline and network policy default-deny removed");
    return outcome;
  },
});

function document(cx, part, spec) {
  const { apiVersion, kind, name } = PARTS[part];
  return { apiVersion, kind, metadata: { name, namespace: cx.name, ownerReferences: [cx.ownerReference()] }, spec };
}

/** A JSON object whose values are strings. */
function quantities(text, what) {
  const problem = `${what} is not a JSON object of strings`;
  let found;
  try {
    found = JSON.parse(text);
  } catch (cause) {
    throw new TerminalError(problem, { cause });
  }
  const fits = typeof found === "object" && found !== null && !Array.isArray(found);
  if (!fits || !Object.values(found).every((value) => typeof value === "string")) throw new TerminalError(problem);
  return found;
}
