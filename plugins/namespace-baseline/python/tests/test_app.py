import unittest

from app import NamespaceBaseline
from oarlock import Delete, ObjectRef, TerminalError, kind
from oarlock.testing import Runner

QUOTA = kind("v1", "ResourceQuota")
NETWORK_POLICY = kind("networking.k8s.io/v1", "NetworkPolicy")
OWNER = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "name": "shop",
    "uid": "n1",
    "controller": True,
}


def namespace(on="true", quota=None, label="oarlock.dev/baseline"):
    annotations = {} if quota is None else {"baseline.oarlock.dev/quota": quota}
    metadata = {"name": "shop", "uid": "n1", "labels": {label: on}, "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def documents(hard, types=("Ingress",)):
    metadata = {"namespace": "shop", "ownerReferences": [OWNER]}
    return [
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "baseline", **metadata},
            "spec": {"hard": hard},
        },
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "default-deny", **metadata},
            "spec": {"podSelector": {}, "policyTypes": list(types)},
        },
    ]


DEFAULT = {"pods": "50", "requests.cpu": "10", "requests.memory": "20Gi"}
WRITTEN = "Normal BaselineWritten: quota baseline and network policy default-deny written"
REMOVED = "Normal BaselineRemoved: quota baseline and network policy default-deny removed"


class NamespaceBaselineTest(unittest.TestCase):
    def test_a_namespace_that_is_on_gets_both(self):
        runner = Runner(NamespaceBaseline, namespace())
        report = runner.reconcile()
        self.assertTrue(report.in_sync, report)
        self.assertEqual(report.applied, documents(DEFAULT))
        self.assertEqual(report.desired, dict(zip(["quota", "networkPolicy"], documents(DEFAULT))))
        self.assertTrue(all(not change.force for change in report.changes))
        self.assertEqual(report.event_lines, [WRITTEN])
        self.assertFalse(runner.reconcile().patched)

    def test_a_namespace_that_is_off_gets_nothing(self):
        for object in (namespace("false"), namespace("yes"), namespace(label="other")):
            report = Runner(NamespaceBaseline, object).reconcile()
            self.assertTrue(report.in_sync, report)
            self.assertFalse(report.patched)
            self.assertIsNone(report.desired)

    def test_the_configuration_names_the_label_the_quota_and_the_directions(self):
        config = {"label": "team/on", "quota": '{"pods": "3"}', "denyEgress": "true"}
        report = Runner(NamespaceBaseline, namespace(label="team/on"), config=config).reconcile()
        self.assertEqual(report.applied, documents({"pods": "3"}, ["Ingress", "Egress"]))

    def test_the_annotation_replaces_the_quota_whatever_the_configuration_says(self):
        config = {"quota": "nonsense"}
        report = Runner(NamespaceBaseline, namespace(quota='{"pods":"7"}'), config=config).reconcile()
        self.assertEqual(report.applied, documents({"pods": "7"}))

    def test_a_quota_that_is_no_json_object_of_strings_is_terminal(self):
        for text in ("", "nonsense", "[]", '"x"', '{"pods": 7}', '{"pods": null}', "null"):
            with self.subTest(text):
                error = Runner(NamespaceBaseline, namespace(quota=text)).reconcile().error
                self.assertIsInstance(error, TerminalError)
                expected = "annotation baseline.oarlock.dev/quota is not a JSON object of strings"
                self.assertEqual(error.message, expected)
                if text:
                    error = Runner(NamespaceBaseline, namespace(), config={"quota": text}).reconcile().error
                    self.assertEqual(error.message, "config quota is not a JSON object of strings")

    def test_only_what_differs_is_written(self):
        runner = Runner(NamespaceBaseline, namespace())
        runner.reconcile()
        runner.edit(lambda live: live["metadata"]["annotations"].update({"baseline.oarlock.dev/quota": "{}"}))
        report = runner.reconcile()
        self.assertTrue(report.in_sync, report)
        self.assertEqual(report.applied, documents({})[:1])
        runner.remove(ObjectRef(NETWORK_POLICY, namespace="shop", name="default-deny"))
        report = runner.reconcile()
        self.assertEqual(report.applied, documents({})[1:])
        self.assertEqual(report.event_lines, [WRITTEN])

    def test_switched_off_both_are_deleted(self):
        runner = Runner(NamespaceBaseline, namespace())
        runner.reconcile()
        runner.edit(lambda live: live["metadata"]["labels"].clear())
        report = runner.reconcile()
        self.assertTrue(report.in_sync, report)
        expected = [
            Delete(ObjectRef(QUOTA, namespace="shop", name="baseline")),
            Delete(ObjectRef(NETWORK_POLICY, namespace="shop", name="default-deny")),
        ]
        self.assertEqual(report.changes, expected)
        self.assertEqual([change.propagation for change in report.changes], ["background", "background"])
        self.assertEqual(report.event_lines, [REMOVED])
        self.assertIsNone(runner.get(ObjectRef(QUOTA, namespace="shop", name="baseline")))

    def test_of_what_is_left_only_that_is_deleted(self):
        runner = Runner(NamespaceBaseline, namespace())
        runner.reconcile()
        runner.remove(ObjectRef(QUOTA, namespace="shop", name="baseline"))
        runner.edit(lambda live: live["metadata"]["labels"].clear())
        self.assertEqual(runner.reconcile().changes, [Delete(ObjectRef(NETWORK_POLICY, namespace="shop", name="default-deny"))])

    def test_with_the_namespace_everything_goes_by_itself(self):
        runner = Runner(NamespaceBaseline, namespace())
        runner.reconcile()
        going = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        runner.edit(lambda live: live["metadata"].update(going))
        self.assertFalse(runner.reconcile().patched)
        runner.delete()
        report = runner.reconcile()
        self.assertTrue(report.in_sync)
        self.assertFalse(report.patched)


if __name__ == "__main__":
    unittest.main()
