"""Which end-to-end tests run on a real API server: all but what tests/README.md leaves out.

    select.py README ALL SELECTED SKIPPED [FILTER...]

ALL has one name a line. The section "Not on a real API server" of README has tables of patterns with a reason each; those of
its part "without an API server" are no tests of one, and are not counted.
"""

import fnmatch
import os
import re
import sys


def sections(text):
    """Yields (heading, pattern, reason) of every row of the section's tables."""
    part = text.split("## Not on a real API server", 1)[1].split("\n## ", 1)[0]
    heading = ""
    for line in part.splitlines():
        if line.startswith("### "):
            heading = line[4:].strip()
        row = re.match(r"\| (`.*`) \| (.*) \|$", line)
        if row:
            for pattern in re.findall(r"`([^`]+)`", row[1]):
                yield heading, pattern, row[2]


def main():
    readme, everything, selected, skipped, *filters = sys.argv[1:]
    names = open(everything, encoding="utf-8").read().split()
    rules = list(sections(open(readme, encoding="utf-8").read()))
    unused = [pattern for _, pattern, _ in rules if not fnmatch.filter(names, pattern)]
    if unused:
        sys.exit(f"{readme} lists tests that do not exist: {', '.join(unused)}")
    run, left_out = [], []
    for name in names:
        found = [(heading, reason) for heading, pattern, reason in rules if fnmatch.fnmatchcase(name, pattern)]
        if not os.environ.get("WITHOUT_CONTROLLERS"):
            found = [one for one in found if one[0] != "Without kube-controller-manager"]
        if not found:
            run.append(name)
        elif found[0][0] != "Without an API server":
            left_out.append(f"{name}: {found[0][1]}")
    share = len(run) / (len(run) + len(left_out))
    if share < 0.75 and not os.environ.get("WITHOUT_CONTROLLERS"):
        sys.exit(f"only {share:.0%} of the tests of an API server run on a real one; at least 75 % must")
    run = [name for name in run if not filters or any(part in name for part in filters)]
    if not run:
        sys.exit("no test has such a name")
    open(selected, "w", encoding="utf-8").write("".join(f"{name}\n" for name in run))
    open(skipped, "w", encoding="utf-8").write("".join(f"{line}\n" for line in left_out))


main()
