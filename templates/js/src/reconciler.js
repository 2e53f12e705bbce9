// Keeps a greeting on every {{kind}}, as an annotation. Replace it by what you want of yours.

import { Outcome, cluster, config, defineManifest, defineReconciler } from "oarlock-guest";

const ANNOTATION = "example.com/greeting";

{{#types}}
// The types are in src/api.d.ts, made of crd.yaml: make types
/** @type {import("oarlock-guest").Reconciler<import("./api.js").{{kind}}, { greeting: string }>} */
const reconciler = {
{{/types}}
{{^types}}
export default defineReconciler({
{{/types}}
  manifest: defineManifest({
    name: "{{name}}",
    version: "0.1.0",
    description: "Greets every {{kind}}",
    primaries: [{ apiVersion: "{{api_version}}", kind: "{{kind}}" }],
    // No mapping is needed: the host wakes the objects that read the ConfigMap.
    watches: [{ apiVersion: "v1", kind: "ConfigMap", names: ["greeting"] }],
    permissions: [{ apiGroups: ["{{group}}"], resources: ["{{plural}}"], verbs: ["patch"] }],
    config: { properties: { greeting: { type: "string", description: "The word to greet with", default: "Hello" } } },
  }),

  // What should be. Not asked for an object that is going.
  desired(cx) {
    const settings = cluster.getObject({ apiVersion: "v1", kind: "ConfigMap", namespace: cx.namespace, name: "greeting" });
    const word = settings?.data?.greeting ?? config.get("greeting") ?? "Hello";
    return { greeting: `${word}, ${cx.name}` };
  },

  // What is. Asked again after the patch, so the object is read and not taken from cx, which stays the same.
  actual(cx) {
    if (cx.deleting) return null;
    const greeting = cluster.getObject(cx.ref)?.metadata.annotations?.[ANNOTATION];
    return { state: greeting === undefined ? null : { greeting } };
  },

  // What makes the one the other. Only asked when they differ; the host carries it out.
  patch(cx, desired) {
    return new Outcome().patch(cx.ref, "merge", { metadata: { annotations: { [ANNOTATION]: desired.greeting } } });
  },
{{#types}}
};

export default defineReconciler(reconciler);
{{/types}}
{{^types}}
});
{{/types}}
