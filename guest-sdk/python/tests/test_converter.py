"""Conversion, on the native runner."""

import copy
import unittest
from importlib import util
from pathlib import Path

from oarlock import ConversionError, Manifest, Outcome, TerminalError, config, keep, reconciler, restore
from oarlock.testing import Runner

MANIFEST = Manifest("things", "1", conversions=["things.example.com"])
V1 = {
    "apiVersion": "example.com/v1",
    "kind": "Thing",
    "metadata": {"name": "a", "namespace": "b", "uid": "u"},
    "spec": {"size": 1},
}


class Questions:
    def desired(self, cx):
        return None

    def actual(self, cx):
        return None

    def patch(self, cx, desired, actual):
        return Outcome()


def converted(body):
    """What a runner makes of an object with this function."""
    made = reconciler(MANIFEST)(type("Things", (Questions,), {"convert": staticmethod(body)}))
    return Runner(made).convert(V1, "example.com/v2")


class KeepTest(unittest.TestCase):
    def test_what_is_kept_is_restored_and_leaves_no_trace(self):
        object = copy.deepcopy(V1)
        keep(object, "example.com/x", {"a": [1, '"']})
        self.assertIsInstance(object["metadata"]["annotations"]["example.com/x"], str)
        self.assertEqual(restore(object, "example.com/x"), {"a": [1, '"']})
        self.assertEqual(object, V1)
        self.assertIsNone(restore(object, "example.com/x"))
        keep(object, "example.com/x", None)
        self.assertEqual(object, V1)
        object["metadata"]["annotations"] = {"example.com/x": "{", "other": "1"}
        with self.assertRaisesRegex(ConversionError, "annotation example.com/x is not JSON"):
            restore(object, "example.com/x")


class ConverterTest(unittest.TestCase):
    def test_an_object_is_converted_and_the_one_that_was_given_stays(self):
        before = copy.deepcopy(V1)

        def convert(object, desired):
            object["spec"] = {"sizes": [object["spec"]["size"]]}
            return object | {"apiVersion": desired}

        self.assertEqual(converted(convert), V1 | {"apiVersion": "example.com/v2", "spec": {"sizes": [1]}})
        self.assertEqual(V1, before)

    def test_a_failed_conversion_says_why(self):
        for error in (ConversionError, TerminalError):

            def convert(object, desired, error=error):
                raise error("spec.size is odd")

            with self.assertRaisesRegex(error, "^spec.size is odd$"):
                converted(convert)

    def test_what_the_host_refuses_of_an_answer_is_raised(self):
        version = {"apiVersion": "example.com/v2"}
        for answer, expected in (
            (lambda object, desired: object, "apiVersion 'example.com/v1' instead of 'example.com/v2'"),
            (lambda object, desired: object | version | {"kind": "Other"}, "another kind than"),
            (lambda object, desired: object | version | {"metadata": {"name": "b"}}, "another metadata.name than"),
            (lambda object, desired: None, "convert answers an object, not None"),
            (lambda object, desired: config.get("a"), "the only import that works in a conversion is log"),
        ):
            with self.subTest(expected), self.assertRaisesRegex((ValueError, TypeError, RuntimeError), expected):
                converted(answer)

    def test_a_class_converts_what_its_manifest_names_and_nothing_else(self):
        with self.assertRaisesRegex(TypeError, "the manifest has conversions, so Questions needs a method convert"):
            reconciler(MANIFEST)(Questions)
        converter = type("Things", (Questions,), {"convert": lambda self, object, desired: object})
        with self.assertRaisesRegex(TypeError, "has a method convert, but the manifest has no conversions"):
            reconciler(Manifest("things", "1"))(converter)
        with self.assertRaisesRegex(TypeError, "no method convert"):
            Runner(reconciler(Manifest("things", "1"))(Questions)).convert(V1, "example.com/v2")


class BuildTest(unittest.TestCase):
    def test_the_component_is_built_again_for_the_world_of_a_plugin_that_converts(self):
        sdk = Path(__file__).parents[1]
        spec = util.spec_from_file_location("componentize", sdk / "componentize.py")
        componentize = util.module_from_spec(spec)
        spec.loader.exec_module(componentize)
        self.assertIn(f'"{componentize.CONVERTS}"', (sdk / "oarlock" / "_component.py").read_text())
        fail = f"case $1 in plugin) echo 'AssertionError: {componentize.CONVERTS}' >&2; exit 1;; converting-plugin) ;; esac"
        self.assertEqual(componentize.main(["sh", "-c", fail, "--world", "plugin"]), 0)


if __name__ == "__main__":
    unittest.main()
