#!/usr/bin/env python3
"""What the recorder costs: processor time of the host for a reconcile, with and without recordings.

Two hosts run at the same time, each with an embedded API server of its own, so that other work on the machine slows down both. They have the
same objects and the same plugin, the misfit guest, which reads a child of each object. In `in sync` the objects are reconciled again and again
and nothing changes. In `writes` every object is edited in turn, and each edit makes one write of the child and two reconciles.

Each round is a pair of figures. The order in which the two hosts start changes from round to round. `--objects 100,1000,10000` measures with each
of these numbers of objects: no cost of the recorder may grow with it.
"""
import json, statistics, time, urllib.parse

from bench import ROOT, Host, World, arguments, cpu_seconds, machine, request, table, wait
from noisy import Editor

EDITS_A_SECOND = 100
WORK = {"in sync": "requeue:10", "writes": "ok"}
RECORDERS = {"without": ["--recorder-mib", "0"], "with": []}


class Side:
    """A host and its API server."""

    def __init__(self, world, opts, mode, objects, options):
        self.objects = [f"{world.api}/api/v1/namespaces/default/configmaps/o{number}" for number in range(objects)]
        for number in range(objects):
            request("POST", f"{world.api}/api/v1/namespaces/default/configmaps", {
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "first"},
                "metadata": {"name": f"o{number}", "labels": {"misfit": "true"}, "annotations": {"misfit/mode": mode}}})
        folder = world.plugin_folder("recorder")
        (folder / "misfit.wasm").write_bytes((opts.plugins / "misfit.wasm").read_bytes())
        permissions = json.loads((ROOT / "tests/guests/misfit/src/manifest.json").read_text())["permissions"]
        world.grant(folder, "misfit", {"permissions": permissions})
        self.world, self.host = world, Host(world, folder, "--cache-dir", opts.bin.resolve().parent / "recorder-cache", *options, level="info")
        wait("every object reconciled", 60 + objects / 50, lambda: self.reconciles() >= 2 * objects)

    def reconciles(self):
        return self.host.metric("controller_runtime_reconcile_total")

    def figures(self):
        return self.reconciles(), cpu_seconds(self.host.process.pid)

    def edit(self):
        paths = [urllib.parse.urlparse(url).path for url in self.objects]
        address = urllib.parse.urlparse(self.world.api)
        editor = Editor((address.hostname, address.port), EDITS_A_SECOND)
        editor.objects = paths
        return editor


def pair(opts, mode, objects, names):
    """Microseconds of processor time for each reconcile, and the reconciles a second, of both hosts."""
    with World(opts) as one, World(opts) as other:
        sides = {name: Side(world, opts, mode, objects, RECORDERS[name]) for name, world in zip(names, [one, other])}
        editors = [side.edit() for side in sides.values()] if mode == "ok" else []
        # The first records of each outcome are in place.
        time.sleep(3)
        before = {name: side.figures() for name, side in sides.items()}
        time.sleep(opts.seconds)
        after = {name: side.figures() for name, side in sides.items()}
        for editor in editors:
            editor.on = False
            editor.thread.join()
        done = {name: (after[name][0] - before[name][0], after[name][1] - before[name][1]) for name in sides}
        return {name: {"cpu_us": 1e6 * cpu / count, "rate": count / opts.seconds, "rss_mib": sides[name].host.rss_mib()} for name, (count, cpu) in done.items()}


def main():
    opts = arguments(__doc__, rounds=5, seconds=20, objects="200", json=False)
    results = {}
    for work, mode in WORK.items():
        for objects in map(int, opts.objects.split(",")):
            of = f"{work}, {objects:,} objects"
            results[of] = []
            for number in range(opts.rounds):
                names = list(RECORDERS) if number % 2 == 0 else list(RECORDERS)[::-1]
                results[of].append(pair(opts, mode, objects, names))
                print(f"{of}: {json.dumps(results[of][-1])}", flush=True)
    if opts.json:
        return print(json.dumps({"machine": machine(), "results": results}, indent=1))
    rows = []
    for work, pairs in results.items():
        cell = lambda name, figure, form: ", ".join(f"{one[name][figure]:{form}}" for one in pairs)
        change = statistics.median(100 * (one["with"]["cpu_us"] / one["without"]["cpu_us"] - 1) for one in pairs)
        rows.append([work, f"{pairs[0]['with']['rate']:.0f}", cell("without", "cpu_us", ".0f"), cell("with", "cpu_us", ".0f"), f"{change:+.1f} %",
                     f"{statistics.median(one['with']['rss_mib'] - one['without']['rss_mib'] for one in pairs):+.1f}"])
    print(f"\n{opts.rounds} pairs of {opts.seconds} s on {machine()}\n")
    print(table(["", "reconciles a second", "CPU of a reconcile without the recorder, µs", "with it, µs", "change, median", "RSS, MiB more"], rows))


if __name__ == "__main__":
    main()
