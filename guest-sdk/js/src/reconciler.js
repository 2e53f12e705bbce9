// What a plugin is made of.

const CALLS = ["desired", "actual", "patch"];

/** Checks that a plugin has a manifest, answers the three questions, and converts what the manifest names; returns it as it is. */
export function defineReconciler(reconciler) {
  if (reconciler?.manifest?.kind !== "PluginManifest") {
    throw new TypeError("a reconciler needs a manifest: { manifest: defineManifest({ … }), desired, actual, patch }");
  }
  for (const call of CALLS) {
    if (typeof reconciler[call] !== "function") throw new TypeError(`the reconciler has no function ${call}`);
  }
  const { conversions = [] } = reconciler.manifest;
  if (conversions.length > 0 && typeof reconciler.convert !== "function") {
    throw new TypeError(`the manifest names the conversions ${conversions.join(", ")}, but the reconciler has no function convert`);
  }
  if (conversions.length === 0 && reconciler.convert !== undefined) {
    throw new TypeError('the reconciler has a function convert, but the manifest names no definition: conversions: ["things.example.com"]');
  }
  return reconciler;
}
