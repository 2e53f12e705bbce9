"""What a new user meets in the SDK; the numbers are those of tests/newcomer.rs."""

import subprocess
import sys
import unittest
from pathlib import Path

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


#: What componentize-py 0.25 prints.
FAILED_BUILD = """Traceback (most recent call last):
  File "/venv/bin/componentize-py", line 8, in <module>
    sys.exit(script())
             ^^^^^^^^
AssertionError: Traceback (most recent call last):
  File "/0/app.py", line 5, in <module>
    ANNOTATION = undefined_name
                 ^^^^^^^^^^^^^^
  File "/1/oarlock/shapes.py", line 1, in <module>
NameError: name 'undefined_name' is not defined


Caused by:
    NameError: name 'undefined_name' is not defined

Stack backtrace:
   0: <anyhow::Error>::msg::<alloc::string::String>
"""
SYNTAX_ERROR = """AssertionError:   File "/0/app.py", line 32
    def broken(:
               ^
SyntaxError: invalid syntax


Caused by:
    SyntaxError: invalid syntax (app.py, line 32)
"""


class Newcomer(unittest.TestCase):
    def build(self, printed, code=1):
        tool = [sys.executable, "-c", f"import sys; sys.stderr.write({printed!r}); sys.exit({code})"]
        script = Path(__file__).parents[1] / "componentize.py"
        command = [sys.executable, script, *tool, "--python-path", ".", "--python-path", "sdk"]
        run = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(run.returncode, code)
        return run.stderr

    def test_n16_a_failed_build_shows_the_error_of_the_plugin_first_and_nothing_of_the_tool(self):
        lines = self.build(FAILED_BUILD).splitlines()
        self.assertEqual(lines[0], "error: NameError: name 'undefined_name' is not defined")
        self.assertEqual(lines[2], '  File "app.py", line 5, in <module>')
        self.assertEqual(lines[-1], '  File "sdk/oarlock/shapes.py", line 1, in <module>')
        self.assertEqual(len(lines), 6)
        lines = self.build(SYNTAX_ERROR).splitlines()
        self.assertEqual(lines[:2], ["error: SyntaxError: invalid syntax", '  File "app.py", line 32'])
        self.assertEqual(self.build("no such file: wit\n"), "error: no such file: wit\n")
        self.assertEqual(self.build("a warning\n", code=0), "")

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
