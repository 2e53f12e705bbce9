"""The parts of the SDK by themselves."""

import json
import logging
import unittest
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from oarlock import (
    AdmissionRule,
    Context,
    HttpAccess,
    Index,
    Manifest,
    Mapping,
    ObjectRef,
    Observation,
    Outcome,
    PolicyRule,
    Primary,
    SafeRequest,
    TerminalError,
    TransientError,
    Trigger,
    Watch,
    from_json,
    http,
    kind,
    object_ref,
    reconciler,
    to_json,
)
from oarlock.context import Request
from oarlock.errors import milliseconds
from oarlock.host import lent
from oarlock.log import HostHandler, LineWriter
from oarlock.manifest import Kind
from oarlock.testing import Runner, patches
from oarlock.testing.world import World


class ManifestTest(unittest.TestCase):
    def test_a_manifest_is_the_document_it_was_built_as(self):
        manifest = Manifest(
            "probe",
            "1",
            primaries=[kind("example.com/v1", "Thing"), Primary(kind("v1", "Pod"), ["shop"], "app=web")],
            watches=[Watch(kind("v1", "ConfigMap"), Mapping.owner_reference(), names=["a"])],
            permissions=[PolicyRule([""], ["configmaps"], ["get"], namespaces=["shop"])],
            http=HttpAccess(["http://x"], ["url"], [SafeRequest("POST", "*/tokens")]),
            admission=[AdmissionRule(["CREATE"], [""], ["v1"], ["pods"], timeout_seconds=5, validate=True)],
            config={"url": {"type": "string"}, "word": {"type": "string"}},
            required_config=["url"],
            cleanup=True,
        )
        self.assertEqual(
            manifest.document(),
            {
                "apiVersion": "oarlock.dev/v1alpha1",
                "kind": "PluginManifest",
                "name": "probe",
                "version": "1",
                "primaries": [
                    {"group": "example.com", "version": "v1", "kind": "Thing"},
                    {"group": "", "version": "v1", "kind": "Pod", "namespaces": ["shop"], "labelSelector": "app=web"},
                ],
                "watches": [
                    {"group": "", "version": "v1", "kind": "ConfigMap", "mapTo": {"type": "ownerReference"}, "names": ["a"]}
                ],
                "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"], "namespaces": ["shop"]}],
                "http": {
                    "origins": ["http://x"],
                    "originsFromConfig": ["url"],
                    "safeRequests": [{"method": "POST", "path": "*/tokens"}],
                },
                "admission": [
                    {
                        "operations": ["CREATE"],
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["pods"],
                        "timeoutSeconds": 5,
                        "validate": True,
                    }
                ],
                "cleanup": True,
                "workers": 2,
                "resyncSeconds": 30,
                "config": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"url": {"type": "string"}, "word": {"type": "string"}},
                    "required": ["url"],
                },
            },
        )

    def test_a_watch_without_a_mapping_has_no_map_to(self):
        self.assertEqual(Watch(kind("v1", "Pod")).document(), {"group": "", "version": "v1", "kind": "Pod"})

    def test_every_mapping_is_one_of_the_schema(self):
        made = [
            Mapping.owner_reference(),
            Mapping.same_name(),
            Mapping.label("l"),
            Mapping.annotation("a"),
            Mapping.referenced_by("/spec/x"),
            Mapping.all(),
            Mapping.cache_only(),
        ]
        schema = json.loads((Path(__file__).parents[3] / "wit" / "manifest.schema.json").read_text())
        known = {one["properties"]["type"]["const"]: set(one["properties"]) for one in schema["$defs"]["Mapping"]["oneOf"]}
        # A watch without a mapping.
        del known["reads"]
        self.assertEqual({one.type: set(one.document()) for one in made}, known)

    def test_the_document_knows_every_field_of_the_schema(self):
        schema = json.loads((Path(__file__).parents[3] / "wit" / "manifest.schema.json").read_text())
        full = {
            "": Manifest(
                "a",
                "1",
                "d",
                [kind("v1", "Pod")],
                [Watch(kind("v1", "Pod"), Mapping.all())],
                [PolicyRule([], [], [])],
                HttpAccess(["http://x"]),
                [AdmissionRule([], [], [], [])],
                {},
                (),
                True,
                True,
                conversions=["things.example.com"],
                indexes=[Index("i", kind("v1", "Pod"), label="l")],
            ),
            "Primary": Primary(kind("v1", "Pod"), ["n"], "l", "f", False),
            "Watch": Watch(kind("v1", "Pod"), Mapping.all(), ["n"], ["n"], "l", kind("v1", "Pod")),
            "PolicyRule": PolicyRule([""], ["r"], ["v"], ["n"], ["n"]),
            "HttpAccess": HttpAccess(["o"], ["c"], [SafeRequest("POST", "/")]),
            "AdmissionRule": AdmissionRule(
                [], [], [], [], "*", {"a": 1}, {"a": 1}, [{}], "Exact", "Fail", "Never", "None", 1, True
            ),
        }
        for name, one in full.items():
            known = schema["$defs"][name] if name else schema
            self.assertEqual(set(one.document()), set(known["properties"]), name)

    def test_an_index_goes_by_a_path_or_a_label(self):
        pod = kind("v1", "Pod")
        known = json.loads((Path(__file__).parents[3] / "wit" / "manifest.schema.json").read_text())["$defs"]["Index"]["properties"]
        by_node = {"name": "by-node", "group": "", "version": "v1", "kind": "Pod", "jsonPath": ".spec.nodeName"}
        self.assertEqual(Index("by-node", pod, ".spec.nodeName").document(), by_node)
        by_app = Index("by-app", pod, label="app").document()
        self.assertEqual(by_app["label"], "app")
        self.assertEqual(set(by_node) | set(by_app), set(known))
        for name, path, label, fault in (("By App", "", "app", "By App"), ("a", "", "", "either"), ("a", ".a", "a", "either")):
            with self.assertRaisesRegex(ValueError, fault):
                Index(name, pod, path, label)

    def test_a_required_key_must_be_declared(self):
        with self.assertRaisesRegex(ValueError, "does not declare: url"):
            Manifest("a", "1", required_config=["url"]).document()

    def test_a_kind_is_named_as_documents_name_it(self):
        self.assertEqual(kind("apps/v1", "Deployment"), Kind("apps", "v1", "Deployment"))
        self.assertEqual(kind("v1", "Pod").api_version, "v1")
        self.assertEqual(kind("apps/v1", "Deployment").api_version, "apps/v1")


class ContextTest(unittest.TestCase):
    def context(self, **changed):
        object = {"kind": "Thing", "metadata": {"labels": {"a": "1"}, "annotations": None}}
        request = {
            "kind": kind("example.com/v1", "Thing"),
            "namespace": "default",
            "name": "a",
            "uid": "u",
            "object": json.dumps(object),
            "last_seen": None,
            "deleting": False,
            "trigger": Trigger.EVENT,
            "attempt": 1,
            "correlation_id": "c",
            "review": None,
            "dry_run": False,
        }
        return Context(Request(**request | changed))

    def test_a_context_says_what_the_reconcile_is_about(self):
        cx = self.context()
        self.assertEqual((cx.labels, cx.annotations), ({"a": "1"}, {}))
        self.assertEqual((cx.deleting, cx.gone, cx.review), (False, False, None))
        self.assertEqual(
            cx.owner_reference(),
            {
                "apiVersion": "example.com/v1",
                "kind": "Thing",
                "name": "a",
                "uid": "u",
                "controller": True,
            },
        )

    def test_what_is_gone_is_deleting_and_nothing_may_be_known_of_it(self):
        cx = self.context(object=None)
        self.assertEqual((cx.deleting, cx.gone), (True, True))
        with self.assertRaisesRegex(TerminalError, "nothing is known of it"):
            cx.object
        with self.assertRaisesRegex(TerminalError, "not a JSON object"):
            self.context(object="[]").object
        self.assertFalse(self.context(object=None, review="{}").gone)


class Errors(unittest.TestCase):
    def test_delays_are_whole_milliseconds_rounded_up(self):
        for given, expected in ((None, None), (0.1, 100), (0.0001, 1), (0, 0), (5, 5000), (timedelta(seconds=2), 2000)):
            self.assertEqual(milliseconds(given), expected)
        with self.assertRaises(ValueError):
            TransientError("x", delay=-1)


class Http(unittest.TestCase):
    def sent(self, *arguments, answer=None, **options):
        world = World(Manifest("a", "1", http=HttpAccess(["http://x"])), handler=lambda _: answer or http.Response(200))
        with lent(world):
            http.request(*arguments, **options)
        return world.requests[0]

    def test_a_request_is_what_requests_would_send(self):
        request = self.sent("post", "http://x/a?b=1", params={"c": "ü &=1%", "d": [1, 2], "e": None}, json={"k": 1})
        self.assertEqual(request.url, "http://x/a?b=1&c=%C3%BC+%26%3D1%25&d=1&d=2")
        self.assertEqual((request.method, request.path, request.json()), ("POST", "/a", {"k": 1}))
        self.assertEqual(request.params["c"], "ü &=1%")
        self.assertEqual(dict(request.headers), {"content-type": "application/json"})
        form = self.sent("POST", "http://x", data={"a": "1 2"}, headers={"X-Y": "z"})
        self.assertEqual((form.body, form.path, form.headers["x-y"]), (b"a=1+2", "/", "z"))
        self.assertEqual(self.sent("PUT", "http://x/", data="ü").body, "ü".encode())
        typed = self.sent("POST", "http://x/", json=1, headers={"Content-Type": "application/merge-patch+json"})
        self.assertEqual(dict(typed.headers), {"content-type": "application/merge-patch+json"})

    def test_a_timeout_must_leave_time(self):
        with self.assertRaises(ValueError):
            self.sent("GET", "http://x/", timeout=0)

    def test_headers_are_found_in_any_case(self):
        headers = http.Headers([("Set-Cookie", "a"), ("set-cookie", "b")])
        self.assertEqual(headers["SET-COOKIE"], "a, b")
        self.assertIn("Set-cookie", headers)
        self.assertEqual(len(headers), 1)

    def test_statuses_say_who_tries_again(self):
        busy = http.Response(429, headers={"Retry-After": "7"})
        with self.assertRaises(http.HTTPError) as raised:
            busy.raise_for_status()
        self.assertIsInstance(raised.exception, TransientError)
        self.assertEqual((raised.exception.delay_ms, raised.exception.response), (7000, busy))
        for status, expected in ((500, TransientError), (404, TerminalError), (301, TerminalError)):
            with self.assertRaisesRegex(expected, f"status {status}: why"):
                http.Response(status, "why").raise_for_status()
        self.assertTrue(http.Response(204).raise_for_status().ok)

    def test_a_body_that_is_no_json_is_the_worlds_fault(self):
        self.assertEqual(http.Response(200, json=[1]).json(), [1])
        with self.assertRaises(http.JSONDecodeError) as raised:
            http.Response(502, b"<html>").json()
        self.assertIsInstance(raised.exception, TransientError)
        self.assertIsInstance(raised.exception, ValueError)
        self.assertIn("status 502", raised.exception.message)


class Lines(unittest.TestCase):
    def test_a_line_with_a_fault_in_its_format_is_logged_all_the_same(self):
        world = World(Manifest("a", "1"))
        record = logging.makeLogRecord({"msg": "%d", "args": ("x",), "levelno": logging.WARNING, "name": "root"})
        with lent(world):
            HostHandler().emit(record)
        self.assertEqual(world.lines[0].level, "warn")
        self.assertIn("%d ('x',)", world.lines[0].message)

    def test_a_logged_exception_comes_with_its_trace(self):
        world, logger = World(Manifest("a", "1")), logging.Logger("a")
        logger.addHandler(HostHandler())
        with lent(world):
            try:
                raise KeyError("k")
            except KeyError:
                logger.exception("that went wrong", extra={"n": 1})
        (line,) = world.lines
        self.assertRegex(line.message, r"^that went wrong\nKeyError: 'k'\n  .*test_parts.py:\d+ in Lines\.")
        self.assertEqual((line.level, line.fields), ("error", {"n": "1", "logger": "a"}))

    def test_what_is_printed_is_logged_line_by_line(self):
        world, writer = World(Manifest("a", "1")), LineWriter("info")
        with lent(world):
            print("one", 2, file=writer)
            print("three\n\nfour", end="", file=writer)
            self.assertEqual([line.message for line in world.lines], ["one 2", "three"])
            writer.finish()
        self.assertEqual([line.message for line in world.lines], ["one 2", "three", "four"])


@dataclass
class Port:
    port: int
    host_ip: str = ""
    protocol: Literal["TCP", "UDP"] = "TCP"


@dataclass
class Spec:
    ports: list[Port]
    node_selector: dict[str, str] = field(default_factory=dict)
    pod_cidr: str | None = field(default=None, metadata={"json": "podCIDR"})
    share: float = 0.0
    anything: Any = None


@dataclass
class Thing:
    spec: Spec


class Shapes(unittest.TestCase):
    def test_json_becomes_dataclasses_and_back(self):
        value = {"spec": {"ports": [{"port": 1, "hostIp": "x", "protocol": "UDP"}], "podCIDR": "10.0.0.0/8", "share": 1, "more": 1}}
        thing = from_json(Thing, value)
        self.assertEqual(thing, Thing(Spec([Port(1, "x", "UDP")], pod_cidr="10.0.0.0/8", share=1.0)))
        back = {"ports": [{"port": 1, "hostIp": "x", "protocol": "UDP"}], "nodeSelector": {}, "podCIDR": "10.0.0.0/8", "share": 1.0}
        self.assertEqual(to_json(thing), {"spec": back})

    def test_what_does_not_fit_is_said_with_its_place(self):
        for value, message in (
            ({}, "spec is missing"),
            ({"spec": []}, "spec: expected an object"),
            ({"spec": {"ports": [{"port": "1"}]}}, "spec.ports[0].port: expected a whole number"),
            ({"spec": {"ports": [{"port": True}]}}, "spec.ports[0].port: expected a whole number"),
            ({"spec": {"ports": [{"port": 1, "protocol": "x"}]}}, "spec.ports[0].protocol: expected one of 'TCP', 'UDP'"),
            ({"spec": {"ports": [], "nodeSelector": {"a": 1}}}, "spec.nodeSelector.a: expected a string"),
            ({"spec": {"ports": [], "podCIDR": 1}}, "spec.podCIDR: expected a string"),
        ):
            with self.assertRaises(TerminalError) as raised:
                from_json(Thing, value)
            self.assertEqual(raised.exception.message, message)

    def test_a_reconciler_may_have_typed_objects_and_states(self):
        @reconciler(Manifest("typed", "1", primaries=[kind("v1", "Thing")]), object=Thing, state=Port)
        class Typed:
            def desired(self, cx):
                return cx.object.spec.ports[0]

            def actual(self, cx):
                return Observation(Port(1), status=Port(2))

            def patch(self, cx, desired, actual):
                return Outcome().event("Seen", f"{desired} {actual}")

        def thing(spec):
            return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}

        report = Runner(Typed, thing({"ports": [{"port": 5}]})).reconcile()
        self.assertEqual(report.event_lines, [f"Normal Seen: {Port(5)} {Port(1)}"])
        self.assertEqual(report.status, {"port": 2, "hostIp": "", "protocol": "TCP"})
        error = Runner(Typed, thing({"ports": 1})).reconcile().error
        self.assertEqual(error.message, "not a Thing this plugin can read: spec.ports: expected a list")


class Patches(unittest.TestCase):
    def test_merge_patches_are_rfc_7396(self):
        for target, patch, expected in (
            ({"a": "b"}, {"a": "c"}, {"a": "c"}),
            ({"a": "b", "c": 1}, {"a": None}, {"c": 1}),
            ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
            ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
            ({"a": [1]}, [1], [1]),
            ([1], {"a": {"b": None}}, {"a": {}}),
        ):
            self.assertEqual(patches.merge_patch(target, patch), expected)

    def test_json_patches_are_rfc_6902(self):
        document = {"a": [1, 2], "b/c": {"d": 1}}
        for patch, expected in (
            ([{"op": "add", "path": "/a/-", "value": 3}], {"a": [1, 2, 3], "b/c": {"d": 1}}),
            ([{"op": "add", "path": "/a/0", "value": 3}], {"a": [3, 1, 2], "b/c": {"d": 1}}),
            ([{"op": "remove", "path": "/a/0"}, {"op": "replace", "path": "/b~1c/d", "value": 2}], {"a": [2], "b/c": {"d": 2}}),
            ([{"op": "move", "from": "/b~1c/d", "path": "/e"}], {"a": [1, 2], "b/c": {}, "e": 1}),
            ([{"op": "copy", "from": "/a", "path": "/e"}], {"a": [1, 2], "b/c": {"d": 1}, "e": [1, 2]}),
            ([{"op": "test", "path": "/a/1", "value": 2.0}], document),
            ([{"op": "replace", "path": "", "value": {}}], {}),
        ):
            self.assertEqual(patches.json_patch(document, patch), expected)
        for patch in (
            {"op": "remove", "path": "/x"},
            {"op": "replace", "path": "/x", "value": 1},
            {"op": "add", "path": "/a/7", "value": 1},
            {"op": "test", "path": "/a/1", "value": 3},
            {"op": "dance", "path": "/a"},
        ):
            with self.assertRaisesRegex(TerminalError, "JSON patch"):
                patches.json_patch(document, [patch])

    def test_a_strategic_difference_makes_one_of_the_other(self):
        old = {"containers": [{"name": "a", "image": "1"}, {"name": "b"}], "finalizers": ["x", "y"], "ports": [1], "k": 1}
        new = {"containers": [{"name": "a", "image": "2"}, {"name": "c"}], "finalizers": ["y", "z"], "ports": [2, 3]}
        patch = patches.strategic_difference(old, new)
        self.assertEqual(patches.strategic_patch(old, patch), new)
        self.assertEqual(patch["containers"], [{"name": "a", "image": "2"}, {"name": "c"}, {"name": "b", "$patch": "delete"}])
        self.assertEqual(patches.strategic_difference(new, new), {})

    def test_a_three_way_difference_leaves_alone_what_others_wrote(self):
        world = World(Manifest("a", "1"))
        original, modified, current = ({"data": data} for data in ({"a": "1", "b": "1"}, {"a": "2"}, {"a": "1", "b": "1", "c": "1"}))
        texts = map(json.dumps, (original, modified, current))
        patch = world.create_three_way(kind("v1", "ConfigMap"), *texts)
        self.assertEqual(json.loads(patch), {"data": {"a": "2", "b": None}})

    def test_values_are_compared_as_json(self):
        for a, b, expected in ((1, 1.0, True), (True, 1, False), ([1], [1.0], True), ({"a": None}, {}, False), (None, None, True)):
            self.assertEqual(patches.same(a, b), expected)


class References(unittest.TestCase):
    def test_a_document_names_its_object(self):
        document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}}
        self.assertEqual(object_ref(document), ObjectRef(kind("apps/v1", "Deployment"), name="a"))


if __name__ == "__main__":
    unittest.main()
