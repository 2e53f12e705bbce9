#!/usr/bin/env python3
"""Writes builtin.types from the OpenAPI v3 documents of a Kubernetes API server.

    generate.py https://127.0.0.1:6443 TOKEN CA.crt > builtin.types

A field is always present when it is a struct that is no pointer in Go (its default is {}), or a list or scalar that is never
left out (it is required).
"""
import json
import ssl
import sys
import urllib.request

SCALARS = {"string": "s", "integer": "n", "number": "n", "boolean": "b"}
# Spelled by hand: of several JSON types, or anything.
OPAQUE = {"JSON": "X", "JSONSchemaPropsOrArray": "X", "JSONSchemaPropsOrBool": "X", "JSONSchemaPropsOrStringArray": "X", "RawExtension": "X",
          "CustomResourceSubresourceStatus": "X", "FieldsV1": "X", "Time": "q", "MicroTime": "q", "IntOrString": "q", "Quantity": "q", "Duration": "s"}
# Elements whose keys have defaults that the API server declares on the field, in the order of the key.
DEFAULTS = {"protocol": "TCP"}
# What the API server's own merge does and its OpenAPI does not say, or says otherwise.
KEYS = {("core/v1.PodStatus", "hostIPs"): "[]", ("batch/v1.JobStatus", "conditions"): "[]"}
PRESENT = {("apiextensions/v1.CustomResourceDefinitionStatus", "conditions")}


def documents(server, token, ca):
    context = ssl.create_default_context(cafile=ca)

    def get(path):
        request = urllib.request.Request(server + path, headers={"Authorization": "Bearer " + token})
        with urllib.request.urlopen(request, context=context) as answer:
            return json.load(answer)
    schemas = {}
    for document in get("/openapi/v3")["paths"].values():
        schemas.update(get(document["serverRelativeURL"]).get("components", {}).get("schemas", {}))
    return schemas


def name_of(reference):
    """`io.k8s.api.core.v1.Pod` is `core/v1.Pod`."""
    parts = reference.rsplit("/", 1)[-1].split(".")
    return "%s/%s.%s" % tuple(parts[-3:])


class Table:
    def __init__(self, schemas):
        self.schemas = {name_of(name): schema for name, schema in schemas.items()}

    def spell(self, owner, field, schema):
        """The type of a field, and the types it names."""
        reference = schema.get("$ref") or (schema.get("allOf") or [{}])[0].get("$ref")
        if reference:
            name = name_of(reference)
            short = name.rsplit(".", 1)[-1]
            if short in OPAQUE:
                return OPAQUE[short], []
            target = self.schemas[name]
            return (name, [name]) if "properties" in target or target.get("type") == "object" else self.spell(owner, field, target)
        if schema.get("type") == "array":
            inner, names = self.spell(owner, field, schema["items"])
            keys = schema.get("x-kubernetes-list-map-keys") or []
            mode = {"set": "[=]", "map": "[%s]" % ",".join(k + ("=" + DEFAULTS[k] if k in DEFAULTS else "") for k in keys)}
            return KEYS.get((owner, field), mode.get(schema.get("x-kubernetes-list-type"), "[]")) + inner, names
        if "additionalProperties" in schema:
            inner, names = self.spell(owner, field, schema["additionalProperties"])
            return ("{!}" if schema.get("x-kubernetes-map-type") == "atomic" else "{}") + inner, names
        return SCALARS.get(schema.get("type"), "X"), []

    def fields(self, owner):
        schema, words, names = self.schemas[owner], [], []
        for field, details in sorted((schema.get("properties") or {}).items()):
            spelled, more = self.spell(owner, field, details)
            if spelled == "X" and field == "kind":
                continue
            names += more
            required = field in schema.get("required", []) and (details.get("type") == "array" or "default" in details)
            if details.get("default") == {} or required or (owner, field) in PRESENT:
                spelled += "!"
            strategy = details.get("x-kubernetes-patch-strategy", "").split(",")
            if "merge" in strategy:
                spelled += "~" + details.get("x-kubernetes-patch-merge-key", "")
            if "retainKeys" in strategy:
                spelled += "^"
            words.append("%s:%s" % (field, spelled))
        return words, names


def main(server, token, ca):
    table = Table(documents(server, token, ca))
    roots = {}
    for name, schema in table.schemas.items():
        kinds = schema.get("x-kubernetes-group-version-kind", [])
        if len(kinds) == 1 and not name.endswith("List") and "properties" in schema and ("metadata" in schema["properties"]):
            roots[name] = kinds[0]
    todo, done = sorted(roots), {}
    while todo:
        name = todo.pop()
        if name not in done:
            done[name], more = table.fields(name)
            todo += more
    print("# The built-in API types, one per line; see generate.py (which wrote this) and src/schema/builtin.rs (which reads it).")
    for name in sorted(done):
        words = [w for w in done[name] if not (name in roots and w.split(":")[0] in ("apiVersion", "kind"))]
        kind = roots.get(name)
        head = name + ("!" if table.schemas[name].get("x-kubernetes-map-type") == "atomic" else "")
        print(" ".join([head + ("@%s/%s/%s" % (kind["group"], kind["version"], kind["kind"]) if kind else "")] + words))


main(*sys.argv[1:])
