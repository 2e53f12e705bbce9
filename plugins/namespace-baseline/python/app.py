"""Gives every Namespace that asks for it a ResourceQuota and a NetworkPolicy."""

import json

from oarlock import (
    Context,
    Manifest,
    Mapping,
    ObjectRef,
    Outcome,
    PolicyRule,
    TerminalError,
    Watch,
    cluster,
    config,
    kind,
    reconciler,
)

QUOTA = kind("v1", "ResourceQuota")
NETWORK_POLICY = kind("networking.k8s.io/v1", "NetworkPolicy")

#: What is kept in the Namespace: the keys of the states, in the order it is written.
PARTS = {"quota": (QUOTA, "baseline"), "networkPolicy": (NETWORK_POLICY, "default-deny")}

ANNOTATION = "baseline.oarlock.dev/quota"
DEFAULT_QUOTA = '{"pods":"50","requests.cpu":"10","requests.memory":"20Gi"}'
VERBS = ["get", "list", "watch", "create", "patch", "delete"]

MANIFEST = Manifest(
    "namespace-baseline",
    "0.1.0-python",
    description="Gives every Namespace that asks for it a ResourceQuota and a NetworkPolicy",
    primaries=[kind("v1", "Namespace")],
    watches=[
        Watch(QUOTA, Mapping.owner_reference(), names=["baseline"]),
        Watch(NETWORK_POLICY, Mapping.owner_reference(), names=["default-deny"]),
    ],
    permissions=[
        PolicyRule([""], ["resourcequotas"], VERBS),
        PolicyRule(["networking.k8s.io"], ["networkpolicies"], VERBS),
    ],
    config={
        "label": {"type": "string", "description": "Namespaces where this label is \"true\" get the baseline."},
        "quota": {"type": "string", "description": "The quota: JSON text of an object, strings to strings."},
        "denyEgress": {"type": "string", "enum": ["true", "false"], "description": "Whether Pods may not send either."},
    },
    resync_seconds=300,
)


@reconciler(MANIFEST)
class NamespaceBaseline:
    """The states are the documents as they are applied."""

    def desired(self, cx: Context[dict]) -> dict | None:
        if cx.labels.get(config.get("label", "oarlock.dev/baseline")) != "true":
            return None
        return {"quota": quota(cx), "networkPolicy": network_policy(cx)}

    def actual(self, cx: Context[dict]) -> dict | None:
        # With the Namespace everything in it goes.
        if cx.deleting:
            return None
        found = {part: cluster.get_applied(ObjectRef(of, namespace=cx.name, name=name)) for part, (of, name) in PARTS.items()}
        return {part: document for part, document in found.items() if document is not None} or None

    def patch(self, cx: Context[dict], desired: dict | None, actual: dict | None) -> Outcome:
        outcome = Outcome()
        wanted, found = desired or {}, actual or {}
        changed = [part for part in PARTS if part in wanted and wanted[part] != found.get(part)]
        for part in changed:
            outcome.apply(wanted[part])
        for part, (of, name) in PARTS.items():
            if part in found and part not in wanted:
                outcome.delete(ObjectRef(of, namespace=cx.name, name=name))
        if changed:
            outcome.event("BaselineWritten", "quota baseline and network policy default-deny written")
        if desired is None:
            outcome.event("BaselineRemoved", "quota baseline and network policy default-deny removed")
        return outcome


def quota(cx: Context[dict]) -> dict:
    return document(cx, "quota", {"hard": hard(cx)})


def network_policy(cx: Context[dict]) -> dict:
    egress = ["Egress"] if config.get("denyEgress") == "true" else []
    return document(cx, "networkPolicy", {"podSelector": {}, "policyTypes": ["Ingress", *egress]})


def document(cx: Context[dict], part: str, spec: dict) -> dict:
    of, name = PARTS[part]
    return {
        "apiVersion": of.api_version,
        "kind": of.kind,
        "metadata": {"name": name, "namespace": cx.name, "ownerReferences": [cx.owner_reference()]},
        "spec": spec,
    }


def hard(cx: Context[dict]) -> dict[str, str]:
    if ANNOTATION in cx.annotations:
        return strings(f"annotation {ANNOTATION}", cx.annotations[ANNOTATION])
    return strings("config quota", config.get("quota", DEFAULT_QUOTA))


def strings(where: str, text: str) -> dict[str, str]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise TerminalError(f"{where} is not a JSON object of strings")
    return value
