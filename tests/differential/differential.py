#!/usr/bin/env python3
"""Compare the embedded API server with a real one on random sequences of requests.

    differential.py --seed 1 --minutes 10 [--out FOLDER]
    differential.py --replay PATH...        what differs in recorded scenarios

What is sent depends on the seed alone.  A difference is shrunk and written to the folder as a recording, with the real
answer as what is expected.  Differences are counted by class; those in known.json are decided to stay.

Exit status: 0 no class that is not known, 1 new classes, 2 it could not be compared.
"""
import argparse
import fnmatch
import hashlib
import json
import os
import random
import re
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import compare
import replay
import servers
import shrink
from compare import both, first_difference
from schemas import Schemas
from sequences import Drawer, kinds

HERE = os.path.dirname(os.path.abspath(__file__))


def slug(name):
    """A file name for a class."""
    text = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:90].rstrip("-")
    return "%s-%s" % (text, hashlib.sha1(name.encode()).hexdigest()[:6])


class Known:
    """Classes that are decided to stay, with the reason; `*` is any text."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.reasons = json.load(f)

    def reason(self, name):
        return next((why for pattern, why in self.reasons.items() if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))), None)


class Found:
    """Differences by class."""

    def __init__(self, known, out):
        self.known, self.out, self.lock = known, out, threading.Lock()
        self.counts, self.files, self.claimed, self.unstable = {}, {}, set(), 0

    def claim(self, names):
        """Counts the classes of one step; those to be looked into.  Of the differences of one body that is one at a time."""
        with self.lock:
            out, bodies = [], 0
            for name in names:
                self.counts[name] = self.counts.get(name, 0) + 1
                if name in self.claimed or self.known.reason(name) is not None or name.startswith("3 body") and bodies:
                    continue
                bodies += name.startswith("3 body")
                self.claimed.add(name)
                out.append(name)
            return out

    def forget(self, name):
        """It did not come again."""
        with self.lock:
            self.unstable += 1
            self.claimed.discard(name)
            self.counts[name] -= 1
            if not self.counts[name]:
                del self.counts[name]

    def path(self, name):
        return os.path.join(self.out, slug(name) + ".json")

    def write(self, name, case):
        os.makedirs(self.out, exist_ok=True)
        path = self.path(name)
        with open(path, "w", encoding="utf-8") as f:
            json.dump(case, f, indent=1, ensure_ascii=False)
            f.write("\n")
        self.files[name] = path


class Tester:
    def __init__(self, pair, webhook, found, seconds):
        self.pair, self.webhook, self.found, self.seconds = pair, webhook, found, seconds
        self.requests = self.sequences = 0
        self.lock = threading.Lock()

    def differs(self, case):
        runs = both(case, self.pair, self.webhook)
        with self.lock:
            self.requests += len(runs[0].answers)
        return first_difference(runs)

    def again(self, case, name):
        """Whether the case still differs in this way."""
        difference = self.differs(case)
        return difference is not None and name in difference[2]

    def one(self, case, rounds=4):
        """Compares a sequence; what differs is looked at, taken out, and the rest compared again."""
        for _ in range(rounds):
            difference = self.differs(case)
            if difference is None:
                return
            index, _, names, _ = difference
            for name in self.found.claim(names):
                self.report(shrink.shorter(case, index), name)
            place = list(shrink.flat(case["steps"]))[index - 1]
            case = {**case, "steps": shrink.without(case["steps"], place)}
            if not case["steps"]:
                return

    def report(self, case, name):
        """Shrinks a difference and writes it, if it is there every time."""
        if not all(self.again(case, name) for _ in range(2)):
            self.found.forget(name)
            return
        if os.path.exists(self.found.path(name)):
            self.found.files[name] = self.found.path(name)
            return
        case = shrink.shrink(case, lambda c: self.again(c, name), self.seconds)
        self.found.write(name, self.recorded(case, name))

    def recorded(self, case, name):
        """The case with what the real server answers."""
        case = json.loads(json.dumps(case))
        case["name"], case["description"] = "differential/" + slug(name), name
        run = compare.Run(case, self.pair[0].client, self.webhook)
        run.execute()
        for raw, actual in run.answers.values():
            raw["expect"] = actual
            if "path" in raw:
                raw.setdefault("method", "GET")
            if "events" in actual:
                raw["count"] = len(actual["events"])
        if "webhook" in case and "${webhook" not in json.dumps(case["steps"]):
            del case["webhook"]
        return case


def drawn(tester, schemas, served, seed, deadline, jobs, only):
    """Sequences until the time is over."""
    numbers = iter(range(10 ** 9))
    lock = threading.Lock()

    def work():
        while time.time() < deadline and all(s.running.alive() for s in tester.pair):
            with lock:
                number = next(numbers)
            case = Drawer(random.Random("%d/%d" % (seed, number)), schemas, served).sequence(number, seed, only)
            tester.one(case)
            with tester.lock:
                tester.sequences += 1

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for future in [pool.submit(work) for _ in range(jobs)]:
            future.result()


def summary(tester, found, started):
    print("%d requests to each server in %d sequences, %.1f minutes" % (tester.requests, tester.sequences, (time.time() - started) / 60))
    new = sorted((n for n in found.counts if found.known.reason(n) is None))
    old = sorted((n for n in found.counts if found.known.reason(n) is not None))
    for title, names in (("known differences, by class", old), ("NEW differences, by class", new)):
        print("%s: %d" % (title, len(names)))
        for name in names:
            print("%6d  %s" % (found.counts[name], name))
            if name in found.files:
                print("        %s" % found.files[name])
    if found.unstable:
        print("%d differences did not come again" % found.unstable)
    return 1 if new else 0


def replayed(tester, paths, jobs):
    """How recorded scenarios differ now; a path is a file or a folder."""
    cases = [(p, c) for given in paths for p, c in recordings(given)]

    def differs(item):
        # A busy machine delays an event or two.
        first = tester.differs(item[1])
        found = tester.differs(item[1]) if first else None
        return item[0], [n for n in found[2] if tester.found.known.reason(n) is None] if found else []

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        results = list(pool.map(differs, (i for i in cases if not i[1].get("serial"))))
    results += [differs(i) for i in cases if i[1].get("serial")]
    for path, names in results:
        if names:
            print("\n        ".join(["differs %s" % path] + names))
    print("%d of %d recordings are answered alike" % (sum(not names for _, names in results), len(results)))
    return 1 if any(names for _, names in results) else 0


def recordings(path):
    if os.path.isdir(path):
        return replay.load(path, None)
    with open(path, encoding="utf-8") as f:
        return [(path, json.load(f))]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--minutes", type=float, default=0.5)
    ap.add_argument("--jobs", type=int, default=4, help="sequences side by side")
    ap.add_argument("--out", default="differences", help="folder for shrunk differences")
    ap.add_argument("--shrink-seconds", type=float, default=20, help="at most for each class; 0 writes what was found as it is")
    ap.add_argument("--only", action="append", help="a theme, such as one_kind; repeatable")
    ap.add_argument("--port", type=int, help="of the real API server; it and the two after it are taken")
    ap.add_argument("--replay", nargs="+", metavar="PATH", help="recorded scenarios, or folders of them, to compare instead of random ones")
    opts = ap.parse_args()
    started_servers, webhook = [], None
    try:
        for start in (lambda: servers.ControlPlane(opts.port), servers.Embedded):
            started_servers.append(start())
        pair = [compare.Server(s, opts.jobs) for s in started_servers]
        webhook = replay.Webhook()
        found = Found(Known(os.path.join(HERE, "known.json")), opts.out)
        tester = Tester(pair, webhook, found, opts.shrink_seconds)
        if opts.replay:
            return replayed(tester, opts.replay, opts.jobs)

        def get(path):
            return pair[0].client.send({"path": path}).body
        schemas = Schemas(get(p["serverRelativeURL"].split("?")[0]) for p in get("/openapi/v3")["paths"].values())
        started = time.time()
        drawn(tester, schemas, kinds(get, schemas), opts.seed, started + opts.minutes * 60, opts.jobs, opts.only)
        code = summary(tester, found, started)
        for server in started_servers:
            if not server.alive():
                print("a server ended", file=sys.stderr)
                return 2
        return code
    except servers.NotAble as e:
        print(e, file=sys.stderr)
        return 2
    finally:
        if webhook:
            webhook.close()
        for server in reversed(started_servers):
            server.stop()


if __name__ == "__main__":
    sys.exit(main())
