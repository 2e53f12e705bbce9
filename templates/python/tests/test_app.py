import unittest

from app import ANNOTATION, {{kind}}Reconciler
from oarlock.testing import Runner


def an_object():
    return {"apiVersion": "{{api_version}}", "kind": "{{kind}}", "metadata": {"name": "a"{{namespace_json}}}{{fields_python}}}


class {{kind}}ReconcilerTest(unittest.TestCase):
    def test_the_greeting_is_written_once(self):
        runner = Runner({{kind}}Reconciler, an_object())
        report = runner.reconcile()
        self.assertTrue(report.in_sync, report)
        self.assertEqual(runner.current["metadata"]["annotations"], {ANNOTATION: "Hello, a"})
        self.assertFalse(runner.reconcile().patched)

    def test_the_configuration_has_the_word(self):
        runner = Runner({{kind}}Reconciler, an_object(), config={"greeting": "Hi"})
        self.assertEqual(runner.reconcile().after, {"greeting": "Hi, a"})

    def test_a_config_map_of_the_namespace_overrides_the_word(self):
        runner = Runner({{kind}}Reconciler, an_object())
        runner.reconcile()
        metadata = {"name": "greeting"{{namespace_json}}}
        runner.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"greeting": "Welcome"}})
        self.assertEqual(runner.reconcile().after, {"greeting": "Welcome, a"})

    def test_somebody_elses_greeting_is_replaced(self):
        runner = Runner({{kind}}Reconciler, an_object())
        runner.edit(lambda live: live["metadata"].update(annotations={ANNOTATION: "Go away", "other": "stays"}))
        self.assertTrue(runner.reconcile().in_sync)
        self.assertEqual(runner.current["metadata"]["annotations"], {ANNOTATION: "Hello, a", "other": "stays"})

    def test_an_object_that_is_going_is_left_alone(self):
        runner = Runner({{kind}}Reconciler, an_object())
        runner.edit(lambda live: live["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z"))
        self.assertFalse(runner.reconcile().patched)


if __name__ == "__main__":
    unittest.main()
