"""The SDK as a plugin author uses it, on the native runner."""

import logging
import unittest

from oarlock import (
    DeniedError,
    HttpAccess,
    Index,
    Manifest,
    Mapping,
    ObjectRef,
    Observation,
    Outcome,
    SafeRequest,
    TerminalError,
    TransientError,
    Watch,
    cache,
    cluster,
    config,
    http,
    kind,
    merge,
    object_ref,
    reconciler,
)
from oarlock.testing import LogLine, Runner

CONFIG_MAP = kind("v1", "ConfigMap")
CARD = ObjectRef(CONFIG_MAP, namespace="default", name="card")
MANIFEST = Manifest(
    "probe",
    "1",
    primaries=[kind("example.com/v1", "Thing")],
    watches=[Watch(CONFIG_MAP, Mapping.owner_reference())],
    indexes=[
        Index("by-user", CONFIG_MAP, ".spec.users[*]['id']"),
        Index("by-first", CONFIG_MAP, "{.spec.users[0].id}"),
        Index("by-a", CONFIG_MAP, label="a"),
    ],
    http=HttpAccess(["http://granted.example.com:80"], ["url"], [SafeRequest("POST", "*/tokens")]),
    cleanup=True,
)


def thing(**spec):
    metadata = {"name": "a", "namespace": "default", "uid": "u-1"}
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": spec}


def config_map(name, labels=None, **rest):
    metadata = {"name": name, "namespace": "default", "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **rest}


def counted():
    cache.set("count", cache.get("count", 0) + 1, ttl=60)
    return cache.get("count")


def listed(selector):
    return [found["metadata"]["name"] for found in cluster.list_objects(CONFIG_MAP, label_selector=selector)]


def indexed(index, value, **options):
    return [found["metadata"]["name"] for found in cluster.list_indexed(CONFIG_MAP, index, value, **options)]


@reconciler(MANIFEST)
class Probe:
    """Does in `actual` what the object's `spec.ask` says, and shows what came of it."""

    asks = {
        "secret": lambda: cluster.get_object(ObjectRef(kind("v1", "Secret"), namespace="default", name="s")),
        "granted": lambda: http.get("http://GRANTED.example.com/x", params={"a": "b c"}).status_code,
        "configured": lambda: http.get("http://elsewhere.example.com:81/").status_code,
        "ungranted": lambda: http.get("http://granted.example.com:8080/").status_code,
        "write": lambda: http.delete("http://granted.example.com/x").status_code,
        "token": lambda: http.post("http://granted.example.com/v3/tokens", json={}).status_code,
        "nonsense": lambda: http.get("granted").status_code,
        "count": counted,
        "word": lambda: [config.get("word"), config.get("word", "none"), config.require("url"), config.keys()],
        "list": lambda: [listed(selector) for selector in ("", "a=1", "a!=1,b", "!b")],
        "owned": lambda: [one["metadata"]["name"] for one in cluster.list_objects(CONFIG_MAP, owner_uid="u-1")],
        "first": lambda: [one["metadata"]["name"] for one in cluster.list_objects(CONFIG_MAP, limit=1)],
        "indexed": lambda: [indexed("by-user", value) for value in ("me", "you", "7", "true", "0.5", "nobody")],
        "first user": lambda: [indexed("by-first", value) for value in ("me", "you", "7")],
        "labelled": lambda: [indexed("by-a", "1"), indexed("by-user", "you", limit=1), indexed("by-user", "me", label_selector="a=2")],
        "no index": lambda: indexed("by-name", "x"),
        "set": lambda: {1, 2},
    }

    def desired(self, cx):
        return "asked"

    def actual(self, cx):
        if cx.deleting:
            return None
        ask = cx.object["spec"]["ask"]
        if ask == "array":
            return Observation("asked", status=[1])
        answer = self.asks[ask]()
        logging.getLogger("probe").info("answered", extra={"answer": answer})
        return Observation("asked", status={"answer": answer})

    def patch(self, cx, desired, actual):
        return Outcome()


def ask(what, **options):
    options = {"http": lambda _: http.Response(204), "config": {"url": "http://elsewhere.example.com:81/x"}, **options}
    return Runner(Probe, thing(ask=what), **options)


class WhatIsAskedFor(unittest.TestCase):
    def answer(self, runner, expected):
        report = runner.reconcile()
        self.assertIsNone(report.error)
        self.assertEqual(report.status["answer"], expected)
        return report

    def refused(self, runner, part):
        error = runner.reconcile().error
        self.assertIsInstance(error, TerminalError)
        self.assertIn(part, error.message)

    def test_what_the_manifest_does_not_ask_for_is_refused(self):
        self.refused(ask("secret"), "Secret is neither a primary nor a watch")
        self.refused(ask("ungranted"), "does not ask for http://granted.example.com:8080")
        self.refused(ask("nonsense"), "not an absolute http or https URL")
        self.answer(ask("granted"), 204)
        self.answer(ask("configured"), 204)
        self.answer(ask("write"), 204)

    def test_a_dry_run_lets_only_reads_and_safe_requests_out(self):
        self.refused(ask("write", dry_run=True), "dry run: DELETE /x")
        for what in ("granted", "token"):
            self.assertIsNone(ask(what, dry_run=True).reconcile().error)

    def test_values_in_the_cache_expire_and_are_lost_on_restart(self):
        runner = ask("count")
        for expected, after in ((1, 0), (2, 59), (3, 60), (1, 0), (2, 0)):
            self.answer(runner, expected)
            runner.advance(after)
        runner.restart()
        self.answer(runner, 1)

    def test_configuration_is_read_by_key(self):
        url = {"url": "http://x"}
        self.answer(ask("word", config=url), [None, "none", "http://x", ["url"]])
        self.answer(ask("word", config=url | {"word": ""}), [None, "none", "http://x", ["url", "word"]])
        self.answer(ask("word", config=url | {"word": "w"}), ["w", "w", "http://x", ["url", "word"]])
        self.refused(ask("word", config={}), "does not set url")

    def test_lists_go_by_labels_owners_and_a_limit(self):
        owned = config_map("two", {"a": "2", "b": "y"})
        owned["metadata"]["ownerReferences"] = [{"uid": "u-1"}]
        cluster = [owned, config_map("three"), config_map("one", {"a": "1", "b": "x"})]
        everything = [["one", "three", "two"], ["one"], ["two"], ["three"]]
        self.answer(ask("list", cluster=cluster), everything)
        self.answer(ask("owned", cluster=cluster), ["two"])
        self.answer(ask("first", cluster=cluster), ["one"])

    def test_lists_go_by_declared_indexes(self):
        cluster = [
            config_map("two", {"a": "2"}, spec={"users": [{"id": 7}, {"id": "you"}]}),
            config_map("one", {"a": "1"}, spec={"users": [{"id": "me"}, {"id": ["you", True, 0.5]}, {}]}),
            config_map("none"),
        ]
        self.answer(ask("indexed", cluster=cluster), [["one"], ["one", "two"], ["two"], ["one"], [], []])
        self.answer(ask("first user", cluster=cluster), [["one"], [], ["two"]])
        self.answer(ask("labelled", cluster=cluster), [["one"], ["one"], []])
        self.refused(ask("no index"), 'the manifest declares no index "by-name" of ConfigMap')

    def test_a_status_or_state_that_cannot_be_told_is_a_fault_of_the_reconciler(self):
        for what, part in (("array", "the status is not a JSON object"), ("set", "the status is not JSON")):
            runner = ask(what)
            with self.assertRaisesRegex(TypeError, part):
                runner.reconcile()

    def test_what_was_logged_and_sent_is_in_the_report(self):
        report = ask("granted").reconcile()
        self.assertEqual(report.request_lines, ["GET /x"])
        self.assertEqual(report.requests[0].params, {"a": "b c"})
        self.assertEqual(report.log, [LogLine("info", "answered", {"answer": "204", "logger": "probe"})])

    def test_scripted_answers_come_first_and_failures_say_who_tries_again(self):
        failures = (
            (http.Timeout("late"), TransientError),
            (http.ConnectionError("reset"), TransientError),
            (http.TooLarge(1), TransientError),
            (http.Denied("no"), TerminalError),
            (http.InvalidRequest("no"), TerminalError),
        )
        runner = ask("granted")
        for failure, expected in failures:
            runner.script(failure)
            self.assertIsInstance(runner.reconcile().error, expected)
            self.assertIsNone(runner.reconcile().error)
        self.answer(ask("granted", http=[http.Response(201)]), 201)
        self.assertIn("no HTTP handler", ask("granted", http=None).reconcile().error.message)

    def test_an_object_with_cleanup_goes_when_nothing_is_left(self):
        runner = ask("word")
        runner.delete()
        self.assertIsNotNone(runner.current, "the finalizer holds it")
        report = runner.reconcile()
        self.assertTrue(report.gone)
        self.assertIsNone(report.desired)
        self.assertIsNone(runner.current)

    def test_a_failed_reconcile_is_told_the_attempt(self):
        runner = ask("granted")
        runner.script(http.Timeout("late"))
        runner.reconcile()
        self.assertEqual(runner._request(runner._primary()).attempt, 2)
        runner.reconcile()
        self.assertEqual(runner._request(runner._primary()).attempt, 1)


@reconciler(Manifest("witness", "1", primaries=[CONFIG_MAP]))
class Witness:
    """Has no finalizer, and says whose last state it sees."""

    def desired(self, cx):
        raise AssertionError("not asked of what is gone")

    def actual(self, cx):
        return [cx.uid, cx.gone, cx.object["data"], cx.last_seen["data"]]

    def patch(self, cx, desired, actual):
        return None


@reconciler(Manifest("fault", "1", primaries=[CONFIG_MAP]))
class Fault:
    def desired(self, cx):
        try:
            {}["key"]
        except KeyError as error:
            raise ValueError("the answer is 42") from error

    actual = patch = desired


TRACE = r"""^ValueError: the answer is 42
  .*test_runner.py:\d+ in Fault.desired
caused by KeyError: 'key'
  .*test_runner.py:\d+ in Fault.desired$"""


class Faults(unittest.TestCase):
    def test_an_object_that_is_gone_before_its_first_run_is_known_by_its_last_state(self):
        object = config_map("a", data={"k": "v"})
        object["metadata"]["uid"] = "u-1"
        runner = Runner(Witness, object)
        runner.delete()
        self.assertEqual(runner.reconcile().before, ["u-1", True, {"k": "v"}, {"k": "v"}])

    def test_an_exception_of_another_class_is_logged_with_its_trace_and_raised(self):
        runner = Runner(Fault, config_map("a"))
        with self.assertRaisesRegex(ValueError, "the answer is 42"):
            runner.reconcile()
        (line,) = runner._world.lines
        self.assertEqual(line.level, "error")
        self.assertRegex(line.message, TRACE)

    def test_a_runner_says_what_is_missing(self):
        with self.assertRaisesRegex(RuntimeError, "the runner has no object"):
            Runner(Probe).reconcile()
        with self.assertRaisesRegex(TypeError, "the decorator @reconciler is missing"):
            Runner(str)
        with self.assertRaisesRegex(RuntimeError, "there is no host here"):
            config.get("x")
        with self.assertRaisesRegex(ValueError, "apiVersion, kind and metadata.name"):
            Runner(Probe, {"kind": "Thing"})

    def test_a_class_that_lacks_a_method_is_refused_where_it_is_made(self):
        with self.assertRaisesRegex(TypeError, "Half needs a method patch"):

            @reconciler(MANIFEST)
            class Half:
                desired = actual = print

    def test_an_outcome_must_be_one(self):
        @reconciler(Manifest("wrong", "1", primaries=[CONFIG_MAP]))
        class Wrong:
            def desired(self, cx):
                return 1

            def actual(self, cx):
                return None

            def patch(self, cx, desired, actual):
                return {"changes": []}

        with self.assertRaisesRegex(TypeError, "patch answers an Outcome"):
            Runner(Wrong, config_map("a")).reconcile()


@reconciler(MANIFEST)
class Changer:
    """Answers the change that `spec.how` names."""

    def desired(self, cx):
        return cx.object["spec"]["data"]

    def actual(self, cx):
        card = cluster.get_object(CARD)
        return card and card["data"]

    def patch(self, cx, desired, actual):
        outcome = Outcome().warning_event("Changed", "as told").requeue(0.000001)
        card = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "card", "namespace": "default"}, "data": desired}
        target = object_ref(card)
        match cx.object["spec"]["how"]:
            case "apply":
                return outcome.apply(card)
            case "create":
                return outcome.create(card)
            case "merge":
                return outcome.patch(target, {"data": desired})
            case "json":
                return outcome.patch(target, [{"op": "replace", "path": "/data", "value": desired}], type="json")
            case "strategic":
                patch = merge.create_two_way(CONFIG_MAP, card | {"data": {"old": "1"}}, card)
                return outcome.patch(target, patch, type="strategic")
            case "stale":
                return outcome.apply(card, uid="another")
            case "unnamed":
                return outcome.apply({"kind": "ConfigMap"})
            case "list":
                return outcome.patch(target, [1])
            case "unwritable":
                return outcome.apply(card | {"data": {"a": float("nan")}})
        logging.getLogger().warning("no way to %s", cx.object["spec"]["how"])


def change(how, existing):
    cluster = [config_map("card", data={"old": "1"})] if existing else []
    return Runner(Changer, thing(how=how, data={"word": "new"}), cluster=cluster)


class Changes(unittest.TestCase):
    def test_changes_are_carried_out_as_the_api_server_would(self):
        for how, existing, data in (
            ("apply", False, {"word": "new"}),
            ("apply", True, {"old": "1", "word": "new"}),
            ("create", False, {"word": "new"}),
            ("merge", True, {"old": "1", "word": "new"}),
            ("json", True, {"word": "new"}),
            ("strategic", True, {"word": "new"}),
        ):
            with self.subTest(how):
                runner = change(how, existing)
                report = runner.reconcile()
                self.assertIsNone(report.error)
                self.assertEqual(report.event_lines, ["Warning Changed: as told"])
                self.assertEqual(report.requeue_after.total_seconds(), 0.001, "rounded up, never to nothing")
                self.assertEqual(runner.get(CARD)["data"], data)

    def test_changes_that_cannot_be_carried_out_end_the_reconcile(self):
        for how, existing, part in (
            ("create", True, "already exists"),
            ("merge", False, "does not exist"),
            ("stale", True, "precondition failed"),
        ):
            report = change(how, existing).reconcile()
            self.assertIn(part, report.error.message)
            self.assertEqual(report.events, [], "events are for changes that were carried out")

    def test_a_change_that_makes_no_sense_is_said_where_it_is_made(self):
        for how, fault in (
            ("unnamed", ValueError),
            ("list", TypeError),
            ("unwritable", TypeError),
        ):
            with self.subTest(how), self.assertRaises(fault):
                change(how, True).reconcile()

    def test_a_patch_that_answers_nothing_leaves_things_as_they_are(self):
        report = change("dance", True).reconcile()
        self.assertFalse(report.in_sync)
        self.assertIsNone(report.error)
        self.assertEqual(report.log, [LogLine("warn", "no way to dance", {})])

    def test_fields_left_out_of_an_apply_are_removed(self):
        runner = change("apply", True)
        runner.reconcile()
        runner.edit(lambda live: live["spec"].update(data={"other": "2"}))
        report = runner.reconcile()
        self.assertEqual(len(report.applied), 1)
        self.assertEqual(runner.get(CARD)["data"], {"old": "1", "other": "2"})

    def test_a_dry_run_changes_nothing(self):
        runner = Runner(Changer, thing(how="apply", data={"word": "new"}), dry_run=True)
        report = runner.reconcile()
        self.assertEqual(len(report.applied), 1)
        self.assertIsNone(runner.get(CARD))


@reconciler(Manifest("gate", "1"))
class Gate:
    """Refuses what nobody asks for, and gives the rest a label."""

    def desired(self, cx):
        if cx.review["userInfo"]["username"] == "nobody":
            raise DeniedError("nobody may do that")
        return "checked"

    def actual(self, cx):
        return cx.labels.get("gate")

    def patch(self, cx, desired, actual):
        return Outcome().patch(None, {"metadata": {"labels": {"gate": desired}}}).warn("labelled")


class Admission(unittest.TestCase):
    def test_admission_changes_the_object_under_review_or_refuses_it(self):
        report, object = Runner(Gate).admit(thing(), {"userInfo": {"username": "somebody"}})
        self.assertTrue(report.in_sync, report)
        self.assertEqual(report.warnings, ["labelled"])
        self.assertEqual(object["metadata"]["labels"], {"gate": "checked"})

        report, object = Runner(Gate).admit(thing(), {"userInfo": {"username": "nobody"}})
        self.assertIsInstance(report.error, DeniedError)
        self.assertEqual((report.error.code, report.error.reason), (403, "Forbidden"))
        self.assertEqual(object, thing())

    def test_under_review_the_namespace_is_known_and_the_name_may_still_be_made(self):
        pod = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "card-"}}
        review = {"namespace": "shop", "userInfo": {"username": "a"}}
        report, object = Runner(Gate).admit(pod, review)
        self.assertTrue(report.in_sync, report)
        self.assertEqual(object["metadata"]["labels"], {"gate": "checked"})


@reconciler(Manifest("sidecar", "1", primaries=[kind("apps/v1", "Deployment")]))
class Sidecar:
    """Adds a container by apply."""

    @staticmethod
    def document(spec):
        return deployment([]) | {"spec": spec}

    def desired(self, cx):
        if "plain" in cx.annotations:
            return None
        return deployment([{"name": "proxy", "image": "proxy:1"}])

    def actual(self, cx):
        return cluster.get_applied(cx.ref)

    def patch(self, cx, desired, actual):
        nothing = {key: value for key, value in deployment([]).items() if key != "spec"}
        return Outcome().apply(desired or nothing)


def deployment(containers):
    metadata = {"name": "web", "namespace": "default"}
    spec = {"template": {"spec": {"containers": containers}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


class Applies(unittest.TestCase):
    def test_lists_are_applied_by_their_keys(self):
        runner = Runner(Sidecar, deployment([{"name": "web", "image": "web:1"}]))
        ref = ObjectRef(kind("apps/v1", "Deployment"), namespace="default", name="web")

        def containers():
            return runner.get(ref)["spec"]["template"]["spec"]["containers"]

        self.assertTrue(runner.reconcile().in_sync)
        self.assertEqual([one["name"] for one in containers()], ["web", "proxy"])
        self.assertFalse(runner.reconcile().patched)
        # What others set beside it is no difference, what they change of it is.
        runner.edit(lambda live: live["spec"]["template"]["spec"]["containers"][1].update(stdin=True))
        self.assertFalse(runner.reconcile().patched)
        runner.edit(lambda live: live["spec"]["template"]["spec"]["containers"][1].update(image="proxy:0"))
        self.assertTrue(runner.reconcile().patched)
        self.assertEqual(containers()[1]["image"], "proxy:1")
        runner.edit(lambda live: live["spec"]["template"]["spec"]["containers"][1].pop("stdin"))
        runner.edit(lambda live: live["metadata"].update(annotations={"plain": "true"}))
        self.assertTrue(runner.reconcile().in_sync)
        self.assertEqual([one["name"] for one in containers()], ["web"])

    def test_settling_ends_when_nothing_is_left_to_do(self):
        reports = Runner(Sidecar, deployment([])).settle()
        self.assertEqual([report.patched for report in reports], [True, False])


if __name__ == "__main__":
    unittest.main()
