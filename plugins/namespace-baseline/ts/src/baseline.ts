// Gives every Namespace that asks for it, by a label, a ResourceQuota and a NetworkPolicy that denies what is not allowed.

import {
  Outcome, TerminalError, cluster, config, defineManifest, defineReconciler, sameJson,
  type Context, type KubernetesObject, type ObjectRef, type PolicyRule,
} from "oarlock-guest";

interface ResourceQuota extends KubernetesObject {
  spec: { hard: Record<string, string> };
}

interface NetworkPolicy extends KubernetesObject {
  spec: { podSelector: object; policyTypes: ("Ingress" | "Egress")[] };
}

/** What is compared: the documents as they are applied. */
interface Baseline {
  quota?: ResourceQuota;
  networkPolicy?: NetworkPolicy;
}

type Part = keyof Baseline;

const ANNOTATION = "baseline.oarlock.dev/quota";
const DEFAULTS = {
  label: "oarlock.dev/baseline",
  quota: '{"pods":"50","requests.cpu":"10","requests.memory":"20Gi"}',
  denyEgress: "false",
};
const VERBS: PolicyRule["verbs"] = ["get", "list", "watch", "create", "patch", "delete"];

const KINDS: Record<Part, { apiVersion: string; kind: string; name: string }> = {
  quota: { apiVersion: "v1", kind: "ResourceQuota", name: "baseline" },
  networkPolicy: { apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", name: "default-deny" },
};
/** In the order they are written. */
const PARTS: Part[] = ["quota", "networkPolicy"];

const setting = (key: keyof typeof DEFAULTS): string => config.get(key) ?? DEFAULTS[key];
const refOf = (cx: Context<KubernetesObject>, part: Part): ObjectRef => ({ ...KINDS[part], namespace: cx.name });

export default defineReconciler<KubernetesObject, Baseline>({
  manifest: defineManifest({
    name: "namespace-baseline",
    version: "0.1.0-ts",
    description: "Gives labelled Namespaces a quota and a network policy that denies by default",
    primaries: [{ apiVersion: "v1", kind: "Namespace" }],
    watches: PARTS.map((part) => {
      const { name, ...kind } = KINDS[part];
      return { ...kind, names: [name], mapTo: "ownerReference" };
    }),
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
    const own = annotations[ANNOTATION];
    const hard = own === undefined ? quantities(setting("quota"), "config quota") : quantities(own, `annotation ${ANNOTATION}`);
    return {
      quota: { ...named(cx, "quota"), spec: { hard } },
      networkPolicy: {
        ...named(cx, "networkPolicy"),
        spec: { podSelector: {}, policyTypes: setting("denyEgress") === "true" ? ["Ingress", "Egress"] : ["Ingress"] },
      },
    };
  },

  actual(cx) {
    // With its Namespace everything in it goes.
    if (cx.deleting) return null;
    const quota = cluster.getApplied<ResourceQuota>(refOf(cx, "quota"));
    const networkPolicy = cluster.getApplied<NetworkPolicy>(refOf(cx, "networkPolicy"));
    if (!quota && !networkPolicy) return null;
    return { state: { ...(quota && { quota }), ...(networkPolicy && { networkPolicy }) } };
  },

  patch(cx, desired, actual) {
    const outcome = new Outcome();
    for (const part of PARTS) {
      const wanted = desired?.[part];
      if (wanted && !sameJson(wanted, actual?.[part])) outcome.apply(wanted);
    }
    if (outcome.changes.length > 0) outcome.normal("BaselineWritten", "quota baseline and network policy default-deny written");
    for (const part of PARTS) {
      if (actual?.[part] && !desired?.[part]) outcome.delete(refOf(cx, part));
    }
    if (!desired) outcome.normal("BaselineRemoved", "quota baseline and network policy default-deny removed");
    return outcome;
  },
});

function named(cx: Context<KubernetesObject>, part: Part): KubernetesObject {
  const { apiVersion, kind, name } = KINDS[part];
  return { apiVersion, kind, metadata: { name, namespace: cx.name, ownerReferences: [cx.ownerReference()] } };
}

/** A JSON object whose values are strings. */
function quantities(text: string, what: string): Record<string, string> {
  const problem = `${what} is not a JSON object of strings`;
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (cause) {
    throw new TerminalError(problem, { cause });
  }
  const fits = typeof found === "object" && found !== null && !Array.isArray(found);
  if (!fits || !Object.values(found as object).every((value) => typeof value === "string")) throw new TerminalError(problem);
  return found as Record<string, string>;
}
