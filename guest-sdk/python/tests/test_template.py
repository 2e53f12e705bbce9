"""The project template, as `oarlock new` fills it in, passes its own unit tests."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SDK = Path(__file__).parents[1]
TEMPLATE = SDK.parents[1] / "templates" / "python"


def filled_in(folder, **values):
    shutil.copytree(TEMPLATE, folder, ignore=shutil.ignore_patterns("__pycache__", "build", ".venv"))
    for file in Path(folder).rglob("*"):
        if file.is_file():
            text = file.read_text()
            for name, value in values.items():
                text = text.replace("{{" + name + "}}", value)
            file.write_text(text)
    return Path(folder)


class TemplateTest(unittest.TestCase):
    def test_a_new_project_passes_its_tests_and_has_nothing_left_to_fill_in(self):
        for group, version, kind, plural in (("", "v1", "Namespace", "namespaces"), ("example.com", "v1", "Thing", "things")):
            with self.subTest(kind), tempfile.TemporaryDirectory() as work:
                project = filled_in(
                    f"{work}/class",
                    name="class",
                    name_snake="class",
                    group=group,
                    version=version,
                    kind=kind,
                    api_version=f"{group}/{version}" if group else version,
                    plural=plural,
                    apply=" --apply crd.yaml" if group else "",
                    definition="The definition of the kind is `crd.yaml`." if group else "",
                )
                left = [file.name for file in project.rglob("*") if file.is_file() and "{{" in file.read_text()]
                self.assertEqual(left, [])
                environment = os.environ | {"PYTHONPATH": f".:{SDK}", "PYTHONDONTWRITEBYTECODE": "1"}
                command = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
                run = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertIn("Ran 4 tests", run.stderr)


if __name__ == "__main__":
    unittest.main()
