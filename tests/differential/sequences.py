"""Random sequences of requests, in the format of the recordings, drawn from a seed."""
import copy
import json

from schemas import doubled_key, extend, mutate
from templates import TEMPLATES, WEIGHTS, crd, template

PATCHES = {"json": "application/json-patch+json", "merge": "application/merge-patch+json",
           "strategic": "application/strategic-merge-patch+json", "apply": "application/apply-patch+yaml"}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"
PARTIAL_LIST = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"
REVIEWS = ("authorization.k8s.io", "authentication.k8s.io")
LABEL_SELECTORS = ["app=a", "app!=a", "app in (a,b)", "app notin (a)", "app", "!app", "app=a,app!=b", "", "app==b", "app in ()", "app=", "a b", "=a", "app in (a", "x>1", "app=-"]
FIELD_SELECTORS = ["metadata.name=o1", "metadata.name!=o1", "metadata.namespace=${ns}", "spec.nodeName=", "status.phase=Pending", "spec.bogus=1", "metadata.name", "", "type=Opaque",
                   "metadata.labels=a", "status.phase!=Running,metadata.name=o1"]
VERBS = ["get", "list", "create", "delete", "*", "use", "impersonate", ""]


class Kind:
    """One served resource."""

    def __init__(self, group_version, resource, schema):
        self.group_version, self.plural, self.kind = group_version, resource["name"], resource["kind"]
        self.group = group_version.rpartition("/")[0]
        self.namespaced, self.verbs, self.schema = resource["namespaced"], resource["verbs"], schema
        self.subresources = []

    def path(self, name=None):
        root = "/api/v1" if not self.group else "/apis/" + self.group_version
        where = root + ("/namespaces/${ns}/" if self.namespaced else "/") + self.plural
        return where + "/" + name if name else where

    def name(self, short):
        """Names of a cluster's objects carry the suffix of the scenario."""
        if self.plural == "customresourcedefinitions":
            return "things.${run}.example.com"
        return short if self.namespaced else "%s-${run}" % short


def kinds(get, schemas):
    """What a server serves, of what there is a template for, with how often it is drawn."""
    found, groups = [], ["/api/v1"]
    groups += ["/apis/" + v["groupVersion"] for g in get("/apis")["groups"] for v in g["versions"]]
    for path in groups:
        listed = get(path)
        here = {}
        for r in listed["resources"]:
            plural, _, sub = r["name"].partition("/")
            if sub:
                if plural in here:
                    here[plural].subresources.append(sub)
                continue
            if (listed["groupVersion"], plural) not in TEMPLATES:
                continue
            group, _, version = listed["groupVersion"].rpartition("/")
            here[plural] = Kind(listed["groupVersion"], r, schemas.kinds.get((group, version, r["kind"]), {}))
        found += here.values()
    return found


class Drawer:
    """Draws the steps of one sequence."""

    def __init__(self, rnd, schemas, served):
        self.rnd, self.schemas, self.served = rnd, schemas, served
        self.by_name = {(k.group_version, k.plural): k for k in served}
        self.saves = 0
        self.webhook = {}

    def chance(self, p):
        return self.rnd.random() < p

    def kind(self, *only):
        if only:
            return self.by_name[self.rnd.choice(only)]
        weights = [WEIGHTS.get((k.group_version, k.plural), 1) for k in self.served]
        return self.rnd.choices(self.served, weights)[0]

    def save(self):
        self.saves += 1
        return "s%d" % self.saves

    # -- bodies
    def body(self, kind, name, clean=0.3):
        base = template(self.rnd, kind.group_version, kind.plural, kind.kind, kind.name(name))
        draw = self.rnd.random()
        if draw < clean:
            return base
        if draw < clean + 0.3:
            for _ in range(self.rnd.choice([1, 1, 2, 3])):
                base = extend(self.rnd, self.schemas, kind.schema, base)
            return base
        if draw < 0.95:
            for _ in range(self.rnd.choice([1, 1, 1, 2])):
                base = mutate(self.rnd, base)
            return base
        drawn = self.schemas.draw(self.rnd, kind.schema)
        if isinstance(drawn, dict):
            drawn.update({"apiVersion": kind.group_version, "kind": kind.kind, "metadata": base["metadata"]})
        return drawn

    def write(self, step, body):
        """The body of a step, now and then with a member twice, or as YAML of another type than it says."""
        if self.chance(0.03):
            step["bodyText"] = doubled_key(self.rnd, body)
        else:
            step["body"] = body
        return step

    def options(self, patch=None):
        query = {}
        if self.chance(0.15):
            query["dryRun"] = self.rnd.choice(["All", "All", "All", "None", ""])
        if self.chance(0.3):
            query["fieldValidation"] = self.rnd.choice(["Strict", "Strict", "Warn", "Ignore", "ignore"])
        if patch == "apply":
            if not self.chance(0.03):
                query["fieldManager"] = self.rnd.choice(["m1", "m2", "m3"])
            if self.chance(0.3):
                query["force"] = self.rnd.choice(["true", "true", "false", "1", "x"])
        elif self.chance(0.15):
            query["fieldManager"] = self.rnd.choice(["m1", "m2", "m" * 129, "a b"])
        if self.chance(0.02):
            query["pretty"] = "true"
        return {"query": query} if query else {}

    # -- single steps
    def create(self, kind, name="o1", clean=0.3):
        step = {"method": "POST", "path": kind.path(), "managedFields": True, "save": self.save(), **self.options()}
        body = self.body(kind, name, clean)
        if self.chance(0.03) and isinstance(body, dict) and isinstance(body.get("metadata"), dict):
            body["metadata"].pop("name", None)
            body["metadata"]["generateName"] = "gen-"
        return self.write(step, body)

    def update(self, kind, name="o1", saved=None):
        body = self.body(kind, name, 0.2)
        if saved and isinstance(body, dict) and isinstance(body.get("metadata"), dict) and self.chance(0.4):
            body["metadata"]["resourceVersion"] = self.rnd.choice(["${rv:%s}", "${rv:%s}", "${rv-1:%s}"]) % saved
        if saved and self.chance(0.1) and isinstance(body, dict) and isinstance(body.get("metadata"), dict):
            body["metadata"]["uid"] = self.rnd.choice(["${uid:%s}" % saved, "00000000-0000-0000-0000-00000000000b"])
        return self.write({"method": "PUT", "path": kind.path(kind.name(name)), "managedFields": True, **self.options()}, body)

    def patch(self, kind, name="o1", way=None, sub=""):
        way = way or self.rnd.choice(["json", "merge", "strategic", "strategic", "apply", "apply"])
        step = {"method": "PATCH", "path": kind.path(kind.name(name)) + sub, "contentType": PATCHES[way], "managedFields": True, **self.options(way)}
        if way == "apply":
            return self.write(step, self.body(kind, name, 0.4))
        if way == "json":
            step["body"] = self.json_patch(kind, name)
            return step
        whole = self.body(kind, name, 0.3)
        if not isinstance(whole, dict):
            step["body"] = whole
            return step
        part = {k: v for k, v in whole.items() if k not in ("apiVersion", "kind", "metadata") and self.chance(0.7)}
        if self.chance(0.5):
            part["metadata"] = self.metadata_change()
        if self.chance(0.3):
            part = mutate(self.rnd, part) if part else part
        if way == "strategic" and self.chance(0.4):
            part = self.directive(part)
        step["body"] = part
        return step

    def metadata_change(self):
        return self.rnd.choice([{"labels": {"app": "b"}}, {"labels": {"app": None}}, {"labels": None}, {"annotations": {"n": "1"}}, {"finalizers": ["example.com/g"]}, {"finalizers": None},
                                {"finalizers": []}, {"name": "other"}, {"resourceVersion": "1"}, {"uid": "x"}, {"generation": 7}, {"labels": {"a b": "c"}}, {"namespace": "other"},
                                {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}]}, {"managedFields": []}, {"creationTimestamp": None},
                                {"deletionTimestamp": "2020-01-01T00:00:00Z"}, {"bogus": 1}])

    def directive(self, node):
        """A directive somewhere in a strategic merge patch."""
        node = copy.deepcopy(node)
        holders = []

        def walk(value):
            if isinstance(value, dict):
                holders.append(value)
                for v in value.values():
                    walk(v)
            elif isinstance(value, list):
                for v in value:
                    walk(v)
        walk(node)
        holder = self.rnd.choice(holders) if holders else node
        lists = [k for k, v in holder.items() if isinstance(v, list)]
        what = self.rnd.choice(["replace", "delete", "merge", "bogus", "retain", "order", "primitive"])
        if what == "retain":
            holder["$retainKeys"] = sorted(holder)[:2]
        elif what == "order" and lists:
            holder["$setElementOrder/" + lists[0]] = [{"name": e["name"]} if isinstance(e, dict) and "name" in e else e for e in reversed(holder[lists[0]])]
        elif what == "primitive" and lists:
            holder["$deleteFromPrimitiveList/" + lists[0]] = holder[lists[0]][:1]
        else:
            holder["$patch"] = what if what in ("replace", "delete", "merge") else "bogus"
        return node

    def json_patch(self, kind, name):
        places = []
        body = self.body(kind, name, 1)

        def walk(node, at):
            places.append((at, node))
            for k, v in (node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else []):
                walk(v, at + "/" + str(k).replace("~", "~0").replace("/", "~1"))
        walk(body, "")
        places.append(("/metadata/resourceVersion", "1"))
        ops = []
        for _ in range(self.rnd.choice([1, 1, 2, 3])):
            at, value = self.rnd.choice(places)
            op = self.rnd.choice(["add", "replace", "remove", "test", "copy", "move", "add", "bogus"])
            at += self.rnd.choice(["", "", "", "/-", "/0", "/x", "/9"])
            entry = {"op": op, "path": at}
            if op in ("add", "replace", "test"):
                entry["value"] = mutate(self.rnd, {"v": value}).get("v", None) if self.chance(0.5) else value
            if op in ("copy", "move"):
                entry["from"] = self.rnd.choice(places)[0]
            ops.append(entry)
        if self.chance(0.04):
            return self.rnd.choice([{}, "x", [1], [{"op": "add"}], None, [{"path": "/x", "value": 1}]])
        return ops

    def delete(self, kind, name="o1", saved=None):
        step = {"method": "DELETE", "path": kind.path(kind.name(name))}
        options, query = {}, {}
        target = self.rnd.choice([options, query])
        if self.chance(0.4):
            target["propagationPolicy"] = self.rnd.choice(["Foreground", "Background", "Orphan", "Bogus"])
        if self.chance(0.15):
            target["gracePeriodSeconds"] = self.rnd.choice([0, 5, -1]) if target is options else self.rnd.choice(["0", "5", "-1", "x"])
        if self.chance(0.05):
            target["orphanDependents"] = True if target is options else "true"
        if self.chance(0.15):
            target["dryRun"] = self.rnd.choice([["All"], ["None"], ["All", "All"]])
        if saved and self.chance(0.2):
            options["preconditions"] = self.rnd.choice([{"uid": "${uid:%s}" % saved}, {"uid": "x"}, {"resourceVersion": "${rv:%s}" % saved}, {"resourceVersion": "1"}, {}, {"bogus": 1}])
        if options or self.chance(0.1):
            step["body"] = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
            if self.chance(0.1):
                step["body"] = mutate(self.rnd, step["body"])
        if query:
            step["query"] = query
        return step

    def delete_collection(self, kind):
        query = {"labelSelector": self.selector(kind)}
        if self.chance(0.3):
            query["fieldSelector"] = self.rnd.choice(FIELD_SELECTORS)
        if self.chance(0.2):
            query["dryRun"] = "All"
        if self.chance(0.2):
            query["limit"] = "1"
        return {"method": "DELETE", "path": kind.path(), "query": query}

    def get(self, kind, name="o1"):
        step = {"path": kind.path(kind.name(name)), "managedFields": True}
        if self.chance(0.3):
            step["accept"] = self.rnd.choice([TABLE, PARTIAL, "application/json;as=Bogus;v=v1;g=meta.k8s.io", "text/plain", "application/json;as=Table;v=v1beta1;g=meta.k8s.io"])
        if self.chance(0.1):
            step["query"] = {"resourceVersion": self.rnd.choice(["0", "1", "x", ""])}
        return step

    def selector(self, kind):
        """Lists of the cluster's objects are held to those of this scenario."""
        return self.rnd.choice(LABEL_SELECTORS) if kind.namespaced else "run=${run}"

    def list(self, kind, saved=None):
        query, step = {}, {"path": kind.path(), "managedFields": True}
        if not kind.namespaced or self.chance(0.4):
            query["labelSelector"] = self.selector(kind)
        if self.chance(0.3):
            query["fieldSelector"] = self.rnd.choice(FIELD_SELECTORS)
        if self.chance(0.3):
            query["limit"] = self.rnd.choice(["1", "2", "500", "0", "-1", "x"])
        if self.chance(0.25):
            query["resourceVersion"] = self.rnd.choice(["0", "1", "x", "${rv:%s}" % (saved or "s1")])
        if self.chance(0.2):
            query["resourceVersionMatch"] = self.rnd.choice(["Exact", "NotOlderThan", "Bogus"])
        if self.chance(0.03):
            query["continue"] = self.rnd.choice(["x", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0"])
        if self.chance(0.3):
            step["accept"] = self.rnd.choice([TABLE, TABLE, PARTIAL_LIST, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"])
            if step["accept"] == TABLE and self.chance(0.3):
                query["includeObject"] = self.rnd.choice(["None", "Object", "Metadata", "Bogus"])
        if query:
            step["query"] = query
        return step

    def watch(self, kind, steps, saved=None):
        query = {"timeoutSeconds": "20"}
        if not kind.namespaced or self.chance(0.4):
            query["labelSelector"] = self.selector(kind)
        if self.chance(0.25):
            query["fieldSelector"] = self.rnd.choice(FIELD_SELECTORS)
        if saved and self.chance(0.5):
            query["resourceVersion"] = "${rv:%s}" % saved
        elif self.chance(0.3):
            query["resourceVersion"] = self.rnd.choice(["0", "", "x"])
        if self.chance(0.15):
            query["sendInitialEvents"] = self.rnd.choice(["true", "false"])
            if self.chance(0.8):
                query["resourceVersionMatch"] = "NotOlderThan"
            if self.chance(0.8):
                query["allowWatchBookmarks"] = "true"
        watch = {"path": kind.path(), "query": query}
        if self.chance(0.2):
            watch["accept"] = self.rnd.choice([TABLE, PARTIAL])
        return {"watch": watch, "steps": steps, "managedFields": True}

    def subresource(self, kind, name="o1", saved=None):
        subs = [s for s in kind.subresources if s in ("status", "scale", "eviction", "binding", "token", "finalize", "ephemeralcontainers", "resize")]
        if not subs:
            return self.get(kind, name)
        sub = self.rnd.choice(subs)
        at = kind.path(kind.name(name)) + "/" + sub
        if sub == "eviction":
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
            if self.chance(0.3):
                body["deleteOptions"] = self.rnd.choice([{"gracePeriodSeconds": 0}, {"dryRun": ["All"]}, {"preconditions": {"uid": "x"}}])
            return self.broken({"method": "POST", "path": at}, body)
        if sub == "binding":
            return self.broken({"method": "POST", "path": at}, {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": "n1"}})
        if sub == "token":
            body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["a"], "expirationSeconds": 600}}
            return {**self.broken({"method": "POST", "path": at}, body), "ignore": ["/status/token"]}
        if sub == "scale":
            if self.chance(0.3):
                return {"path": at}
            body = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": kind.name(name), "namespace": "${ns}"}, "spec": {"replicas": self.rnd.choice([0, 3, 5, -1])}}
            if self.chance(0.5):
                return {**self.broken({"method": "PUT", "path": at}, body), **self.options()}
            return {"method": "PATCH", "path": at, "contentType": PATCHES["merge"], "body": {"spec": body["spec"]}, **self.options()}
        if self.chance(0.2):
            return {"path": at, "managedFields": True}
        if self.chance(0.5):
            return self.status_patch(kind, name, sub)
        body = template(self.rnd, kind.group_version, kind.plural, kind.kind, kind.name(name))
        properties = kind.schema.get("properties") or {}
        if "status" in properties:
            body["status"] = self.schemas.draw(self.rnd, properties["status"], "status", 1)
        return self.broken({"method": "PUT", "path": at, "managedFields": True, **self.options()}, body)

    def status_patch(self, kind, name, sub):
        way = self.rnd.choice(["merge", "strategic", "apply"])
        step = {"method": "PATCH", "path": kind.path(kind.name(name)) + "/" + sub, "contentType": PATCHES[way], "managedFields": True, **self.options(way)}
        properties = kind.schema.get("properties") or {}
        body = {"status": self.schemas.draw(self.rnd, properties["status"], "status", 1)} if "status" in properties else {"metadata": {"labels": {"app": "b"}}}
        if way == "apply":
            body.update({"apiVersion": kind.group_version, "kind": kind.kind, "metadata": {"name": kind.name(name)}})
        return self.broken(step, body)

    def broken(self, step, body):
        step["body"] = mutate(self.rnd, body) if self.chance(0.35) else body
        return step

    # -- sequences
    def one_kind(self):
        """The life of one object or two of a kind."""
        kind = self.kind()
        first = self.create(kind)
        saved, steps = first["save"], [first]
        for _ in range(self.rnd.randint(4, 10)):
            if "create" in kind.verbs and len(kind.verbs) == 1:
                steps.append(self.create(kind))
                continue
            name = self.rnd.choice(["o1", "o1", "o1", "o2"])
            steps.append(self.rnd.choices([
                lambda: self.create(kind, name), lambda: self.update(kind, name, saved), lambda: self.patch(kind, name),
                lambda: self.delete(kind, name, saved), lambda: self.get(kind, name), lambda: self.list(kind, saved),
                lambda: self.subresource(kind, name, saved), lambda: self.delete_collection(kind)], [8, 6, 8, 2, 1, 1, 2, 0.3])[0]())
        return steps

    def applies(self):
        """Several managers of one object."""
        kind = self.kind()
        if "patch" not in kind.verbs:
            return self.one_kind()
        steps = [self.patch(kind, "o1", "apply") if self.chance(0.6) else self.create(kind, clean=0.7)]
        for _ in range(self.rnd.randint(3, 8)):
            steps.append(self.rnd.choices([lambda: self.patch(kind, "o1", "apply"), lambda: self.patch(kind, "o1"), lambda: self.update(kind),
                                           lambda: self.subresource(kind), lambda: self.delete(kind)], [6, 2, 2, 1, 0.5])[0]())
        return steps

    def writes(self, kind, count):
        steps = []
        for _ in range(count):
            name = self.rnd.choice(["o1", "o2", "o3"])
            step = self.rnd.choices([lambda: self.create(kind, name, 0.8), lambda: self.patch(kind, name), lambda: self.update(kind, name),
                                     lambda: self.delete(kind, name)], [5, 2, 2, 2])[0]()
            steps.append(self.marked(kind, step))
        return steps

    def marked(self, kind, step):
        """With the label that holds lists of the cluster's objects to this scenario."""
        if not kind.namespaced and isinstance(step.get("body"), dict) and step["method"] in ("POST", "PUT"):
            meta = step["body"].setdefault("metadata", {})
            if isinstance(meta, dict) and isinstance(meta.setdefault("labels", {}), dict):
                meta["labels"]["run"] = "${run}"
        return step

    def watched(self):
        kind = self.kind()
        if "watch" not in kind.verbs:
            return self.one_kind()
        steps = self.writes(kind, self.rnd.randint(0, 3))
        saved = next((s["save"] for s in steps if "save" in s), None)
        return steps + [self.watch(kind, self.writes(kind, self.rnd.randint(1, 5)), saved)]

    def lists(self):
        kind = self.kind()
        if "list" not in kind.verbs:
            return self.one_kind()
        steps = self.writes(kind, self.rnd.randint(2, 5))
        saved = next((s["save"] for s in steps if "save" in s), None)
        for _ in range(self.rnd.randint(2, 5)):
            steps.append(self.list(kind, saved))
            if steps[-1].get("query", {}).get("limit") == "1" and self.chance(0.7):
                steps[-1]["save"] = self.save()
                steps.append({"path": kind.path(), "query": {"limit": "2", "continue": "${continue:%s}" % steps[-1]["save"],
                                                             **{k: v for k, v in steps[-1]["query"].items() if k == "labelSelector"}}})
        if self.chance(0.5):
            steps.append(self.delete_collection(kind))
            steps.append(self.list(kind, saved))
        return steps

    # -- custom resources
    def schema(self, depth=0):
        """A structural schema, now and then one that is not."""
        kind = self.rnd.choice(["object", "object", "string", "integer", "array", "boolean", "number", "any", "map"]) if depth else "object"
        out = {"type": kind}
        if kind == "object":
            names = self.rnd.sample(["a", "b", "c", "d"], self.rnd.randint(1, 3))
            out["properties"] = {n: self.schema(depth + 1) if depth < 3 else {"type": "string"} for n in names}
            if self.chance(0.3):
                out["required"] = names[:1]
            if self.chance(0.1):
                out["x-kubernetes-preserve-unknown-fields"] = True
            if self.chance(0.1):
                out["x-kubernetes-map-type"] = self.rnd.choice(["atomic", "granular"])
        elif kind == "map":
            out = {"type": "object", "additionalProperties": self.schema(depth + 1) if depth < 3 else {"type": "integer"}}
            if self.chance(0.2):
                out["maxProperties"] = 2
        elif kind == "array":
            items = self.schema(depth + 1) if depth < 3 else {"type": "string"}
            out["items"] = items
            if self.chance(0.3):
                out["x-kubernetes-list-type"] = self.rnd.choice(["set", "atomic", "map"])
                if out["x-kubernetes-list-type"] == "map":
                    out["items"] = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}}
                    out["x-kubernetes-list-map-keys"] = ["k"]
            if self.chance(0.2):
                out[self.rnd.choice(["maxItems", "minItems"])] = 2
        elif kind == "any":
            out = self.rnd.choice([{"x-kubernetes-int-or-string": True}, {"x-kubernetes-preserve-unknown-fields": True}, {"type": "object", "x-kubernetes-preserve-unknown-fields": True}])
        elif kind == "string":
            out.update(self.rnd.choice([{}, {}, {"enum": ["x", "y"]}, {"maxLength": 3}, {"minLength": 2}, {"pattern": "^x+$"}, {"format": self.rnd.choice(["date-time", "ipv4", "cidr", "byte", "uuid", "email", "uri", "duration", "date"])}]))
        elif kind in ("integer", "number"):
            out.update(self.rnd.choice([{}, {}, {"minimum": 1}, {"maximum": 3, "exclusiveMaximum": True}, {"multipleOf": 2}, {"format": self.rnd.choice(["int32", "int64", "double"])}]))
        if self.chance(0.12):
            out["nullable"] = True
        if self.chance(0.15):
            out["default"] = self.value(out)
        if self.chance(0.12) and depth:
            rules = {"string": ["self.size() < 4", "self == oldSelf", "self.startsWith('x')"], "integer": ["self > 0", "self >= oldSelf"],
                     "object": ["has(self.a)", "!has(self.b) || has(self.a)", "self == oldSelf"], "array": ["self.size() < 3", "self.all(e, true)"], "boolean": ["self"], "number": ["self > 0.5"]}.get(kind)
            if rules:
                out["x-kubernetes-validations"] = [{"rule": self.rnd.choice(rules), **self.rnd.choice([{}, {"message": "no"}, {"messageExpression": "'is ' + string(1)"}, {"reason": "FieldValueForbidden"}, {"fieldPath": ".a"}])}]
        if self.chance(0.05):
            out["description"] = "d"
        return out

    def value(self, schema, depth=0):
        """A value of a schema; mostly valid."""
        if "enum" in schema:
            return self.rnd.choice(schema["enum"] + ["z"])
        kind = schema.get("type")
        if kind == "object":
            if "additionalProperties" in schema and isinstance(schema["additionalProperties"], dict):
                return {k: self.value(schema["additionalProperties"], depth + 1) for k in self.rnd.sample(["k", "l", "m"], self.rnd.randint(0, 3))}
            return {n: self.value(s, depth + 1) for n, s in sorted((schema.get("properties") or {}).items()) if n in schema.get("required", []) or self.chance(0.7)}
        if kind == "array":
            return [self.value(schema.get("items") or {}, depth + 1) for _ in range(self.rnd.randint(0, 3))]
        if kind == "string":
            return self.rnd.choice(["x", "xx", "abcd", "", "2020-01-01T00:00:00Z", "10.0.0.1", "10.0.0.0/8", "YQ=="])
        if kind in ("integer", "number"):
            return self.rnd.choice([0, 1, 2, 5, -1] + ([1.5] if kind == "number" else []))
        if kind == "boolean":
            return self.chance(0.5)
        return self.rnd.choice([1, "50%", {"p": 1}, "x"])

    def custom(self):
        """A definition, objects of it, a change of it, more objects."""
        schema = {"type": "object", "properties": {"spec": self.schema(1)}}
        if schema["properties"]["spec"].get("type") != "object":
            schema["properties"]["spec"] = {"type": "object", "properties": {"a": schema["properties"]["spec"]}}
        if self.chance(0.5):
            schema["properties"]["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        more = {}
        if self.chance(0.5):
            more["subresources"] = {"status": {}}
            if self.chance(0.4):
                schema["properties"]["spec"].setdefault("properties", {})["replicas"] = {"type": "integer"}
                more["subresources"]["scale"] = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
        if self.chance(0.3):
            more["additionalPrinterColumns"] = [{"name": "A", "type": self.rnd.choice(["string", "integer", "date", "boolean"]), "jsonPath": self.rnd.choice([".spec.a", ".spec.b", ".metadata.creationTimestamp", ".spec.c[0]"])}]
        definition = crd(schema, **more)
        definition.update({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"})
        definitions, name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "things.${run}.example.com"
        steps = [{"method": "POST", "path": definitions, "body": definition, "managedFields": True, "ignore": ["/status"]}]
        thing = Kind("${run}.example.com/v1", {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["get"]}, schema)
        thing.subresources = sorted(more.get("subresources", {}))
        if self.chance(0.25):
            return [self.broken(dict(steps[0], query={"dryRun": "All"}), definition) for _ in range(5)]
        steps += [{"path": definitions + "/" + name, "unchecked": True, "until": {"at": "/status/conditions/type=Established/status", "equals": "True", "timeout_s": 3, "optional": True}},
                  {"path": thing.path(), "unchecked": True, "until": {"status": 200, "timeout_s": 3, "optional": True}}]
        for _ in range(self.rnd.randint(4, 9)):
            steps.append(self.thing_step(thing, schema))
        return steps

    def versions(self):
        """A definition with two or three versions, without and with a webhook that converts; writes and reads in all of them, and another
        storage version."""
        names, fields = ["v1", "v2", "v3"][:self.rnd.randint(2, 3)], {"v1": "a", "v2": "b", "v3": "a"}
        value = self.schema(2)
        schemas = {}
        for name in names:
            spec = {"type": "object", "properties": {fields[name]: value, "same": {"type": "string"}, "only" + name: self.schema(3)}}
            schemas[name] = {"type": "object", "properties": {"spec": spec}}
            if self.chance(0.7):
                schemas[name]["properties"]["status"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        storage, later = self.rnd.choice(names), self.rnd.choice(names)
        definition = crd(schemas["v1"])

        def list_of(storage):
            more = {"subresources": {"status": {}}} if status else {}
            return [{"name": n, "served": True, "storage": n == storage, "schema": {"openAPIV3Schema": schemas[n]}, **more} for n in names]
        status = self.chance(0.5)
        definition["spec"]["versions"] = list_of(storage)
        definition.update({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"})
        if self.chance(0.6):
            self.webhook = {"convert": {"rename": {"v1": {"b": "a"}, "v2": {"a": "b"}, "v3": {"b": "a"}}, "annotate": self.chance(0.3)}}
            definition["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {
                "url": "${webhook_url}/convert", "caBundle": "${webhook_ca}"}}}
        definitions, name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "things.${run}.example.com"
        things = [Kind("${run}.example.com/" + n, {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["get"]}, schemas[n]) for n in names]
        for thing in things:
            thing.subresources = ["status"] if status else []
        served = [{"path": t.path(), "unchecked": True, "until": {"status": 200, "timeout_s": 3, "optional": True}} for t in things]
        steps = [{"method": "POST", "path": definitions, "body": definition, "ignore": ["/status", "/metadata/managedFields"]},
                 {"path": definitions + "/" + name, "unchecked": True, "until": {"at": "/status/conditions/type=Established/status", "equals": "True", "timeout_s": 3, "optional": True}}, *served]

        def some(count):
            for _ in range(count):
                thing = self.rnd.choice(things)
                step = self.thing_step(thing, schemas[thing.group_version.split("/")[1]])
                # Ownership is not converted between versions.
                if step.get("contentType") != PATCHES["apply"]:
                    yield {k: v for k, v in step.items() if k != "managedFields"}
                for other in things:
                    if self.chance(0.5):
                        read = self.list(other) if self.chance(0.5) else self.get(other, self.rnd.choice(["o1", "o2"]))
                        yield {k: v for k, v in read.items() if k != "managedFields"}
        steps += list(some(self.rnd.randint(2, 4)))
        if later != storage:
            # The server learns of a changed definition a moment later.
            steps += [{"method": "PATCH", "path": definitions + "/" + name, "contentType": PATCHES["merge"], "body": {"spec": {"versions": list_of(later)}}, "unchecked": True},
                      {"sleep_s": 0.5}, *served]
            steps += list(some(self.rnd.randint(2, 4)))
        return steps

    def thing(self, thing, schema, name):
        body = {"apiVersion": thing.group_version, "kind": "Thing", "metadata": {"name": name}, **self.value(schema)}
        if self.chance(0.4):
            body = mutate(self.rnd, body)
        return body

    def thing_step(self, thing, schema):
        name = self.rnd.choice(["o1", "o1", "o2"])
        body, at = self.thing(thing, schema, name), thing.path(name)
        common = {"managedFields": True}
        ways = [lambda: self.write({"method": "POST", "path": thing.path(), "save": self.save(), **common, **self.options()}, body),
                lambda: self.write({"method": "PATCH", "path": at, "contentType": PATCHES["apply"], **common, **self.options("apply")}, body),
                lambda: self.put_thing(at, body, common),
                lambda: {"method": "PATCH", "path": at, "contentType": PATCHES["merge"], "body": {k: v for k, v in body.items() if k in ("spec", "status")} if isinstance(body, dict) else body, **common, **self.options()},
                lambda: {"method": "PATCH", "path": at, "contentType": PATCHES["json"], "body": self.json_patch_of(body), **common},
                lambda: self.get(thing, name), lambda: self.list(thing), lambda: self.delete(thing, name)]
        step = self.rnd.choices(ways, [8, 6, 4, 4, 2, 1, 2, 1])[0]()
        if thing.subresources and self.chance(0.15):
            sub = self.rnd.choice(thing.subresources)
            if sub == "scale":
                return {"method": "PATCH", "path": at + "/scale", "contentType": PATCHES["merge"], "body": {"spec": {"replicas": self.rnd.choice([1, 3, -1])}}} if self.chance(0.6) else {"path": at + "/scale"}
            return {"method": "PATCH", "path": at + "/status", "contentType": PATCHES["merge"], "body": {"status": {"a": self.rnd.choice([1, "x", None])}}, **common}
        return step

    def put_thing(self, at, body, common):
        if isinstance(body, dict) and isinstance(body.get("metadata"), dict) and self.saves and self.chance(0.85):
            body["metadata"]["resourceVersion"] = "${rv:s%d}" % self.rnd.randint(1, self.saves)
        return self.write({"method": "PUT", "path": at, **common, **self.options()}, body)

    def json_patch_of(self, body):
        spec = body.get("spec") if isinstance(body, dict) else None
        return [{"op": self.rnd.choice(["add", "replace", "remove", "test"]), "path": self.rnd.choice(["/spec", "/spec/a", "/spec/b", "/metadata/labels", "/spec/a/0", "/spec/zz"]), "value": spec.get("a") if isinstance(spec, dict) else 1}]

    # -- access
    def access(self):
        """Roles, bindings, and what somebody may do then."""
        user = "u-${run}"
        as_user = {"Impersonate-User": user}
        rules = [{"apiGroups": [self.rnd.choice(["", "apps", "*", "rbac.authorization.k8s.io"])], "resources": [self.rnd.choice(["configmaps", "*", "pods/status", "deployments", "roles", "deployments/scale", "*/scale"])],
                  "verbs": self.rnd.sample(VERBS[:6], self.rnd.randint(1, 3)), **({"resourceNames": ["o1"]} if self.chance(0.2) else {})} for _ in range(self.rnd.randint(1, 2))]
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        steps = [{"method": "POST", "path": rbac + "/namespaces/${ns}/roles", "body": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules}},
                 {"method": "POST", "path": rbac + "/namespaces/${ns}/rolebindings", "body": {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"},
                  "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": self.rnd.choice(["Role", "Role", "ClusterRole"]), "name": self.rnd.choice(["r", "view", "edit", "admin"])},
                  "subjects": [self.rnd.choice([{"kind": "User", "name": user}, {"kind": "Group", "name": "g-${run}"}, {"kind": "ServiceAccount", "name": "default", "namespace": "${ns}"}])]}}]
        for _ in range(self.rnd.randint(4, 8)):
            draw = self.rnd.random()
            if draw < 0.5:
                headers = self.rnd.choice([as_user, as_user, {**as_user, "Impersonate-Group": "g-${run}"}, {"Impersonate-User": "system:serviceaccount:${ns}:default"}, {"Impersonate-Group": "g"},
                                           {**as_user, "Impersonate-Uid": "1"}, {**as_user, "Impersonate-Extra-Scopes": "x"}, {"Impersonate-User": "system:anonymous"}])
                kind = self.kind(("v1", "configmaps"), ("apps/v1", "deployments"), ("rbac.authorization.k8s.io/v1", "roles"), ("rbac.authorization.k8s.io/v1", "rolebindings"), ("v1", "pods"), ("rbac.authorization.k8s.io/v1", "clusterroles"), ("v1", "secrets"))
                step = self.rnd.choice([lambda: self.create(kind, clean=0.9), lambda: self.get(kind), lambda: self.list(kind), lambda: self.patch(kind), lambda: self.delete(kind), lambda: self.subresource(kind), lambda: self.update(kind)])()
                steps.append({**step, "headers": headers})
            elif draw < 0.8:
                attributes = {"namespace": self.rnd.choice(["${ns}", "", "other"]), "verb": self.rnd.choice(VERBS), "resource": self.rnd.choice(["configmaps", "pods", "deployments", "*", "roles", ""]),
                              "group": self.rnd.choice(["", "apps", "*"]), "subresource": self.rnd.choice(["", "", "status", "scale"]), "name": self.rnd.choice(["", "o1"])}
                body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": user, "groups": self.rnd.choice([[], ["g-${run}"], ["system:authenticated"]]), "resourceAttributes": attributes}}
                if self.chance(0.2):
                    body["spec"].pop("resourceAttributes")
                    body["spec"]["nonResourceAttributes"] = {"path": self.rnd.choice(["/healthz", "/x", "/api"]), "verb": "get"}
                steps.append(self.broken({"method": "POST", "path": "/apis/authorization.k8s.io/v1/subjectaccessreviews"}, body) if self.chance(0.3) else
                             {"method": "POST", "path": "/apis/authorization.k8s.io/v1/subjectaccessreviews", "body": body})
            else:
                kind = self.rnd.choice([("selfsubjectrulesreviews", "SelfSubjectRulesReview", {"namespace": "${ns}"}), ("selfsubjectaccessreviews", "SelfSubjectAccessReview", {"resourceAttributes": {"namespace": "${ns}", "verb": "get", "resource": "configmaps"}})])
                steps.append({"method": "POST", "path": "/apis/authorization.k8s.io/v1/" + kind[0], "headers": as_user, "body": {"apiVersion": "authorization.k8s.io/v1", "kind": kind[1], "spec": kind[2]}})
        return steps

    # -- admission
    def admitted(self):
        """A webhook configuration, and writes that meet it."""
        kind = self.kind(("v1", "configmaps"), ("v1", "pods"), ("apps/v1", "deployments"), ("v1", "services"))
        mutating = self.chance(0.6)
        behaviours = [{"allow": True}, {"warnings": ["careful"]}, {"deny": {"message": "no", "code": 403, "reason": "Forbidden"}}, {"deny": {"message": "no"}}, {"http": 500}, {"raw": "{}"},
                      {"response": {"allowed": False}}, {"patch": [{"op": "add", "path": "/metadata/labels", "value": {"hooked": "yes"}}]}, {"patch": [{"op": "remove", "path": "/x"}]},
                      {"patch": [{"op": "add", "path": "/metadata/annotations", "value": {"a": "b"}}]}, {"patch": [{"op": "add", "path": "/bogus", "value": 1}]}, {"patch": [{"op": "replace", "path": "/metadata/name", "value": "z"}]}]
        self.webhook = {"a": self.rnd.choice(behaviours), "b": self.rnd.choice(behaviours)}
        hooks = []
        for name in self.rnd.choice([["a"], ["a", "b"]]):
            one = {"name": name + ".example.com", "clientConfig": {"url": "${webhook_url}/" + name, "caBundle": "${webhook_ca}"}, "sideEffects": self.rnd.choice(["None", "None", "NoneOnDryRun"]),
                   "admissionReviewVersions": ["v1"], "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "${ns}"}}, "timeoutSeconds": 5,
                   "rules": [{"apiGroups": [kind.group or ""], "apiVersions": ["*"], "resources": [self.rnd.choice([kind.plural, kind.plural, "*", kind.plural + "/*", "*/*"])],
                              "operations": self.rnd.choice([["*"], ["CREATE", "UPDATE"], ["DELETE"], ["CREATE"]])}]}
            if self.chance(0.3):
                one["failurePolicy"] = self.rnd.choice(["Ignore", "Fail"])
            if self.chance(0.2):
                one["matchConditions"] = [{"name": "c", "expression": self.rnd.choice(["request.operation == 'CREATE'", "object.metadata.name == 'o1'", "object.x.y == 1", "has(object.metadata.labels)", "request.userInfo.username == 'admin'"])}]
            if self.chance(0.2):
                one["objectSelector"] = {"matchLabels": {"app": "a"}}
            if mutating and self.chance(0.3):
                one["reinvocationPolicy"] = "IfNeeded"
            hooks.append(one)
        word = "Mutating" if mutating else "Validating"
        configuration = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": word + "WebhookConfiguration", "metadata": {"name": "c-${run}"}, "webhooks": hooks}
        path = "/apis/admissionregistration.k8s.io/v1/%swebhookconfigurations" % word.lower()
        probe = {"method": "POST", "path": kind.path(), "query": {"dryRun": "All"}, "body": template(self.rnd, kind.group_version, kind.plural, kind.kind, "probe"), "unchecked": True}
        # The server learns of a configuration a moment later.
        return [{"method": "POST", "path": path, "body": configuration}, {"sleep_s": 0.4}, probe] + [
            {**s, "managedFields": True} for s in self.writes(kind, self.rnd.randint(2, 6))]

    # -- the rest
    def odd(self):
        """Paths, methods and headers that are no write of an object."""
        kind = self.kind()
        base = kind.path(kind.name("o1"))
        steps = []
        for _ in range(self.rnd.randint(3, 7)):
            steps.append(self.rnd.choice([
                lambda: {"method": self.rnd.choice(["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE"]), "path": self.rnd.choice([base, kind.path() if kind.namespaced else base, base + "/status", base + "/bogus", base + "/scale", "/api", "/apis", "/version", "/healthz", "/"]), "body": {}},
                lambda: {"path": self.rnd.choice(["/api/v2", "/apis/bogus", "/apis/apps", "/apis/apps/v9", "/apis/apps/v1/bogus", "/api/v1/namespaces/${ns}/bogus", "/bogus", base + "/bogus", base + "/log", base + "/a/b", "/api/v1/namespaces/${ns}", "/livez", "/readyz", "/api/", "/apis/" + (kind.group or "apps"), "/openapi/v3/bogus", "/api/v1/watch/namespaces/${ns}/configmaps/x", kind.path() + "/"])},
                lambda: {"path": kind.path() if kind.namespaced else base, "accept": self.rnd.choice(["application/yaml", "application/json;as=Table;v=v1;g=meta.k8s.io", "*/*", "text/html", "application/xml", "application/json;q=0", "", "application/json;stream=watch"])},
                lambda: {"method": "POST", "path": kind.path(), "contentType": self.rnd.choice(["text/plain", "application/json; charset=utf-8", "application/yaml", "", "application/merge-patch+json"]), "body": self.body(kind, "o1", 1)},
                lambda: {"method": "POST", "path": kind.path(), "bodyText": self.rnd.choice(["", "{", "[]", "null", "\"x\"", "1", "{}", "{\"kind\": 1}", "{\"apiVersion\": \"v1\"}", "kind: X", "{\"apiVersion\":\"a/b/c\",\"kind\":\"X\"}", "\u00e4"])},
                lambda: {"method": "PATCH", "path": base, "contentType": self.rnd.choice(["application/json", "text/plain", *PATCHES.values()]), "bodyText": self.rnd.choice(["", "{", "[]", "null", "\"x\"", "{}", "kind: X"])},
                lambda: {"method": "DELETE", "path": base, "bodyText": self.rnd.choice(["{", "[]", "null", "{}", "{\"kind\":\"X\",\"apiVersion\":\"v1\"}", "{\"propagationPolicy\":1}"])},
                lambda: self.create(kind, "o1", 1)])())
        return steps

    THEMES = [("one_kind", 10), ("applies", 5), ("watched", 2), ("lists", 2), ("custom", 4), ("versions", 2), ("access", 1.5), ("admitted", 1), ("odd", 1)]

    def sequence(self, number, seed, only=None):
        names = [n for n, _ in self.THEMES if not only or n in only]
        theme = self.rnd.choices(names, [dict(self.THEMES)[n] for n in names])[0]
        steps = getattr(self, theme)()
        case = {"name": "differential/s%d-%d" % (seed, number), "area": "differential", "description": theme, "steps": steps}
        if self.webhook:
            case["webhook"] = self.webhook
        return json.loads(json.dumps(case))
