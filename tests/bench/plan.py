#!/usr/bin/env python3
"""How long `oarlock plan` takes, and how much memory: Networks that are new, Networks that a host has brought in sync, and status of many.

Each line is one run of the command, in seconds of wall clock and of processor, with its peak RSS and its exit status.
"""
import json, os, subprocess, time

from bench import Host, World, arguments, machine, table, wait

VERBS = ["get", "list", "watch", "patch"]


def plan(world, folder, selection=()):
    began = time.monotonic()
    process = subprocess.Popen([world.bin / "oarlock", "plan", folder, "--kubeconfig", world.kubeconfig, "-o", "json", *selection],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    document = json.loads(process.stdout.read())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    summary = {key: value for key, value in document["summary"].items() if value}
    return [f"{time.monotonic() - began:.1f}", f"{usage.ru_utime + usage.ru_stime:.1f}", usage.ru_maxrss // 1024, process.returncode,
            ", ".join(f"{value} {key}" for key, value in summary.items())]


def networks(opts, count, rows):
    with World(opts) as world:
        url = world.neutron()
        world.define("plugins/network/crd.yaml")
        folder = world.plugin_folder("network")
        (folder / "network.wasm").symlink_to((opts.plugins / "network.wasm").resolve())
        world.grant(folder, "network", {
            "partial": True, "cleanup": True, "manageStatus": True, "http": {"origins": [url]}, "config": {"neutronUrl": url},
            "permissions": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks", "networks/status"], "verbs": VERBS}]})
        world.fill("networks", count)
        plan(world, folder)  # Fills the code cache.
        rows.append([f"{count:,} new Networks"] + plan(world, folder))
        host = Host(world, folder, level="info")

        def in_sync():
            plugin, = json.loads(host.admin("/plugins"))["plugins"]
            return plugin["reconciles"] >= count and plugin["queueDepth"] == 0 and plugin["outOfSync"]["objects"] == 0

        wait("every Network to be in sync", 600, in_sync, 1)
        time.sleep(2)
        host.stop()
        rows.append([f"{count:,} Networks in sync"] + plan(world, folder))


def statuses(opts, count, rows):
    with World(opts) as world:
        world.define("plugins/network/crd.yaml")
        folder = world.plugin_folder("status-only")
        (folder / "status-only.wasm").symlink_to((opts.plugins / "status-only.wasm").resolve())
        world.grant(folder, "status-only", {
            "manageStatus": True,
            "permissions": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks", "networks/status"], "verbs": VERBS}]})
        world.fill("networks", count)
        rows.append([f"status of {count:,} Networks"] + plan(world, folder))


def main():
    opts = arguments(__doc__, networks=1000, statuses=10_000)
    rows = []
    networks(opts, opts.networks, rows)
    statuses(opts, opts.statuses, rows)
    print(f"{machine()}\n")
    print(table(["plan of", "s", "CPU s", "peak MiB", "exit status", "result"], rows))


if __name__ == "__main__":
    main()
