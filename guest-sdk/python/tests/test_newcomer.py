"""What a new user meets in the SDK; the numbers are those of tests/newcomer.rs."""

import unittest

from oarlock import Manifest, ObjectRef, Outcome, TransientError, cluster, kind, object_ref, reconciler
from oarlock.testing import Runner

CONFIG_MAP = kind("v1", "ConfigMap")


@reconciler(Manifest("far", "0.1.0", primaries=[CONFIG_MAP]))
class FarOff:
    """Never agrees, or fails."""

    def desired(self, cx):
        if "fails" in cx.labels:
            raise TransientError("x" * 5000)
        return {"spec": {"replicas": 3, "list": [{"a": 1}, {"b": 2}], "long": "y" * 5000}, **{f"k{n}": n for n in range(20)}}

    def actual(self, cx):
        return {"spec": {"replicas": 1, "list": [{"a": 1}], "long": "z" * 5000}, "other": True}

    def patch(self, cx, desired, actual):
        return Outcome().patch(cx.ref, {"data": {"note": "n" * 5000}})


def runner(**labels):
    return Runner(FarOff, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b", "labels": labels}})


class Newcomer(unittest.TestCase):
    def test_n15_a_reference_has_a_namespace_or_none_and_always_a_name(self):
        self.assertEqual(ObjectRef(CONFIG_MAP, namespace=None, name="a"), ObjectRef(CONFIG_MAP, name="a"))
        self.assertEqual(ObjectRef(CONFIG_MAP, namespace=None, name="a").namespace, "")
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": None}}
        self.assertEqual(object_ref(document).namespace, "")
        self.assertEqual(str(ObjectRef(CONFIG_MAP, namespace="b", name="a")), "ConfigMap b/a")
        for namespace, name, part in ((1, "a", "the namespace"), ("b", None, "the name"), ("b", "", "the name")):
            with self.assertRaisesRegex(TypeError, part):
                ObjectRef(CONFIG_MAP, namespace=namespace, name=name)

    def test_n15_a_failed_assertion_shows_the_difference(self):
        report = runner().reconcile()
        with self.assertRaises(AssertionError) as failed:
            self.assertTrue(report.in_sync, report)
        text = str(failed.exception)
        for part in (
            "out of sync (changes: 1,",
            "spec.replicas: desired 3, actual 1",
            'spec.list[1]: desired {"b": 2}, actual nothing',
            "spec.long: desired \"yyy",
            "k3: desired 3, actual nothing",
            "and 14 more differences",
        ):
            self.assertIn(part, text)
        self.assertLess(len(text), 1200, text)

    def test_n15_a_failed_assertion_shows_the_error(self):
        report = runner(fails="true").reconcile()
        self.assertIn("TransientError: xxx", str(report))
        self.assertLess(len(str(report)), 700)

    def test_n20_reads_take_a_reference_and_no_names_in_another_order(self):
        with self.assertRaises(TypeError):
            ObjectRef(CONFIG_MAP, "a", "b")
        with self.assertRaises(TypeError):
            cluster.get_object(CONFIG_MAP, "a", "b")


if __name__ == "__main__":
    unittest.main()
