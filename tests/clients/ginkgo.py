"""ginkgo.py PACKAGE REPORT OUTPUT: the tests of a Go package, a line each: Ginkgo's of its JUnit report, and Go's of what -test.v printed."""
import re
import sys
import xml.etree.ElementTree as xml

WORDS = {"passed": "PASSED", "PASS": "PASSED", "skipped": "SKIPPED", "pending": "SKIPPED", "SKIP": "SKIPPED"}
package, report, output = sys.argv[1:]
results = [(case.get("status"), case.get("name")) for case in xml.parse(report).iter("testcase")]
# Beside the tests, what failed before or after them: without it they are skipped.
results = [(status, name) for status, name in results if name.startswith("[It]") or status not in ("passed", "skipped")]
text = open(output, errors="replace").read()
# The test of Go that runs those of Ginkgo is none by itself.
suites = re.findall(r"^=== RUN +(\S+)\nRunning Suite:", text, re.M)
results += [(status, name) for status, name in re.findall(r"^ *--- (PASS|FAIL|SKIP): (\S+)", text, re.M) if name not in suites]
for status, name in results:
    print(WORDS.get(status, "FAILED"), package, " ".join(name.split()))
