#!/usr/bin/env python3
"""Memory of the host and time of a reconcile, with real processes on loopback.

Starts the embedded API server, the Neutron emulator and the host, makes COUNT Networks, waits until all are Ready, and reads
the durations of reconciles from the host's own log (JSON, debug). With HTTP: resyncs of the network plugin that find nothing
to do (two requests to the emulator). Without HTTP: the misfit guest in mode `ok`, which keeps a second ConfigMap for each one and
compares what it applied.
"""
import shutil, subprocess, time
from concurrent.futures import ThreadPoolExecutor

from bench import ROOT, Host, World, arguments, p, request, wait


def with_http(world, opts):
    url = world.neutron()
    plugins = world.plugin_folder("network")
    shutil.copy(opts.plugins / "network.wasm", plugins)
    world.grant(plugins, "network", {
        "permissions": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks"], "verbs": ["get", "list", "watch"]}],
        "http": {"origins": [url]}, "config": {"neutronUrl": url}, "partial": True})
    subprocess.run(["kubectl", "--kubeconfig", world.kubeconfig, "apply", "-f", ROOT / "plugins/network/crd.yaml"],
                   stdout=subprocess.DEVNULL, check=True)
    host = Host(world, plugins, "--resync-seconds", 20)
    wait("the plugin is loaded", 60, lambda: any(host.lines("plugin loaded")))
    time.sleep(2)
    idle = host.rss_mib()
    path = f"{world.api}/apis/samplecrd.k8s.io/v1/namespaces/default/networks"

    def create(i):
        request("POST", path, {"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": f"n{i}"},
                               "spec": {"cidr": f"10.{i // 256}.{i % 256}.0/24", "gateway": f"10.{i // 256}.{i % 256}.1"}})

    def ready():
        items = request("GET", path)["items"]
        return sum(1 for n in items for c in n.get("status", {}).get("conditions", []) if c["status"] == "True") == opts.count

    began = time.monotonic()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(create, range(opts.count)))
    wait("all Networks are Ready", 300, ready)
    took = time.monotonic() - began
    full = host.rss_mib()
    first = host.durations("Event")
    wait("a whole resync", 120, lambda: len(host.durations("Resync")) >= opts.count)
    resync = host.durations("Resync")
    host.stop()
    print(f"host RSS, one plugin, no object          {idle:8.1f} MiB")
    print(f"host RSS, one plugin, {opts.count:5} Networks     {full:8.1f} MiB")
    print(f"{opts.count} Networks made and Ready              {took:8.1f} s")
    print(f"reconcile that makes a network           {p(first, 50):8.2f} ms p50 {p(first, 99):8.2f} ms p99   (n={len(first)})")
    print(f"reconcile in sync, with HTTP             {p(resync, 50):8.2f} ms p50 {p(resync, 99):8.2f} ms p99   (n={len(resync)})")


def without_http(world, opts):
    plugins = world.plugin_folder("misfit")
    shutil.copy(opts.plugins / "misfit.wasm", plugins)
    world.grant(plugins, "misfit", {
        "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch"]}],
        "config": {"mode": "ok"}, "partial": True})
    host = Host(world, plugins, "--resync-seconds", 5)
    count = min(opts.count, 500)
    for i in range(count):
        request("POST", f"{world.api}/api/v1/namespaces/default/configmaps", {
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}", "labels": {"misfit": "true"}}, "data": {"a": "b" * 1500}})
    wait("a resync without HTTP", 60, lambda: len(host.durations("Resync")) >= count)
    without = host.durations("Resync")
    print(f"reconcile in sync, without HTTP          {p(without, 50):8.2f} ms p50 {p(without, 99):8.2f} ms p99   (n={len(without)})")
    for call in ["instantiate", "get-desired", "get-actual"]:
        name, labels = "oarlock_plugin_call_duration_seconds", {"plugin": "misfit", "call": call}
        mean = host.metric(f"{name}_sum", **labels) / max(1, host.metric(f"{name}_count", **labels))
        print(f"of it {call:14}                     {mean * 1e6:8.0f} µs mean")
    host.stop()


opts = arguments(__doc__, count=1000)
with World(opts) as world:
    with_http(world, opts)
    without_http(world, opts)
