"""Every snippet of the README runs, in order, as one module."""

import re
import sys
import types
import unittest
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


class ReadmeTest(unittest.TestCase):
    def test_every_snippet_runs(self):
        text = README.read_text()
        snippets = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
        self.assertEqual(len(snippets), text.count("```") // 2, "every snippet is Python")
        module = types.ModuleType("readme")
        sys.modules["readme"] = module
        self.addCleanup(sys.modules.pop, "readme")
        for snippet in snippets:
            # Lines count from the top of the README.
            above = text[: text.index(snippet)].count("\n")
            exec(compile("\n" * above + snippet, str(README), "exec"), module.__dict__)


if __name__ == "__main__":
    unittest.main()
