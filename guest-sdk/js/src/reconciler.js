// What a plugin is made of.

const CALLS = ["desired", "actual", "patch"];

/** Checks that a plugin has a manifest and answers the three questions; returns it as it is. */
export function defineReconciler(reconciler) {
  if (reconciler?.manifest?.kind !== "PluginManifest") {
    throw new TypeError("a reconciler needs a manifest: { manifest: defineManifest({ … }), desired, actual, patch }");
  }
  for (const call of CALLS) {
    if (typeof reconciler[call] !== "function") throw new TypeError(`the reconciler has no function ${call}`);
  }
  return reconciler;
}
