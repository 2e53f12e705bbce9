"""Sends one sequence to both servers and says how the answers differ: a difference has a class, its signature."""
import os
import re
import sys
import types
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "conformance"))
import replay  # noqa: E402  (the recordings' own client, normalisation and webhook)

OPTIONS = types.SimpleNamespace(record=False, lenient_messages=False, keep=False)
WRITES = {"POST": "create", "PUT": "update"}


class Run(replay.Scenario):
    """A scenario that keeps the answers instead of judging them: index -> (step, answer)."""

    def __init__(self, case, client, webhook):
        self.answers = {}
        super().__init__(case, client, webhook, OPTIONS)

    def judge(self, raw, index, label, actual, body):
        self.answers[index] = (raw, actual)


class Server:
    """One of the two, with threads that keep their connections."""

    def __init__(self, running, jobs=1):
        self.running = running
        self.client = replay.Client(running.url, running.token, running.ca)
        self.pool = ThreadPoolExecutor(max_workers=jobs)


def both(case, servers, webhook):
    """The two runs of a sequence, done side by side."""
    runs = [Run(case, server.client, webhook) for server in servers]
    for done in [server.pool.submit(run.execute) for server, run in zip(servers, runs)]:
        done.result()
    return runs


# ------------------------------------------------------------------------------ signatures

POD_SPEC = re.compile(r"^(?:spec\.jobTemplate\.spec\.template|spec\.template|template|spec\.podTemplate)\.(spec|metadata)\b")


def template(text):
    """A message without what differs from one object to the next."""
    text = re.sub(r"Go struct field \S+ of type .*", "Go struct field _", str(text))
    text = re.sub(r"^\S+ in version \"[^\"]*\" cannot be handled as a \S+:", "K cannot be handled:", text)
    text = re.sub(r'unknown field "[^"]*"', "unknown field", text)
    text = re.sub(r'duplicate field "[^"]*"', "duplicate field", text)
    text = re.sub(r'"(\\.|[^"\\])*"', '"_"', text)
    text = re.sub(r"'[^']*'", "'_'", text)
    text = re.sub(r"[\[{][^ ]*[\]}]", "{_}", text)
    text = re.sub(r"\b[\w.${}-]+ \"_\" is invalid", 'K "_" is invalid', text)
    text = re.sub(r"-?\d+(\.\d+)?(e[+-]\d+)?", "N", text)
    text = re.sub(r"^[\w.${}]+ \"_\" (not found|already exists|is forbidden)", r'O "_" \1', text)
    text = re.sub(r"(couldn't get version/kind; json parse error: ).*", r"\1…", text, flags=re.S)
    text = re.sub(r"must be of type \w+", "must be of type K", text)
    text = re.sub(r"(\.v\d|\.)[\w.]*: failed", ".: failed", text)
    return text[:160]


def warning(text):
    """The text of a Warning header."""
    return re.sub(r'^299 - "(.*)"$', r"\1", text).replace('\\"', '"')


def field(path):
    """The field of a cause without indices and keys; fields of a Pod are the same wherever its spec is."""
    path = re.sub(r"\[[^\]]*\]", "[*]", str(path))
    path = POD_SPEC.sub(lambda m: m.group(1), path)
    return re.sub(r"\b(initContainers|ephemeralContainers)\b", "containers", path)


def resource(step):
    """group/plural and subresource of a step's path."""
    path = (step.get("watch") or step)["path"]
    found = re.match(r"/(?:api|apis/([^/]+))/[^/]+/(?:namespaces/[^/]+/)?([^/]+)(?:/[^/]+)?(?:/(.+))?", path)
    if not found:
        return path
    group, plural, sub = found.groups()
    if group and group.startswith("${run}"):
        group = "custom"
    return "/".join(x for x in (group, plural, sub) if x)


def verb(step):
    if "watch" in step:
        return "watch"
    method = step.get("method", "GET")
    if method == "PATCH":
        kind = re.sub(r".*/(\w+)-.*", r"\1", step.get("contentType", ""))
        return "apply" if kind == "apply" else kind + "-patch"
    if method == "GET":
        named = re.search(r"/(?:\w+s)/[^/]+$", step["path"].replace("/namespaces/${ns}", ""))
        return "get" if named else "list"
    return WRITES.get(method, method.lower())


def status_of(answer):
    body = answer.get("body")
    return body if isinstance(body, dict) and body.get("kind") == "Status" else {}


def causes(answer):
    """(field, reason, message) of what is wrong, one by one; without causes the message."""
    status = status_of(answer)
    found = (status.get("details") or {}).get("causes") or []
    if found:
        return [(str(c.get("field", "")), str(c.get("reason", "")), str(c.get("message", ""))) for c in found]
    strict = re.search(r"strict decoding error: (.*)$", str(status.get("message")), re.S)
    if strict:
        return [("", "StrictDecoding", part) for part in re.split(r", (?=unknown field|duplicate field)", strict.group(1))]
    return [("", str(status.get("reason")), str(status.get("message", answer.get("body"))))]


def about(step, path):
    """Where a cause belongs: metadata and decoding are the same for all kinds, so are Pods in templates."""
    if not path or re.match(r"metadata\b", path):
        return "any"
    if re.match(r"(spec|template)\.", path) and field(path) != re.sub(r"\[[^\]]*\]", "[*]", path):
        return "podspec"
    if resource(step).startswith("pods") and path.startswith("spec"):
        return "podspec"
    return resource(step)


def named(step, cause):
    path, reason, message = cause
    where = about(step, path)
    if not path:
        where = "any" if reason in ("BadRequest", "StrictDecoding", "UnsupportedMediaType", "NotAcceptable") else resource(step) + " " + verb(step)
    return "%s | %s | %s | %s" % (where, field(path), reason, template(message))


def pointer(at):
    """A JSON pointer without indices, with the keys of managedFields kept short."""
    tokens = at.split("/")[1:]
    if "managedFields" in tokens:
        kept = [t for t in tokens if t.startswith("f:") or t in ("managedFields", ".", "operation", "manager", "subresource", "apiVersion")]
        kept = [t for t in tokens if t == "managedFields"] + [t for t in kept if t != "managedFields"][:4]
        return "/" + "/".join(kept)
    return "/" + "/".join("*" if t.isdigit() else t for t in tokens)


def body_classes(step, real, ours):
    out = []
    for at, want, got in replay.diff(real, ours):
        how = "lacks" if got == replay.ABSENT else "adds" if want == replay.ABSENT else "differs"
        out.append("%s %s | %s %s" % (resource(step), verb(step), how, pointer(at)))
    return out


def errors(step, real, ours):
    """Classes of two refusals, or of a refusal and an acceptance."""
    if ours["status"] < 400:
        return ["1 accepts | " + named(step, c) for c in causes(real)]
    if real["status"] < 400:
        return ["2 rejects | " + named(step, c) for c in causes(ours)]
    wanted, got = causes(real), causes(ours)
    if real["status"] != ours["status"]:
        return ["4 status %s not %s | %s" % (real["status"], ours["status"], template(wanted[0][2]))]
    if wanted[0][0] or got[0][0] or wanted[0][1] == "StrictDecoding" == got[0][1]:
        def key(c):
            return (field(c[0]), c[1], template(c[2]) if c[1] == "StrictDecoding" else "")
        have, want = [key(c) for c in got], [key(c) for c in wanted]
        out = ["1 lacks cause | " + named(step, c) for c in wanted if want.count(key(c)) > have.count(key(c))]
        out += ["2 extra cause | " + named(step, c) for c in got if have.count(key(c)) > want.count(key(c))]
        if out:
            return out
        return ["5 wording | %s | ours: %s" % (named(step, a), template(b[2])) for a, b in zip(sorted(wanted), sorted(got)) if a != b]
    if status_of(real).get("reason") != status_of(ours).get("reason"):
        return ["4 reason | %s | ours: %s %s" % (named(step, wanted[0]), status_of(ours).get("reason"), template(got[0][2]))]
    if wanted != got:
        return ["5 wording | %s | ours: %s" % (named(step, wanted[0]), template(got[0][2]))]
    return []


def classes(step, real, ours):
    """The classes of the differences between two answers to one step; none when they are alike."""
    if real == ours:
        return []
    out = []
    if max(real.get("status", 0), ours.get("status", 0)) >= 400:
        out = errors(step, real, ours)
    elif real.get("status") != ours.get("status"):
        out = ["4 status %s not %s | %s %s" % (real.get("status"), ours.get("status"), resource(step), verb(step))]
    for w in sorted(set(real.get("warnings", [])) - set(ours.get("warnings", []))):
        out.append("3 no warning | %s" % template(warning(w)))
    for w in sorted(set(ours.get("warnings", [])) - set(real.get("warnings", []))):
        out.append("3 extra warning | %s" % template(warning(w)))
    if not out and real.get("contentType") != ours.get("contentType"):
        out.append("4 contentType | %s not %s | %s %s" % (real.get("contentType"), ours.get("contentType"), resource(step), verb(step)))
    if not out and "events" in real and "events" in ours:
        kinds = [[e.get("type") for e in a["events"]] for a in (real, ours)]
        if kinds[0] != kinds[1]:
            out.append("3 events | %s | %s not %s" % (resource(step), ",".join(map(str, kinds[0])), ",".join(map(str, kinds[1]))))
    if not out:
        out = ["3 body | " + c for c in body_classes(step, {k: v for k, v in real.items() if k != "warnings"}, {k: v for k, v in ours.items() if k != "warnings"})]
    return sorted(set(out))[:8] or ["3 warnings in another order"]


def first_difference(runs):
    """(index, step, classes, real answer) of the first step that differs, or None."""
    real, ours = runs
    for index in sorted(set(real.answers) | set(ours.answers)):
        if index not in real.answers or index not in ours.answers:
            why = (ours if index in real.answers else real).failures
            text = template(why[0].diffs[0][2]) if why else "no answer"
            step = (real.answers.get(index) or ours.answers[index])[0]
            who = "ours" if index in real.answers else "real"
            return index, step, ["2 %s ended the scenario | %s %s | %s" % (who, resource(step), verb(step), text)], None
        found = classes(real.answers[index][0], real.answers[index][1], ours.answers[index][1])
        if found:
            return index, real.answers[index][0], found, real.answers[index][1]
    return None
