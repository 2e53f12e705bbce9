#!/usr/bin/env python3
"""Writes the table of protobuf fields, host/devserver/src/model/fields.txt, from two crates of the registry.

    scripts/protobuf-fields.py            # write it
    scripts/protobuf-fields.py --check    # fail when it is not what the crates say

k8s-pb (Apache-2.0) has the number and the wire type of each field of the Kubernetes API, with names in Rust's spelling;
k8s-openapi (Apache-2.0), which the API server uses anyway, has the JSON names. A message field whose JSON has no such member
is one that Go embeds: its own fields stand in its place. Such a name is written as `-`.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TABLE = os.path.join(ROOT, "host/devserver/src/model/fields.txt")
# k8s-pb is made from v1.35.
PB, OPENAPI = "0.9.0", ("v1_36", "v1_35")
# The groups the API server serves. Their v1 is enough, with autoscaling/v2.
PACKAGES = """
apimachinery.pkg.api.resource apimachinery.pkg.apis.meta.v1 apimachinery.pkg.runtime apimachinery.pkg.util.intstr
api.admissionregistration.v1 api.apps.v1 api.authentication.v1 api.authorization.v1 api.autoscaling.v1 api.autoscaling.v2
api.batch.v1 api.certificates.v1 api.coordination.v1 api.core.v1 api.discovery.v1 api.events.v1 api.flowcontrol.v1
api.networking.v1 api.node.v1 api.policy.v1 api.rbac.v1 api.resource.v1 api.scheduling.v1 api.storage.v1
apiextensions_apiserver.pkg.apis.apiextensions.v1 kube_aggregator.pkg.apis.apiregistration.v1
""".split()
# What neither crate spells as JSON does: the Go types embed them, or they are of protobuf alone.
SPELLED = {"raw", "seconds", "nanos", "string", "items", "type", "intVal", "strVal"}

# Go clients send plain fields also when they are zero, which JSON leaves out, and pointers only when they are set. The crates do
# not tell the two apart: optional strings are plain but for these, optional numbers and booleans are pointers but for these.
POINTERS = {"core.v1.PersistentVolumeClaimSpec.storageClassName", "batch.v1.JobStatus.ready", "batch.v1.JobStatus.terminating",
            "apps.v1.DeploymentStatus.terminatingReplicas", "apps.v1.ReplicaSetStatus.terminatingReplicas",
            "core.v1.ContainerStatus.started", "core.v1.AzureDiskVolumeSource.readOnly", "core.v1.CSIVolumeSource.readOnly",
            "apps.v1.RollingUpdateStatefulSetStrategy.partition", "core.v1.PodSpec.priority"}
PLAIN = set("""
chapAuthDiscovery chapAuthSession count deprecated deprecatedCount exclusiveMaximum exclusiveMinimum failureThreshold generation
globalDefault healthCheckNodePort hostIPC hostNetwork hostPID hostPort initialDelaySeconds insecureSkipTLSVerify minReadySeconds
nodePort nullable number observedGeneration partition paused periodSeconds preserveUnknownFields priority
publishNotReadyAddresses readOnly signal sizeBytes sslEnabled start stdin stdinOnce successThreshold tty
uniqueItems unschedulable x-kubernetes-embedded-resource x-kubernetes-int-or-string
core.v1.Probe.timeoutSeconds autoscaling.v1.ScaleSpec.replicas
""".split())

STRUCT = re.compile(r"pub struct (\w+) \{(?:\}|\n(.*?)\n\})", re.S)
FIELD = re.compile(r"#\[prost\(([^\]]*?)\)\]\s*pub (?:r#)?(\w+):\s+(.*?),\n(?=\s*(?:#|$))", re.S)


def sources():
    """The folders with the sources of both crates."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "src"))
        open(os.path.join(folder, "src/lib.rs"), "w").close()
        with open(os.path.join(folder, "Cargo.toml"), "w") as f:
            f.write('[package]\nname = "fields"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n'
                    'k8s-pb = "=%s"\nk8s-openapi = { version = "0.29", features = ["latest"] }\n' % PB)
        text = subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=folder, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
        found = {p["name"]: os.path.dirname(p["manifest_path"]) for p in json.loads(text)["packages"]}
        return os.path.join(found["k8s-pb"], "src"), [os.path.join(found["k8s-openapi"], "src", v) for v in OPENAPI]


def flat(name):
    return name.replace("_", "").replace("-", "").replace("$", "").lower()


class Type:
    """What k8s-openapi knows of a type: its name, {flat name: JSON name}, and which fields are required."""

    def __init__(self, name):
        self.name, self.names, self.required = name, {}, set()


def json_types(roots):
    """Per package and lower-case name the types; and the JSON names of a flat name anywhere."""
    types, everywhere = {}, {}
    for root in roots:
        for folder, _, files in os.walk(root):
            package = os.path.relpath(folder, root).replace("/", ".")
            for file in files:
                with open(os.path.join(folder, file), encoding="utf-8") as f:
                    text = f.read()
                struct = re.search(r"pub struct (\w+) (\{.*?\n\})", text, re.S)
                fields = re.search(r"deserialize_struct\(\s*[^,]*,\s*&\[(.*?)\]", text, re.S)
                if not struct or not fields:
                    continue
                one = types.setdefault((package, struct.group(1).lower()), Type(struct.group(1)))
                for name in re.findall(r'"([^"]*)"', fields.group(1)):
                    one.names[flat(name)] = name
                    everywhere.setdefault(flat(name), set()).add(name)
                one.required |= {flat(n) for n in re.findall(r"pub (?:r#)?(\w+): (?:i32|i64|bool|f64|std::string::String),", struct.group(2))}
    return types, everywhere


def messages(root):
    """Per package and type the fields: number, Rust name, how prost has it, Rust type."""
    found = {}
    for package in PACKAGES:
        with open(os.path.join(root, *package.split("."), "mod.rs"), encoding="utf-8") as f:
            text = re.sub(r"^\s*///.*\n", "", f.read(), flags=re.M)
        for name, body in STRUCT.findall(text):
            fields = []
            for attribute, field, rust in FIELD.findall(body + "\n"):
                fields.append((int(re.search(r'tag = "(\d+)"', attribute).group(1)), field, attribute, rust))
            found[package, name] = sorted(fields)
    return found


def reference(rust, package, known):
    """The message a Rust type names."""
    path = re.findall(r"((?:\w+::)*\w+),?>*$", re.sub(r"\s", "", rust))[0].split("::")
    up = path.count("super")
    base = package.split(".")
    path = [p for p in path if p != "super"]
    target = (".".join((base[:len(base) - up] if up else base) + path[:-1]), path[-1])
    if target not in known:
        raise SystemExit("%s: no message %s" % (package, target))
    return target


def kind(types, attribute, rust, package, known):
    """`string`, `int32`, `.core.v1.Pod`; `*` before what is repeated, `map ` before the values of maps."""
    def message():
        return "." + title(types, *reference(rust, package, known))
    entries = re.search(r'btree_map = "string, (\w+)"', attribute)
    if entries:
        return "map " + (message() if entries.group(1) == "message" else entries.group(1))
    scalar = attribute.split(",")[0].split(" ")[0]
    one = message() if scalar == "message" else scalar
    return ("*" if "repeated" in attribute else "") + one


def short(package, name):
    long = ("apimachinery.pkg.apis.", "apimachinery.pkg.", "apiextensions_apiserver.pkg.apis.", "kube_aggregator.pkg.apis.", "api.")
    prefix = next(p for p in long if package.startswith(p))
    return package[len(prefix):] + "." + name


def title(types, package, name):
    """`core.v1.HTTPGetAction`, with the capitals of Go."""
    own = types.get((package, name.lower()))
    return short(package, own.name if own else name)


def is_embedded(names, field, attribute):
    one_message = "message" in attribute and "map" not in attribute and "repeated" not in attribute
    return one_message and flat(field) not in names


def spelling(names, everywhere, field):
    """The JSON name of a field, and whether it had to be guessed."""
    spelled = names.get(flat(field))
    if spelled:
        return spelled, False
    candidates = everywhere.get(flat(field), set()) or {s for s in SPELLED if flat(s) == flat(field)}
    if len(candidates) == 1:
        return next(iter(candidates)), False
    words = field.split("_")
    return words[0] + "".join(w.capitalize() for w in words[1:]), True


def is_pointer(message, field, form):
    full = "%s.%s" % (message, field)
    if full in POINTERS:
        return True
    plain = field in PLAIN or full in PLAIN or message.endswith("Status")
    return form in ("int32", "int64", "bool", "double") and not plain


def inner_fields(known, message):
    """The fields of an embedded message and of those that it embeds."""
    fields = list(known[message])
    for _, _, attribute, rust in known[message]:
        if "message" in attribute and "map" not in attribute:
            fields += known[reference(rust, message[0], known)]
    return fields


def missing(own, fields, embedded):
    """The JSON names of a type that no field has: there must be none, else the pattern for fields misses some."""
    there = {flat(field) for _, field, _, _ in fields} | embedded
    return ["%s of %s" % (own.names[n], own.name) for n in own.names if n not in there and n not in ("kind", "apiversion")]


def table():
    pb, openapi = sources()
    known = messages(pb)
    types, everywhere = json_types(openapi)
    typed = lambda package, name: types.get((package, name.lower()))
    # The names of embedded types stand in the types that embed them.
    holders = {}
    for (package, name), fields in known.items():
        own = typed(package, name)
        for _, field, attribute, rust in fields if own else ():
            if is_embedded(own.names, field, attribute):
                holders.setdefault(reference(rust, package, known), []).append(own)
    lines, doubts, gone = [], [], []
    for (package, name), fields in known.items():
        own = typed(package, name)
        names = {k: v for holder in holders.get((package, name), []) for k, v in holder.names.items()}
        names.update(own.names if own else {})
        lines.append(title(types, package, name))
        for number, field, attribute, rust in fields:
            if own and is_embedded(names, field, attribute):
                spelled = "-"
            else:
                spelled, guessed = spelling(names, everywhere, field)
                if guessed:
                    doubts.append("%s.%s" % (title(types, package, name), field))
            form = kind(types, attribute, rust, package, known)
            zero = own and flat(field) in own.required or is_pointer(title(types, package, name), spelled, form)
            lines.append(" %d %s %s%s" % (number, spelled, "!" if zero else "", form))
        if own:
            inner = {flat(f) for _, field, attribute, rust in fields if is_embedded(names, field, attribute)
                     for _, f, _, _ in inner_fields(known, reference(rust, package, known))}
            gone += missing(own, fields, inner)
    head = ("# The fields of the Kubernetes API in protobuf: number, JSON name, type. `*` is repeated, `map` from strings, `!` also\n"
            "# zero is a value, name `-` embedded. Written by scripts/protobuf-fields.py from the crates k8s-pb %s and k8s-openapi\n"
            "# 0.29, which are made from Kubernetes' definitions. Copyright The Kubernetes Authors; Apache License 2.0.\n" % PB)
    return head + "\n".join(lines) + "\n", doubts, gone


def main():
    text, doubts, gone = table()
    for doubt in doubts:
        print("no JSON name known, spelled as usual: " + doubt, file=sys.stderr)
    for name in gone:
        print("in JSON alone: " + name, file=sys.stderr)
    if "--check" in sys.argv[1:]:
        with open(TABLE, encoding="utf-8") as f:
            if f.read() != text:
                sys.exit("host/devserver/src/model/fields.txt is not what the crates say: run scripts/protobuf-fields.py")
        return
    with open(TABLE, "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
