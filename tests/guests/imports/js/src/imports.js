// A guest that uses the imports, and waits for what they answer. It keeps a network in Neutron whose description names the ServiceAccounts of
// a namespace. For tests of the SDK inside a component.

import { Outcome, cache, cluster, config, defineManifest, defineReconciler, merge } from "oarlock-guest";

const POD = { apiVersion: "v1", kind: "Pod" };
const ANNOTATION = "example.com/containers";

export default defineReconciler({
  manifest: defineManifest({
    name: "imports-js",
    version: "0.1.0",
    primaries: [{ apiVersion: "v1", kind: "ConfigMap" }],
    watches: [{ apiVersion: "v1", kind: "ServiceAccount", mapTo: "all" }],
    permissions: [
      { apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "patch"] },
      { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["get", "list", "watch"] },
    ],
    http: { originsFromConfig: ["url"] },
    config: { properties: { url: { type: "string" } }, required: ["url"] },
  }),

  async desired(cx) {
    if (cx.object.data?.network !== "wanted") return null;
    const accounts = cluster.listObjects({ apiVersion: "v1", kind: "ServiceAccount" }, { namespace: cx.namespace, labelSelector: "part=true" });
    return { id: await networkOf(cx), description: accounts.map((account) => account.metadata.name).join(",") };
  },

  async actual(cx) {
    const id = cache.get(cx.uid);
    if (!id) return null;
    const { description } = await json(fetch(networks(`/${id}`)));
    return { state: { id, description } };
  },

  async patch(cx, desired) {
    // All is sent although the first of them is not waited for alone.
    const body = { network: { description: desired.description } };
    const [written, listed] = await Promise.all([
      fetch(networks(`/${desired.id}`), { method: "PUT", json: body, timeoutMs: 5000 }),
      fetch(networks("?fields=id"), { headers: { accept: "application/json" } }),
    ]);
    written.ensureOk();
    const containers = merged().spec.containers.map(({ name, image }) => `${name}=${image}`);
    const kept = await remembered();
    return new Outcome()
      .patch(cx.ref, "merge", { metadata: { annotations: { [ANNOTATION]: containers.join(",") } } })
      .normal("Written", `status ${listed.status}, ${listed.headers.get("content-type")}, cache ${kept}`);
  },
});

/** The network of the object: the one that is known, or a new one. */
async function networkOf(cx) {
  const known = cache.get(cx.uid);
  if (known) return known;
  const { id } = await json(fetch(networks(""), { method: "POST", json: { network: { name: `imports-${cx.uid}` } } }));
  cache.set(cx.uid, id, { ttlMs: 60_000 });
  return id;
}

/** What is waited for twice, and thrown out of an async function out of another. */
async function json(answer) {
  const { network } = await (await answer).ensureOk().json();
  return network;
}

function networks(path) {
  return `${config.require("url")}/networks${path}`;
}

/** A Pod that somebody else put a container into, with what changed from one version of ours to the next. */
function merged() {
  const pod = (...containers) => ({ ...POD, metadata: { name: "a" }, spec: { containers } });
  const one = { name: "one", image: "one:1" };
  const [before, after] = [pod(one), pod({ ...one, image: "one:2" }, { name: "two", image: "two:1" })];
  const two = merge.applyPatch(POD, before, merge.createTwoWay(POD, before, after));
  const current = pod({ name: "theirs", image: "theirs:1" }, one);
  return merge.applyPatch(POD, current, merge.createThreeWay(POD, before, two, current));
}

async function remembered() {
  cache.set("text", { of: "ümlaut" });
  const before = cache.get("text").of;
  await null;
  cache.remove("text");
  return `${before} ${cache.get("text")}`;
}
