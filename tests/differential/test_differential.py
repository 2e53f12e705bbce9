#!/usr/bin/env python3
"""The comparer finds, names and shrinks a difference; a seed always draws the same. Needs no API server."""
import copy
import http.server
import json
import random
import threading
import types
import unittest

import compare
import differential
import shrink
from schemas import Schemas, mutate, paths
from sequences import Drawer, Kind


class Store(http.server.BaseHTTPRequestHandler):
    """A server that keeps ConfigMaps by name; a tampering one forgets a key of their data."""

    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def read(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"null")

    def do_POST(self):
        body = self.read()
        if "configmaps" in self.path:
            body = copy.deepcopy(body)
            if self.server.forgets in body.get("data", {}):
                del body["data"][self.server.forgets]
            name = (body.get("metadata") or {}).get("name")
            if name is None:
                return self.answer(422, {"kind": "Status", "reason": "Invalid", "message": "name or generateName is required"})
            self.server.kept[name] = body
        self.answer(201, body)

    def do_GET(self):
        found = self.server.kept.get(self.path.rsplit("/", 1)[-1])
        self.answer(200 if found else 404, found or {"kind": "Status", "reason": "NotFound", "message": "not found"})

    do_DELETE = do_PUT = do_PATCH = do_GET

    def log_message(self, *arguments):
        pass


def serve(forgets):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
    server.forgets, server.kept, server.daemon_threads = forgets, {}, True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    running = types.SimpleNamespace(url="http://127.0.0.1:%d" % server.server_address[1], token=None, ca=None)
    return server, compare.Server(running)


def create(name, data):
    return {"method": "POST", "path": "/api/v1/namespaces/${ns}/configmaps", "body": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}}


CASE = {"name": "t", "area": "differential", "description": "t", "steps": [
    create("a", {"x": "1"}), {"path": "/api/v1/namespaces/${ns}/configmaps/a"},
    create("b", {"x": "1", "bad": "2", "y": "3"}), {"path": "/api/v1/namespaces/${ns}/configmaps/b"}]}


class Compared(unittest.TestCase):
    def setUp(self):
        (self.one, real), (self.two, ours) = serve(None), serve("bad")
        self.pair = [real, ours]
        found = differential.Found(types.SimpleNamespace(reason=lambda name: None), None)
        self.tester = differential.Tester(self.pair, None, found, 20)

    def tearDown(self):
        for server in (self.one, self.two):
            server.shutdown()
            server.server_close()

    def test_a_tampered_answer_is_found_named_and_shrunk(self):
        index, step, names, _ = self.tester.differs(CASE)
        self.assertEqual((index, step["body"]["metadata"]["name"]), (3, "b"))
        self.assertEqual(names, ["3 body | configmaps create | lacks /body/data/bad"])
        small = shrink.shrink(shrink.shorter(CASE, index), lambda case: self.tester.again(case, names[0]))
        self.assertEqual([s["body"]["data"] for s in small["steps"]], [{"bad": "2"}])

    def test_a_recording_of_it_expects_the_real_answer(self):
        recorded = self.tester.recorded(CASE, "class")
        self.assertEqual(recorded["steps"][2]["expect"]["body"]["data"], {"x": "1", "bad": "2", "y": "3"})

    def test_alike_is_alike(self):
        self.assertIsNone(self.tester.differs({**CASE, "steps": CASE["steps"][:2]}))


def refusal(*causes, code=422):
    return {"status": code, "body": {"kind": "Status", "code": code, "reason": "Invalid", "message": "m", "details": {
        "causes": [{"field": f, "reason": r, "message": m} for f, r, m in causes]}}}


class Named(unittest.TestCase):
    step = {"method": "POST", "path": "/apis/apps/v1/namespaces/${ns}/deployments"}

    def test_causes_are_compared_one_by_one(self):
        a, b = ("spec.replicas", "FieldValueInvalid", "Invalid value: -1: no"), ("spec.template.spec.containers[0].name", "FieldValueRequired", "Required value")
        self.assertEqual(compare.classes(self.step, refusal(a, b), refusal(a)), ["1 lacks cause | podspec | spec.containers[*].name | FieldValueRequired | Required value"])
        self.assertEqual(compare.classes(self.step, refusal(a), {"status": 201, "body": {}}), ["1 accepts | apps/deployments | spec.replicas | FieldValueInvalid | Invalid value: N: no"])
        self.assertEqual(compare.classes(self.step, refusal(a, b), refusal(a, b)), [])

    def test_events_and_warnings_are_compared(self):
        real, ours = ({"status": 200, "events": [{"type": t} for t in kinds]} for kinds in (["ADDED", "DELETED"], ["ADDED"]))
        watch = {"watch": {"path": self.step["path"]}}
        self.assertEqual(compare.classes(watch, real, ours), ["3 events | apps/deployments | ADDED,DELETED not ADDED"])
        self.assertEqual(compare.classes(self.step, {"status": 201, "warnings": ['299 - "careful"']}, {"status": 201}), ["3 no warning | careful"])


class Drawn(unittest.TestCase):
    def setUp(self):
        self.schemas = Schemas([{"components": {"schemas": {"ConfigMap": {"type": "object", "properties": {"data": {"additionalProperties": {"type": "string"}}, "metadata": {"type": "object"}},
                                                                          "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "ConfigMap"}]}}}}])
        self.kinds = [Kind("v1", {"name": "configmaps", "kind": "ConfigMap", "namespaced": True, "verbs": ["create", "get", "list", "watch", "patch"]}, self.schemas.kinds["", "v1", "ConfigMap"])]

    def draw(self, seed):
        themes = ["one_kind", "applies", "watched", "lists", "custom", "odd"]
        return [Drawer(random.Random("%d/%d" % (seed, n)), self.schemas, self.kinds).sequence(n, seed, themes) for n in range(30)]

    def test_a_seed_always_draws_the_same_and_another_something_else(self):
        self.assertEqual(self.draw(1), self.draw(1))
        self.assertNotEqual(self.draw(1), self.draw(2))

    def test_a_mutation_changes_the_body_in_one_place_only(self):
        body = create("a", {"x": "1", "y": "2"})["body"]
        before = copy.deepcopy(body)
        for n in range(200):
            changed = mutate(random.Random(n), body)
            self.assertEqual(body, before)
            self.assertGreaterEqual(len(list(paths(changed))), 1)

    def test_no_sequence_deletes_all_objects_of_the_cluster(self):
        kinds = [Kind("v1", {"name": "nodes", "kind": "Node", "namespaced": False, "verbs": ["create", "list", "watch", "patch", "delete"]}, {})]
        for n in range(300):
            case = Drawer(random.Random(n), self.schemas, kinds).sequence(n, 1, ["one_kind", "lists", "odd"])
            for place in shrink.flat(case["steps"]):
                step = shrink.get(case["steps"], place)
                if step.get("method") == "DELETE" and step["path"].endswith("/nodes"):
                    self.assertEqual(step["query"]["labelSelector"], "run=${run}")


if __name__ == "__main__":
    unittest.main(warnings="ignore")
