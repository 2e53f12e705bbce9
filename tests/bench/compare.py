#!/usr/bin/env python3
"""The host beside a native kube-rs controller that does the same, and figures of single parts.

Each round starts an API server of its own (a process), creates COUNT Networks, and starts a controller on them: the time until
all have their status, its processor time per object, its memory. The host runs the status-only guest, or the network plugin with
the Neutron emulator; `native-controller` is the same written with kube-rs' Controller. The two take turns, ROUNDS times; the median
counts. Then: the workqueue alone, lists and relists of many objects, and reconciles of objects of several sizes.

With KUBEBUILDER_ASSETS each API server is a kube-apiserver with etcd from that folder, and what needs none, or the faults of the embedded
one, is left out.

Writes compare.json, compare.md and compare.svg into the folder of the results; on a kube-apiserver compare-kubernetes.*.
"""
import contextlib, http.client, json, os, pathlib, re, shutil, statistics, subprocess, threading, time

from bench import CONTROL_PLANE, ROOT, Host, World, arguments, cpu_seconds, machine, p, peak_kib, request, rss_kib, table, wait
from chart import chart

NETWORKS = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks"


class Ready(threading.Thread):
    """Follows a watch of all Networks and counts those with a Ready condition that is True, without parsing more than it must."""
    NAME, READY = re.compile(rb'"name":"(network-\d+)"'), re.compile(rb'"status":"True"')

    def __init__(self, world):
        super().__init__(daemon=True)
        self.names, self.events, self.last = set(), 0, time.monotonic()
        revision = json.load(world.get(f"{NETWORKS}?limit=1"))["metadata"]["resourceVersion"]
        self.stream = world.get(f"{NETWORKS}?watch=1&resourceVersion={revision}")
        self.start()

    def run(self):
        # It ends with the server.
        with contextlib.suppress(OSError, http.client.HTTPException):
            for line in self.stream:
                self.events += 1
                self.look(line)

    def look(self, line):
        if self.READY.search(line):
            self.names.add(self.NAME.search(line).group(1))
            self.last = time.monotonic()


def cpu_ms(pid):
    return cpu_seconds(pid) * 1000


class Oarlock:
    name, reuses = "oarlock", 0

    def __init__(self, world, opts, variant, workers, neutron):
        plugin = "network" if neutron else "status-only"
        self.world, self.cache = world, opts.cache
        self.folder = world.plugin_folder(f"{variant}-{workers}")
        shutil.copy(opts.plugins / f"{plugin}.wasm", self.folder)
        config = {"http": {"origins": [neutron]}, "config": {"neutronUrl": neutron}} if neutron else {}
        world.grant(self.folder, plugin, {
            "permissions": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks"], "verbs": ["get", "list", "watch"]}],
            "cleanup": True, "manageStatus": True, "workers": workers, "resyncSeconds": 3600, "partial": True, "limits": {"instanceReuses": self.reuses}, **config})

    def start(self):
        self.host = Host(self.world, self.folder, "--cache-dir", self.cache, level="warn")
        return self.host.process


class Reusing(Oarlock):
    """With instances that serve many reconciles, where the grant allows it."""
    name, reuses = "oarlock, reusing", 1000


class Native:
    name = "kube-rs"

    def __init__(self, world, opts, variant, workers, neutron):
        self.world = world
        self.command = [opts.bin / "native-controller", "--workers", str(workers), *(["--neutron", neutron] if neutron else [])]

    def start(self):
        return self.world.start(self.command, env=dict(os.environ, KUBECONFIG=str(self.world.kubeconfig)))


def end(process):
    process.terminate()
    process.wait(60)


def cold(opts, kind, variant, workers, count, hosts=None):
    """One controller on COUNT objects that nobody has looked at; a host of the folder `hosts`, if it is given."""
    with World(opts, opts.real, hosts) as world:
        world.define("plugins/network/crd.yaml")
        controller = kind(world, opts, variant, workers, world.neutron() if variant == "neutron" else None)
        # Without an object, so that what is compiled is compiled.
        process = controller.start()
        time.sleep(4)
        idle = rss_kib(process.pid)
        end(process)
        world.fill("networks", count)
        ready = Ready(world)
        server = sum(map(cpu_ms, world.server_pids))
        began = time.monotonic()
        process = controller.start()
        wait(f"{count} Networks are Ready", 600, lambda: len(ready.names) == count, pause=0.02)
        wall = ready.last - began
        # What comes after the last status belongs to it too: the echoes of the writes, the end of the work.
        time.sleep(3)
        figures = {"wall_s": wall, "cpu_ms_per_object": cpu_ms(process.pid) / count, "idle_mib": idle / 1024,
                   "full_mib": rss_kib(process.pid) / 1024, "peak_mib": peak_kib(process.pid) / 1024,
                   "writes_per_object": ready.events / count,
                   "server_cpu_ms_per_object": (sum(map(cpu_ms, world.server_pids)) - server) / count}
        end(process)
        return figures


def controllers(opts):
    rows = []
    for variant, count in [("status", opts.count), ("neutron", opts.networks)]:
        for workers in [2, 8]:
            runs = {Oarlock: [], Reusing: [], Native: []}
            for _ in range(opts.rounds):
                for kind, figures in runs.items():
                    figures.append(cold(opts, kind, variant, workers, count))
            for kind, figures in runs.items():
                median = {key: statistics.median(run[key] for run in figures) for key in figures[0]}
                rows.append({"variant": variant, "objects": count, "workers": workers, "controller": kind.name, **median})
                print(json.dumps(rows[-1]), flush=True)
    return rows


def micro(opts, *args, world=None):
    env = dict(os.environ, **({"KUBECONFIG": str(world.kubeconfig)} if world else {}))
    out = subprocess.run([opts.bin / "micro", *map(str, args)], check=True, env=env, stdout=subprocess.PIPE, text=True).stdout
    print(out.strip(), flush=True)
    return json.loads(out)


def lists(opts):
    """A list and a relist of many ConfigMaps, kept by our informer and by kube-rs' reflector, each in a process of its own."""
    with World(opts) as world:
        world.fill("configmaps", opts.listed, "--bytes", 1000)
        listed = request("GET", f"{world.api}/api/v1/namespaces/default/configmaps?limit=100")["items"]
        json_bytes = statistics.mean(len(json.dumps(item, separators=(",", ":"))) for item in listed)
        rows = []
        for name, command in [("oarlock", "list"), ("kube-rs", "reflector")]:
            row = {"store": name, "json_bytes": json_bytes, **micro(opts, command, world=world)}
            rows.append({**row, "rss_per_object": (row["rss"] - row["rss_before"]) / row["objects"]})
        return rows


def sizes(opts):
    """Reconciles that find nothing to do, of objects of several sizes: all of it, a fresh instance, each call."""
    rows, count = [], 200
    for kib in [1, 20, 200]:
        with World(opts) as world:
            plugins = world.plugin_folder("misfit")
            shutil.copy(opts.plugins / "misfit.wasm", plugins)
            world.grant(plugins, "misfit", {
                "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch"]}],
                "config": {"mode": "ok"}, "partial": True})
            world.fill("configmaps", count, "--bytes", kib << 10, "--label", "misfit=true")
            host = Host(world, plugins, "--resync-seconds", 3600, "--cache-dir", opts.cache)
            maps = f"{world.api}/api/v1/namespaces/default/configmaps"
            wait("the children", 120, lambda: len(request("GET", f"{maps}?labelSelector=misfit-child%3Dtrue")["items"]) == count)
            time.sleep(3)
            before = len(host.durations("event"))
            # A resync would skip what has not changed: a change that the plugin does not look at.
            for turn in range(3):
                for number in range(count):
                    request("PATCH", f"{maps}/config-{number:06}", {"metadata": {"annotations": {"turn": str(turn)}}}, "application/merge-patch+json")
            wait("three reconciles of each", 120, lambda: len(host.durations("event")) >= before + 3 * count)
            whole = host.durations("event")[before:]
            row = {"kib": kib, "reconcile_p50_ms": p(whole, 50), "reconcile_p99_ms": p(whole, 99)}
            for call in ["instantiate", "get-desired", "get-actual"]:
                name, labels = "oarlock_plugin_call_duration_seconds", {"plugin": "misfit", "call": call}
                row[f"{call}_us"] = host.metric(f"{name}_sum", **labels) / max(1, host.metric(f"{name}_count", **labels)) * 1e6
            host.stop()
            print(json.dumps(row), flush=True)
            rows.append(row)
    return rows


def server(opts):
    """The API server, in words."""
    if not opts.real:
        return "an embedded API server"
    subprocess.run([CONTROL_PLANE, "check"], stdout=subprocess.DEVNULL, check=True)
    version = lambda program: subprocess.run([pathlib.Path(os.environ["KUBEBUILDER_ASSETS"]) / program, "--version"], check=True,
                                             stdout=subprocess.PIPE, text=True).stdout.split("\n")[0].split()[-1]
    return f"kube-apiserver {version('kube-apiserver')} with etcd {version('etcd')}"


def markdown(results):
    """The results as tables."""
    by = lambda row: f"{row['variant']}, {row['objects']:,} objects, {row['workers']} workers"
    text = ["# The host beside a native controller\n",
            f"Made by `make bench ONLY=compare` with {results['server']} on {results['machine']}; medians of {results['rounds']} rounds. "
            "docs/performance.md says what is measured and where the time goes.\n",
            table(["", "controller", "wall s", "CPU ms / object", "API server CPU ms / object", "RSS idle MiB", "RSS full MiB", "peak MiB",
                   "writes / object"],
                  [[by(r), r["controller"], f"{r['wall_s']:.2f}", f"{r['cpu_ms_per_object']:.3f}", f"{r['server_cpu_ms_per_object']:.3f}",
                    f"{r['idle_mib']:.1f}", f"{r['full_mib']:.1f}", f"{r['peak_mib']:.1f}", f"{r['writes_per_object']:.2f}"]
                   for r in results["controllers"]])]
    if "queue" in results:
        text += [f"Workqueue: add, get and done of {results['queue']['keys']:,} keys in {results['queue']['add_get_done_us']:.0f} µs, "
                 f"{results['queue']['operations_per_second'] / 1e6:.1f} million operations a second.\n",
                 table([f"list of {results['lists'][0]['objects']:,} ConfigMaps", "list s", "CPU s", "relist s", "RSS / object / its JSON",
                        "peak of relist / steady"],
                       [[r["store"], f"{r['list_seconds']:.2f}", f"{r['cpu_seconds']:.2f}", f"{r['relist_seconds']:.2f}",
                         f"{r['rss_per_object'] / r['json_bytes']:.2f}", f"{r['relist_peak'] / r['rss']:.2f}"]
                        for r in results["lists"]]),
                 table(["object", "reconcile p50 ms", "p99 ms", "instantiate µs", "get-desired µs", "get-actual µs"],
                       [[f"{r['kib']} KB", f"{r['reconcile_p50_ms']:.2f}", f"{r['reconcile_p99_ms']:.2f}", f"{r['instantiate_us']:.0f}",
                         f"{r['get-desired_us']:.0f}", f"{r['get-actual_us']:.0f}"] for r in results["sizes"]])]
    return "\n".join(text)


def main():
    opts = arguments(__doc__, count=10_000, networks=300, listed=100_000, rounds=3)
    results_folder = ROOT / "bench/results"
    results_folder.mkdir(parents=True, exist_ok=True)
    opts.cache = opts.bin.parent / "bench-cache"
    opts.real = bool(os.environ.get("KUBEBUILDER_ASSETS"))
    results = {"machine": machine(), "server": server(opts), "rounds": opts.rounds, "controllers": controllers(opts)}
    if not opts.real:
        results |= {"queue": micro(opts, "queue"), "lists": lists(opts), "sizes": sizes(opts)}
    name = "compare-kubernetes" if opts.real else "compare"
    (results_folder / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")
    (results_folder / f"{name}.md").write_text(markdown(results))
    (results_folder / f"{name}.svg").write_text(chart(results["controllers"]))
    print(markdown(results))


if __name__ == "__main__":
    main()
