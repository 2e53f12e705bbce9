#!/usr/bin/env python3
"""Replay the recordings and hold the figures in expected.json: no area and no scenario may get worse.

    figures.py --server http://127.0.0.1:8080 --token T             # print the table, compare
    figures.py --server http://127.0.0.1:8080 --token T --record    # the figures of this run are the ones to hold

Exit status: 0 nothing is worse than recorded and the goal is met, 1 something is, 2 a replay that did not work.
"""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED = os.path.join(HERE, "expected.json")


def replay(server, token, arguments, jobs):
    """The figures of one replay: per area the steps and scenarios [passed, all], and which steps of which scenario fail."""
    command = [sys.executable, os.path.join(HERE, "replay.py"), "--server", server, "--token", token, "--json", "--jobs", str(jobs)]
    done = subprocess.run(command + arguments, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(2)
    report = json.loads(done.stdout)
    areas = {name: {"scenarios": [a["passed"], a["total"]], "steps": [a["stepsPassed"], a["steps"]]}
             for name, a in sorted(report["areas"].items())}
    failing = {f["name"]: sorted({s["index"] for s in f["steps"]}) for f in report["failures"]}
    return {"areas": areas, "failing": failing}, report["failures"]


def show(title, figures):
    print("%-24s %14s %16s" % (title, "scenarios", "steps"))
    sums = [0, 0, 0, 0]
    for name, a in figures["areas"].items():
        cells = a["scenarios"] + a["steps"]
        sums = [x + y for x, y in zip(sums, cells)]
        print("  %-22s %6d / %-6d %7d / %-7d" % (name, *cells))
    print("  %-22s %6d / %-6d %7d / %-7d" % ("all", *sums))


def compare(title, expected, found):
    """What got worse, and what got better, each a line."""
    worse, better = [], []
    for area in sorted(set(expected["areas"]) | set(found["areas"])):
        old, new = expected["areas"].get(area), found["areas"].get(area)
        if old is None or new is None:
            worse.append("%s: area %s is %s" % (title, area, "not recorded" if old is None else "not there any more"))
            continue
        for what in ("scenarios", "steps"):
            (was, was_all), (now, now_all) = old[what], new[what]
            text = "%s: area %s: %d of %d %s pass, recorded are %d of %d" % (title, area, now, now_all, what, was, was_all)
            if now < was or now_all < was_all:
                worse.append(text)
            elif now > was or now_all > was_all:
                better.append(text)
    for name in sorted(set(expected["failing"]) | set(found["failing"])):
        old, new = set(expected["failing"].get(name, [])), set(found["failing"].get(name, []))
        if new - old:
            worse.append("%s: scenario %s: step %s failed and passes in the recorded figures"
                         % (title, name, ", ".join(map(str, sorted(new - old)))))
        if old - new:
            better.append("%s: scenario %s: step %s passes now" % (title, name, ", ".join(map(str, sorted(old - new)))))
    return worse, better


def short_of(goal, areas):
    """Where the goal is missed: so many percent of the steps of these areas together, and of each alone."""
    wanted = {name: goal["each"] for name in goal["areas"]}
    wanted.update({name: least for name, least in goal["atLeast"].items() if name in areas})
    missed, sums = [], [0, 0]
    for name, least in wanted.items():
        passed, total = areas.get(name, {"steps": [0, 1]})["steps"]
        if name in goal["areas"]:
            sums = [sums[0] + passed, sums[1] + total]
        if passed * 100 < total * least:
            missed.append("goal: area %s passes %d of %d steps, at least %d %% are wanted" % (name, passed, total, least))
    if sums[0] * 100 < sums[1] * goal["together"]:
        missed.append("goal: %s together pass %d of %d steps, at least %d %% are wanted"
                      % (", ".join(goal["areas"]), *sums, goal["together"]))
    return missed


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--server", required=True, help="http(s)://host:port; no controllers may run on it")
    ap.add_argument("--token", required=True, help="bearer token of a member of system:masters")
    ap.add_argument("--jobs", type=int, default=8, help="scenarios side by side")
    ap.add_argument("--skip", action="append", default=[], help="an area that is not replayed; repeatable")
    ap.add_argument("--record", action="store_true", help="hold the figures of this run from now on")
    opts = ap.parse_args()
    if opts.record and opts.skip:
        ap.error("what is skipped cannot be recorded")
    with open(EXPECTED, encoding="utf-8") as f:
        expected = json.load(f)
    worse, better, failures = [], [], {}
    for title, run in expected["runs"].items():
        arguments = list(run["arguments"])
        if opts.skip and "--only" not in arguments:
            arguments += [a for name in run["areas"] if name not in opts.skip for a in ("--only", name + "/*")]
        run = {**run, "areas": {name: a for name, a in run["areas"].items() if name not in opts.skip},
               "failing": {name: steps for name, steps in run["failing"].items() if name.split("/")[0] not in opts.skip}}
        found, failed = replay(opts.server, opts.token, arguments, opts.jobs)
        show(title, found)
        failures[title] = failed
        if title == expected["goal"]["run"]:
            worse += short_of(expected["goal"], found["areas"])
        if opts.record:
            expected["runs"][title].update(found)
            continue
        less, more = compare(title, run, found)
        worse += less
        better += more
    if opts.record:
        with open(EXPECTED, "w", encoding="utf-8") as f:
            # Lists on one line: a figure, not four lines.
            f.write(re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[%s]" % re.sub(r",\s+", ", ", m.group(1)),
                           json.dumps(expected, indent=1)) + "\n")
        print("recorded in %s" % os.path.relpath(EXPECTED))
    for line in better:
        print("BETTER  " + line)
    if better and not worse:
        print("better than recorded: hold it with tests/conformance/run.sh --record-figures")
    for line in worse:
        print("WORSE   " + line)
    for title, failed in failures.items():
        for scenario in failed:
            if any("scenario %s:" % scenario["name"] in line and line.startswith(title) for line in worse):
                print(json.dumps(scenario, indent=1))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
