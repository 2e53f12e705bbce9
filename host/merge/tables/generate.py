#!/usr/bin/env python3
"""Writes builtin.types from the sources of the k8s-openapi crate.

    generate.py ~/.cargo/registry/src/*/k8s-openapi-*/src/v1_36 > builtin.types

What that crate does not carry is listed below: patch strategies (as in the `patchStrategy` and
`patchMergeKey` tags of the API types), atomic structs (`x-kubernetes-map-type: atomic`), some
list keys, and the struct fields that Go always writes because they are no pointers.
"""
import os
import re
import sys

GROUPS = {
    "core/v1": "", "apps/v1": "apps", "batch/v1": "batch", "coordination/v1": "coordination.k8s.io",
    "networking/v1": "networking.k8s.io", "rbac/v1": "rbac.authorization.k8s.io", "policy/v1": "policy",
    "admissionregistration/v1": "admissionregistration.k8s.io", "apiextensions/v1": "apiextensions.k8s.io",
    "events/v1": "events.k8s.io", "storage/v1": "storage.k8s.io", "autoscaling/v2": "autoscaling",
    "autoscaling/v1": "autoscaling", "scheduling/v1": "scheduling.k8s.io", "discovery/v1": "discovery.k8s.io",
    "node/v1": "node.k8s.io", "certificates/v1": "certificates.k8s.io",
}

MERGE = {
    "meta/v1.ObjectMeta": {"finalizers": "", "ownerReferences": "uid"},
    "core/v1.Container": {"env": "name", "ports": "containerPort", "volumeDevices": "devicePath", "volumeMounts": "mountPath"},
    "core/v1.ContainerStatus": {"volumeMounts": "mountPath", "allocatedResourcesStatus": "name"},
    "core/v1.NodeSpec": {"podCIDRs": ""},
    "core/v1.NodeStatus": {"addresses": "type", "conditions": "type"},
    "core/v1.PodSpec": {
        "containers": "name", "ephemeralContainers": "name", "hostAliases": "ip", "imagePullSecrets": "name",
        "initContainers": "name", "resourceClaims": "name", "schedulingGates": "name",
        "topologySpreadConstraints": "topologyKey", "volumes": "name",
    },
    "core/v1.PodStatus": {"conditions": "type", "hostIPs": "ip", "podIPs": "ip", "resourceClaimStatuses": "name"},
    "core/v1.ServiceSpec": {"ports": "port"},
    "core/v1.ServiceAccount": {"secrets": "name"},
    "admissionregistration/v1.MutatingWebhook": {"matchConditions": "name"},
    "admissionregistration/v1.ValidatingWebhook": {"matchConditions": "name"},
    "admissionregistration/v1.MutatingWebhookConfiguration": {"webhooks": "name"},
    "admissionregistration/v1.ValidatingWebhookConfiguration": {"webhooks": "name"},
    "admissionregistration/v1.ValidatingAdmissionPolicySpec": {"matchConditions": "name", "variables": "name"},
    "admissionregistration/v1.MutatingAdmissionPolicySpec": {"matchConditions": "name"},
    "apiextensions/v1.JSONSchemaProps": {"x-kubernetes-validations": "rule"},
    "storage/v1.CSINodeSpec": {"drivers": "name"},
}
MERGE["core/v1.EphemeralContainer"] = MERGE["core/v1.Container"]
for status in (
    "apps/v1.DaemonSetStatus", "apps/v1.DeploymentStatus", "apps/v1.ReplicaSetStatus", "apps/v1.StatefulSetStatus",
    "autoscaling/v2.HorizontalPodAutoscalerStatus", "batch/v1.JobStatus", "core/v1.NamespaceStatus",
    "core/v1.PersistentVolumeClaimStatus", "core/v1.ReplicationControllerStatus", "core/v1.ServiceStatus",
    "networking/v1.ServiceCIDRStatus", "policy/v1.PodDisruptionBudgetStatus",
):
    MERGE[status] = {"conditions": "type"}

RETAIN = {
    ("apps/v1.DeploymentSpec", "strategy"), ("core/v1.PodSpec", "volumes"), ("core/v1.PodSpec", "resourceClaims"),
    ("core/v1.PodStatus", "resourceClaimStatuses"),
}

ATOMIC = {
    "core/v1." + t for t in (
        "LocalObjectReference", "ObjectReference", "SecretReference", "ConfigMapKeySelector", "SecretKeySelector",
        "FileKeySelector", "ObjectFieldSelector", "ResourceFieldSelector", "TypedLocalObjectReference", "NodeSelector",
        "NodeSelectorTerm", "TopologySelectorTerm", "ScopeSelector", "ScopedResourceSelectorRequirement",
        "EndpointAddress", "EndpointPort",
    )
} | {
    "meta/v1.LabelSelector", "meta/v1.OwnerReference", "rbac/v1.RoleRef", "rbac/v1.Subject",
    "admissionregistration/v1.MatchResources", "admissionregistration/v1.NamedRuleWithOperations",
    "admissionregistration/v1.ParamKind", "admissionregistration/v1.ParamRef", "discovery/v1.EndpointPort",
    "autoscaling/v1.CrossVersionObjectReference",
}

PRESENT = {
    ("core/v1.PodSpec", "containers"), ("apps/v1.DeploymentSpec", "strategy"), ("apps/v1.DeploymentSpec", "template"),
    ("apps/v1.DaemonSetSpec", "updateStrategy"), ("apps/v1.DaemonSetSpec", "template"),
    ("apps/v1.StatefulSetSpec", "updateStrategy"), ("apps/v1.StatefulSetSpec", "template"),
    ("apps/v1.ReplicaSetSpec", "template"), ("batch/v1.JobSpec", "template"), ("batch/v1.CronJobSpec", "jobTemplate"),
    ("core/v1.Container", "resources"), ("core/v1.EphemeralContainer", "resources"),
    ("core/v1.PersistentVolumeClaimSpec", "resources"), ("core/v1.ServiceStatus", "loadBalancer"),
    ("core/v1.Event", "involvedObject"), ("core/v1.Event", "source"), ("events/v1.Event", "regarding"),
    ("core/v1.NodeStatus", "daemonEndpoints"), ("core/v1.NodeStatus", "nodeInfo"),
    ("networking/v1.IngressStatus", "loadBalancer"), ("networking/v1.NetworkPolicySpec", "podSelector"),
    ("apiextensions/v1.CustomResourceDefinitionSpec", "names"),
    ("apiextensions/v1.CustomResourceDefinitionStatus", "acceptedNames"),
    ("apiextensions/v1.CustomResourceDefinitionStatus", "conditions"),
    ("core/v1.LimitRangeSpec", "limits"), ("autoscaling/v2.HorizontalPodAutoscalerSpec", "scaleTargetRef"),
}
# Where k8s-openapi knows the merge key only, or takes it for a list key.
KEYS = {("core/v1.Container", "ports"): "[containerPort,protocol=TCP]", ("core/v1.ServiceSpec", "ports"): "[port,protocol=TCP]",
        ("core/v1.EphemeralContainer", "ports"): "[containerPort,protocol=TCP]",
        ("core/v1.PodSpec", "topologySpreadConstraints"): "[topologyKey,whenUnsatisfiable]", ("core/v1.PodStatus", "hostIPs"): "[]",
        ("batch/v1.JobStatus", "conditions"): "[]"}
# Spelled by hand: recursive or not a struct in Rust.
OPAQUE = {"JSON": "X", "JSONSchemaPropsOrArray": "X", "JSONSchemaPropsOrBool": "X", "JSONSchemaPropsOrStringArray": "X",
          "RawExtension": "X", "CustomResourceSubresourceStatus": "X", "FieldsV1": "X", "Time": "q", "MicroTime": "q", "IntOrString": "q", "Quantity": "q"}


def type_name(path):
    parts = path.split("::")
    return "%s/%s.%s" % (parts[-3], parts[-2], parts[-1])


def main(root):
    types = {}
    for folder, _, files in os.walk(root):
        for name in files:
            text = open(os.path.join(folder, name), encoding="utf-8").read()
            m = re.search(r"\npub struct (\w+) \{\n(.*?)\n\}\n", text, re.S)
            if not m or not name.endswith(".rs"):
                continue
            parts = folder.split(os.sep)
            full = "%s/%s.%s" % (parts[-2], parts[-1], m.group(1))
            names = {k: j for j, k in re.findall(r'"([^"]+)" => Field::Key_(\w+),', text)}
            merges = re.search(r"impl crate::DeepMerge for \w+ \{.*?\n\}\n", text, re.S)
            merges = merges.group(0) if merges else ""
            fields = {}
            for rust, ty in re.findall(r"^    pub (?:r#)?(\w+): (.*),$", m.group(2), re.M):
                rust_key = rust.rstrip("_") if rust not in names and rust.rstrip("_") in names else rust
                how = re.search(r"merge_strategies::(\w+)::(\w+)\(\s*&mut self\.(?:r#)?%s,(.*?)\);\n" % rust, merges, re.S)
                keys = re.findall(r"lhs\.(?:r#)?(\w+) ==", how.group(3)) if how else []
                fields[names.get(rust, names.get(rust_key, rust))] = (ty, (how.group(1), how.group(2)) if how else None, keys)
            kind = re.search(r'const GROUP: &\'static str = "([^"]*)";\s*const KIND: &\'static str = "([^"]+)";\s*const VERSION: &\'static str = "([^"]+)"', text)
            types[full] = (fields, kind.groups() if kind and "metadata" in fields and not m.group(1).endswith("List") else None)
    json_name = {}
    for full, (fields, _) in types.items():
        json_name[full] = {re.sub(r"[^a-z]", "", f.lower()): f for f in fields}

    def spell(owner, field, ty, how, keys):
        opt = re.fullmatch(r"Option<(.*)>", ty)
        ty = opt.group(1) if opt else ty
        ty = re.sub(r"^std::boxed::Box<(.*)>$", r"\1", ty)
        vec = re.fullmatch(r"std::vec::Vec<(.*)>", ty)
        mapping = re.fullmatch(r"std::collections::BTreeMap<std::string::String, (.*)>", ty)
        if vec:
            mode = how[1] if how else "atomic"
            inner, names = spell(owner, field, vec.group(1), None, [])
            if mode == "set":
                return "[=]" + inner, names
            if mode == "map":
                target = names[0] if names else None
                out = []
                for k in keys:
                    j = json_name[target][re.sub(r"[^a-z]", "", k.lower())]
                    out.append(j)
                return KEYS.get((owner, field), "[%s]" % ",".join(out)) + inner, names
            return "[]" + inner, names
        if mapping:
            inner, names = spell(owner, field, mapping.group(1), None, [])
            return ("{!}" if how and how[1] == "atomic" else "{}") + inner, names
        short = ty.split("::")[-1]
        if short in OPAQUE:
            return OPAQUE[short], []
        if ty == "std::string::String" or short == "ByteString":
            return "s", []
        if ty in ("i32", "i64", "f64"):
            return "n", []
        if ty == "bool":
            return "b", []
        if ty.startswith("crate::serde_json::Value"):
            return "X", []
        name = type_name(ty)
        return name, [name]

    roots = {full: k for full, (_, k) in types.items() if k and full.split(".")[0] in GROUPS}
    todo, done = sorted(roots), {}
    while todo:
        full = todo.pop()
        if full in done:
            continue
        if full not in types:
            raise SystemExit("unknown type " + full)
        words = []
        for field, (ty, how, keys) in sorted(types[full][0].items()):
            spelled, names = spell(full, field, ty, how, keys)
            todo += names
            if (full, field) in PRESENT or field in ("spec", "status") and full in roots or field == "metadata" \
                    or field == "spec" and full.endswith(("TemplateSpec", "ClaimTemplate")):
                spelled += "!"
            if full in MERGE and field in MERGE[full]:
                spelled += "~" + MERGE[full][field]
            if (full, field) in RETAIN:
                spelled += "^"
            words.append("%s:%s" % (field, spelled))
        done[full] = words
    print("# The built-in API types, one per line; see generate.py (which wrote this) and src/schema/builtin.rs (which reads it).")
    for full in sorted(done):
        gvk = roots.get(full)
        head = full + ("!" if full in ATOMIC else "")
        print(" ".join([head + ("@%s/%s/%s" % (gvk[0], gvk[2], gvk[1]) if gvk else "")] + done[full]))
    used = {(o, f) for o, v in MERGE.items() for f in v} | PRESENT | RETAIN
    for owner, field in sorted(used):
        if owner not in done or field not in types[owner][0]:
            print("not found: %s.%s" % (owner, field), file=sys.stderr)
    for owner in ATOMIC - set(done):
        print("not found: %s" % owner, file=sys.stderr)


main(sys.argv[1])
