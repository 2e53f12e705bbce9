// The object's data.uses names a Secret; the state is the ConfigMaps that use the same. For tests of declared indexes.

import { cluster, defineManifest, defineReconciler } from "oarlock-guest";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };

export default defineReconciler({
  manifest: defineManifest({
    name: "indexed",
    version: "1",
    primaries: [CONFIG_MAP],
    indexes: [{ ...CONFIG_MAP, name: "by-secret", jsonPath: ".data['uses']" }],
  }),

  desired(cx) {
    const users = cluster.listIndexed(CONFIG_MAP, cx.object.data.index ?? "by-secret", cx.object.data.uses, { namespace: cx.namespace });
    return users.map(({ metadata }) => metadata.name).join(" ");
  },

  actual() {},
  patch() {},
});
