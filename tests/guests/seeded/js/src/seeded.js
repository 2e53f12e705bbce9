// A controller with one seeded bug for each mode of its configuration: what `oarlock check` must find. The Rust guest beside it has the
// table of all modes.
//
// A Site has a ConfigMap NAME-config with its title, its color and its phase. While it has a color it also has NAME-volume, whose content
// is "formatted", or "lost" if the Site had a volume before that is gone. One Site is the leader, named in the ConfigMap `leader`.

import { Outcome, cluster, config, defineManifest, defineReconciler, sameJson } from "oarlock-guest";

const SITE = { apiVersion: "check.oarlock.test/v1", kind: "Site" };
const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const VERBS = ["get", "list", "watch", "create", "patch", "delete"];
const MOST_REPLICAS = 4;

const buggy = (mode) => config.get("mode") === mode;

export default defineReconciler({
  manifest: defineManifest({
    name: "seeded-js",
    version: "1",
    description: "Has the bug that its configuration names",
    primaries: [SITE],
    // Others' Sites are read to choose a leader.
    watches: [CONFIG_MAP, SITE],
    permissions: [{ apiGroups: [""], resources: ["configmaps"], verbs: VERBS }],
    config: { properties: { mode: { type: "string" } } },
    cleanup: true,
    manageStatus: true,
    resyncSeconds: 3600,
  }),

  desired(cx) {
    const { title, color, replicas } = cx.object.spec;
    const state = { [`${cx.name}-config`]: { title, ...(color && { color }), phase: replicas === MOST_REPLICAS ? "full" : "open" } };
    const config = present(cx, `${cx.name}-config`);
    if (buggy("no-way-back") && config?.phase === "full") state[`${cx.name}-config`] = config;
    if (color) {
      const volume = live(cx, `${cx.name}-volume`);
      state[`${cx.name}-volume`] = volume ?? { content: cx.object.status?.volume === "formatted" ? "lost" : "formatted" };
    }
    if (leaderOf(cx) === cx.name) state.leader = { site: cx.name };
    return state;
  },

  actual(cx) {
    const state = {};
    const volume = live(cx, `${cx.name}-volume`);
    if (volume) state[`${cx.name}-volume`] = volume;
    const config = present(cx, `${cx.name}-config`);
    if (config) state[`${cx.name}-config`] = config;
    const leader = present(cx, "leader");
    if (leader && (leader.site === cx.name || leaderOf(cx) === cx.name)) state.leader = leader;
    if (cx.deleting) return { state: Object.keys(state).length > 0 ? state : null };
    // That a volume goes is known before it goes: a crash in between loses nothing.
    const kept = volume && cx.object.spec.color;
    return { state, status: { title: cx.object.spec.title, ...(kept && { volume: "formatted" }) } };
  },

  patch(cx, desired, actual) {
    const outcome = new Outcome();
    for (const [name, data] of Object.entries(desired ?? {})) {
      if (!sameJson(data, actual?.[name])) outcome.apply(document(cx, name, data));
    }
    for (const name of Object.keys(actual ?? {})) {
      if (desired?.[name]) continue;
      const told = cx.deleting || cx.object.status?.volume === undefined;
      if (name.endsWith("-volume") && !(told && current(cx))) outcome.requeueAfter(5_000);
      else outcome.delete({ ...CONFIG_MAP, namespace: cx.namespace, name });
    }
    return outcome;
  },
});

/** The first Site by name. With the bug, the first one that came. */
function leaderOf(cx) {
  const sites = cluster.listObjects(SITE, { namespace: cx.namespace }).filter(({ metadata }) => !metadata.deletionTimestamp);
  const names = sites.map(({ metadata }) => metadata.name);
  const leader = present(cx, "leader")?.site;
  return buggy("first-come") && names.includes(leader) ? leader : names[0];
}

/** Whether the cache shows the Site as it is. With the bug nobody asks. */
function current(cx) {
  if (buggy("stale-view")) return true;
  const { uid, generation, deletionTimestamp } = cx.object.metadata;
  const now = cluster.getLive(cx.ref)?.metadata;
  return !now || (now.uid === uid && now.generation === generation && now.deletionTimestamp === deletionTimestamp);
}

/** The data of a ConfigMap, from the cache. */
function present(cx, name) {
  return cluster.getApplied({ ...CONFIG_MAP, namespace: cx.namespace, name })?.data;
}

/** The data of a ConfigMap, from the API server. */
function live(cx, name) {
  return cluster.getLive({ ...CONFIG_MAP, namespace: cx.namespace, name })?.data;
}

function document(cx, name, data) {
  return { ...CONFIG_MAP, metadata: { name, namespace: cx.namespace, ownerReferences: [cx.ownerReference()] }, data };
}
