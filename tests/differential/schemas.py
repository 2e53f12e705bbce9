"""Bodies drawn from OpenAPI v3 schemas, and ways to break them."""
import copy
import json

WORDS = ["a", "b", "web", "x1", "blue", "main"]
BAD_TEXT = ["", "Bad_Name", "-a", "a b", "a/b/c", "a..b", "UPPER", "\u00e4", "a" * 64, "a" * 254, "..", "a.", "*", "1", "true", "10Gi", "-1"]
OTHER_TYPES = ["text", "", 7, -1, 0, 1.5, 2147483648, 9999999999999999999, True, False, None, [], ["a"], {}, {"a": "b"}, [{}], [None]]

# What a field of this name usually holds; the rest is a word.
STRINGS = {
    "image": ["nginx:1", "busybox"], "namespace": ["${ns}"], "mountPath": ["/data", "/etc/x"], "path": ["/", "/healthz"],
    "apiVersion": ["v1", "apps/v1"], "schedule": ["*/5 * * * *"], "ip": ["10.1.2.3"], "hostIP": ["127.0.0.1"],
    "cidr": ["10.0.0.0/8"], "protocol": ["TCP", "UDP"], "key": ["k", "example.com/k"], "uid": ["00000000-0000-0000-0000-00000000000a"],
    "resourceVersion": [""], "generateName": [""], "topologyKey": ["kubernetes.io/hostname"], "operator": ["In", "Exists", "Equal"],
    "effect": ["NoSchedule", "NoExecute"], "weight": ["1"], "host": ["example.com"], "hostname": ["h"], "clusterIP": [""],
    "timeZone": ["Etc/UTC"], "controller": ["example.com/c"], "provisioner": ["example.com/p"], "driver": ["example.com"],
    "expression": ["true"], "rule": ["self == self"], "creationTimestamp": ["2020-01-01T00:00:00Z"],
}
NUMBERS = {"port": [80, 443, 8080], "containerPort": [80, 8080], "hostPort": [8080], "replicas": [0, 1, 3], "nodePort": [30000 + 33],
           "weight": [1, 50], "runAsUser": [0, 1000], "periodSeconds": [5], "defaultMode": [420, 0o600]}


class Schemas:
    """The definitions of all groups, by the name that references use."""

    def __init__(self, documents):
        self.all = {}
        self.kinds = {}
        for document in documents:
            for name, schema in (document.get("components", {}).get("schemas") or {}).items():
                self.all[name] = schema
                for gvk in schema.get("x-kubernetes-group-version-kind", []):
                    self.kinds.setdefault((gvk["group"], gvk["version"], gvk["kind"]), schema)

    def deref(self, schema):
        while schema:
            if "$ref" in schema:
                schema = self.all.get(schema["$ref"].rsplit("/", 1)[-1], {})
            elif len(schema.get("allOf", [])) == 1 and "properties" not in schema:
                schema = {**schema["allOf"][0], **{k: v for k, v in schema.items() if k == "enum"}}
            else:
                return schema
        return {}

    def at(self, schema, path):
        """The schema of what `path` names in an object of `schema`; {} where there is none."""
        schema = self.deref(schema)
        for step in path:
            if isinstance(step, int):
                schema = self.deref(schema.get("items") or {})
            else:
                schema = self.deref((schema.get("properties") or {}).get(step) or schema.get("additionalProperties") or {})
        return schema

    def draw(self, rnd, schema, key="", depth=0):
        """A well-formed value; which fields it has is chance, the deeper the fewer."""
        schema = self.deref(schema)
        if schema.get("enum"):
            return rnd.choice(schema["enum"])
        kind, form = schema.get("type"), schema.get("format")
        if "oneOf" in schema or form == "int-or-string":
            return rnd.choice([1, 80, "http", "25%", "100m", "1Gi"])
        if kind == "string":
            return self.text(rnd, key, form)
        if kind in ("integer", "number"):
            return rnd.choice(NUMBERS.get(key, [0, 1, 2, 30]))
        if kind == "boolean":
            return rnd.random() < 0.5
        if kind == "array":
            return [self.draw(rnd, schema.get("items") or {}, key, depth + 1) for _ in range(rnd.choice([0, 1, 1, 2]))]
        if schema.get("properties"):
            required = set(schema.get("required", []))
            out = {}
            for name in sorted(schema["properties"]):
                chance = 0.95 if name in required else 0.45 / (1 + depth)
                if name not in ("managedFields", "status") and rnd.random() < chance:
                    out[name] = self.draw(rnd, schema["properties"][name], name, depth + 1)
            return out
        if isinstance(schema.get("additionalProperties"), dict):
            return {k: self.draw(rnd, schema["additionalProperties"], key, depth + 1) for k in rnd.sample(["app", "k", "cpu", "example.com/x"], rnd.choice([0, 1, 2]))}
        return rnd.choice([{}, {"a": 1}])

    @staticmethod
    def text(rnd, key, form):
        if form == "date-time":
            return "2020-01-02T03:04:05Z"
        if form == "byte":
            return rnd.choice(["YQ==", "", "e30="])
        return rnd.choice(STRINGS.get(key, WORDS))


def paths(node, at=()):
    """Every place in a body."""
    yield at
    if isinstance(node, dict):
        for key in sorted(node):
            yield from paths(node[key], at + (key,))
    elif isinstance(node, list):
        for i, value in enumerate(node):
            yield from paths(value, at + (i,))


def get(node, path):
    for step in path:
        node = node[step]
    return node


def put(node, path, value):
    """A copy of `node` with `value` at `path`."""
    node = copy.deepcopy(node)
    if not path:
        return value
    get(node, path[:-1])[path[-1]] = value
    return node


def without(node, path):
    node = copy.deepcopy(node)
    del get(node, path[:-1])[path[-1]]
    return node


def extend(rnd, schemas, schema, body):
    """The body with one more well-formed field somewhere."""
    places = [p for p in paths(body) if isinstance(get(body, p), dict) and "managedFields" not in p]
    for _ in range(8):
        place = rnd.choice(places)
        properties = schemas.at(schema, place).get("properties") or {}
        absent = sorted(set(properties) - set(get(body, place)) - {"status", "managedFields", "apiVersion", "kind"})
        if absent:
            key = rnd.choice(absent)
            return put(body, place + (key,), schemas.draw(rnd, properties[key], key, len(place)))
    return body


def mutate(rnd, body):
    """The body, broken in one place (or made odd: some of what this makes is valid)."""
    fixed = {("apiVersion",), ("kind",)}
    places = [p for p in paths(body) if p and (p not in fixed or rnd.random() < 0.05)]
    if not places:
        return {**body, "bogus": 1} if isinstance(body, dict) else body
    place = rnd.choice(places)
    old = get(body, place)
    ways = ["type", "remove", "null", "unknown"]
    if isinstance(old, str):
        ways += ["text"] * 4
    elif isinstance(old, bool):
        ways += ["flip"]
    elif isinstance(old, int):
        ways += ["number"] * 3
    elif isinstance(old, list):
        ways += ["double"] * 3 + ["empty"]
    elif isinstance(old, dict):
        ways += ["empty", "unknown", "unknown", "key"]
    way = rnd.choice(ways)
    if way == "remove":
        return without(body, place)
    if way == "unknown":
        at = place if isinstance(old, dict) else place[:-1]
        holder = get(body, at)
        if isinstance(holder, dict):
            return put(body, at + (rnd.choice(["bogus", "Name", "names", "x-y"]),), rnd.choice([1, "x", {}, None, [1]]))
        return put(body, place, None)
    if way == "key" and old:
        key = rnd.choice(sorted(old))
        changed = dict(old)
        changed[rnd.choice([rnd.choice(BAD_TEXT), key.upper(), key + "s"])] = changed.pop(key)
        return put(body, place, changed)
    value = {"type": lambda: rnd.choice(OTHER_TYPES), "null": lambda: None, "text": lambda: rnd.choice(BAD_TEXT),
             "flip": lambda: not old, "number": lambda: rnd.choice([-1, 0, 65536, 2147483648, old + 1, 100000]),
             "double": lambda: old + copy.deepcopy(old[-1:]), "empty": lambda: type(old)(), "key": lambda: old}[way]()
    return put(body, place, value)


def doubled_key(rnd, body):
    """JSON text in which one member is there twice."""
    text = json.dumps(body)
    places = [p for p in paths(body) if p and isinstance(p[-1], str) and json.dumps(get(body, p)) not in ("{}", "[]")]
    if not places:
        return text
    place = rnd.choice(places)
    member = "%s: %s" % (json.dumps(place[-1]), json.dumps(get(body, place)))
    return text.replace(member, member + ", " + member, 1)
