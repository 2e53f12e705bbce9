#!/usr/bin/env python3
"""What a rollout costs: reconciles per second of the version that runs, without and beside a shadow; and the time of a rollout over many objects.

The first table: a host starts with objects that are in sync, and reconciles each once. Beside a shadow it compares the candidate with the version
that runs meanwhile. Pairs, in turns. The second table: the steps of one rollout, from the file in place to the promotion.
"""
import json, statistics, time

from bench import Host, World, arguments, cpu_seconds, machine, table, wait

VERBS = ["get", "list", "watch", "patch"]


def grant(world, folder, rollout=None):
    world.grant(folder, "status-only", {
        "manageStatus": True, "permissions": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks", "networks/status"], "verbs": VERBS}],
        **({"rollout": rollout} if rollout else {})})


def version(opts, folder, mark):
    """The plugin with a further custom section, by which its digest is another one."""
    content = b"\x04mark" + mark.encode()
    wasm = (opts.plugins / "status-only.wasm").read_bytes() + bytes([0, len(content)]) + content
    new = folder / ".new"
    new.write_bytes(wasm)
    new.rename(folder / "status-only.wasm")


def entry(host):
    plugin, = json.loads(host.admin("/plugins"))["plugins"]
    return plugin


def start(world, folder):
    return Host(world, folder, "--plugin-objects", "default", "--cache-dir", world.folder / "cache", level="info")


def speed(host, count):
    """Reconciles per second and CPU seconds, between a tenth and nine tenths of the objects."""
    marks = {}

    def passed(share):
        if host.metric("controller_runtime_reconcile_total", controller="status-only") < count * share:
            return False
        return marks.setdefault(share, (time.monotonic(), cpu_seconds(host.process.pid)))

    for share in (0.1, 0.9):
        wait(f"{share:.0%} of the reconciles", 300, lambda: passed(share), 0.005)
    return count * 0.8 / (marks[0.9][0] - marks[0.1][0])


def shadow(opts, rows):
    with World(opts) as world:
        world.define("plugins/network/crd.yaml", "deploy/crds/plugins.yaml")
        folder = world.plugin_folder("status-only")
        version(opts, folder, "one")
        grant(world, folder, {"shadow": {"for": "1h"}})
        world.fill("networks", opts.objects)
        host = start(world, folder)
        # Until the version is proven, and so saved.
        wait("the first version", 600, lambda: not entry(host).get("onProbation", True) and entry(host)["queueDepth"] == 0, 1)
        time.sleep(2)
        host.stop()
        alone, beside, compared = [], [], []
        for _ in range(opts.pairs):
            for mark, speeds in (("one", alone), ("two", beside)):
                version(opts, folder, mark)
                host = start(world, folder)
                speeds.append(speed(host, opts.objects))
                if mark == "two":
                    compared.append(entry(host)["rollout"]["compared"]["objects"])
                host.stop()
        ratio = statistics.median(b / a for a, b in zip(alone, beside))
        rows.append([f"{opts.objects:,}", f"{statistics.median(alone):.0f}", f"{statistics.median(beside):.0f}", f"{ratio:.2f}",
                     f"{statistics.median(compared):.0f}"])


def rollout(opts, rows):
    with World(opts) as world:
        world.define("plugins/network/crd.yaml", "deploy/crds/plugins.yaml")
        folder = world.plugin_folder("status-only")
        version(opts, folder, "one")
        grant(world, folder, {"plan": {"maxChanges": 0}, "shadow": {"for": "1s"},
                              "canary": {"percent": 5, "steps": [25, 50], "for": "1s", "maxDifferentWrites": 0}})
        world.fill("networks", opts.objects)
        host = start(world, folder)
        wait("the first version", 600, lambda: entry(host)["reconciles"] >= opts.objects and entry(host)["queueDepth"] == 0, 1)
        cpu, began, phases = cpu_seconds(host.process.pid), time.monotonic(), {}
        version(opts, folder, "two")

        def promoted():
            now = entry(host).get("rollout")
            if now:
                phases.setdefault(f"{now['phase']} {now['percent']} %" if now["percent"] else now["phase"], time.monotonic() - began)
            return not now and phases

        wait("the promotion", 600, promoted, 0.02)
        total = time.monotonic() - began
        steps = ", ".join(f"{phase} after {seconds:.1f} s" for phase, seconds in phases.items())
        rows.append([f"{opts.objects:,}", f"{total:.1f}", f"{cpu_seconds(host.process.pid) - cpu:.1f}", f"{host.rss_mib():.0f}", steps])
        host.stop()


def main():
    opts = arguments(__doc__, objects=10_000, pairs=5)
    speeds, rollouts = [], []
    shadow(opts, speeds)
    rollout(opts, rollouts)
    print(f"{machine()}\n")
    print(table(["objects", "reconciles/s", "beside a shadow", "ratio", "compared meanwhile"], speeds))
    print()
    print(table(["objects", "s until promoted", "CPU s", "RSS MiB", "steps"], rollouts))


if __name__ == "__main__":
    main()
