"""Prints what junitparser and tap.py read in a report: the name of each test, whether it passed, and its message, as JSON.

    read.py junit|tap FILE
"""

import json
import sys

from junitparser import JUnitXml
from tap.parser import Parser


def junit(file):
    for suite in JUnitXml.fromfile(file):
        for case in suite:
            messages = [result.message for result in case.result]
            yield {"name": case.name, "passed": not messages, "message": messages[0] if messages else None}


def tap(file):
    for line in Parser().parse_file(file):
        if line.category == "test":
            # What is skipped or to do fails nothing.
            excused = line.skip or line.todo
            message = (line.yaml_block or {}).get("message")
            yield {"name": line.description, "passed": line.ok, "excused": excused, "message": message}
        elif line.category not in ("plan", "version"):
            raise SystemExit(f"{line.category}: {line}")


print(json.dumps(list({"junit": junit, "tap": tap}[sys.argv[1]](sys.argv[2]))))
