#!/usr/bin/env python3
"""How soon the host acts: from a new plugin file to the first reconcile on it, and from the edit of an object to the write that depends on it.

Swaps: a synced host with COUNT Networks runs the status-only guest, one with NAMESPACES Namespaces each of LANGUAGES of namespace-baseline.
When the host has nothing to do, the same component with another digest is written beside the plugin file and renamed over it. The time is
from the rename to the end of the first reconcile after the switch to that digest, by the host's log. Earlier lines of it divide the time. The
code comes from the compiler (SWAPS new digests; FEW for the languages), first without the functions that it compiled before, then with them,
then from the code cache (two digests in turns).

Edits: the misfit guest keeps a child of each of COUNT ConfigMaps, which shows the size of the Gadget that the ConfigMap names; the guest
reads it, and no mapping says so. Every SPACING ms one Gadget gets another size. The times are from the PATCH, sent and answered, to
the event of a watch that shows the size in the child.

With KUBEBUILDER_ASSETS the API servers are kube-apiservers with etcd from that folder.
"""
import datetime, hashlib, http.client, json, os, shutil, statistics, sys, threading, time, urllib.parse

from bench import ROOT, Host, World, arguments, cpu_seconds, machine, p, table, wait
from noisy import MARKER, ROOM

NETWORKS = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks"
GADGETS, MAPS = "/apis/oarlock.test/v1/namespaces/default/gadgets", "/api/v1/namespaces/default/configmaps"
SWITCHED, RECONCILED = "version swapped", "reconciled"
# The log lines on the way, by the stage that ends with each. The host writes SWITCHED after it has enqueued all objects: too late.
STAGES = {"settle": "plugin file", "load": "plugin loaded", "switch and reconcile": RECONCILED}
SOURCES = {True: "code cache", False: "compiler", None: "memory"}
KNOWN = "compiler, known functions"


class Client:
    """Requests on one connection."""

    def __init__(self, world):
        host, self.headers = urllib.parse.urlparse(world.api).netloc, world.headers
        self.connection = http.client.HTTPSConnection(host, context=world.context) if world.real else http.client.HTTPConnection(host)

    def send(self, method, path, document):
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        self.connection.request(method, path, json.dumps(document), {**self.headers, "Content-Type": content_type})
        answer = self.connection.getresponse()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {answer.read().decode()}")
        answer.read()


def with_another_digest(component, mark):
    """The component with a custom section of its own."""
    content = b"\x04mark" + mark.encode()
    return component + bytes([0, len(content)]) + content


def high(values):
    """The 99th percentile; of less than a hundred values the greatest."""
    return p(values, 99) if len(values) >= 100 else max(values)


class Swapped:
    """A host with one plugin file, which is replaced."""

    def __init__(self, world, folder, name, component):
        self.file, self.component = folder / f"{name}.wasm", component
        self.code = world.folder / "cache/code"
        self.file.write_bytes(with_another_digest(component, "0"))
        self.host = Host(world, folder, "--cache-dir", world.folder / "cache")
        wait("the first reconcile", 600, lambda: any(self.host.lines(RECONCILED)))

    def rests(self):
        """Whether the host has nothing to do."""
        before = cpu_seconds(self.host.process.pid)
        time.sleep(0.4)
        return cpu_seconds(self.host.process.pid) - before < 0.03 and self.host.metric("workqueue_depth") == 0

    def swap(self, mark):
        """Replaces the file; the milliseconds that it took, whole and in stages, and where the code came from."""
        component = with_another_digest(self.component, mark)
        digest = hashlib.sha256(component).hexdigest()
        beside = self.file.with_name(f".{self.file.name}.new")
        beside.write_bytes(component)
        wait("the host to have nothing to do", 300, self.rests, pause=0)
        before, began = os.path.getsize(self.host.log.name), time.time()
        beside.rename(self.file)
        lines = {}

        def reconciled():
            with open(self.host.log.name) as log:
                for message in [SWITCHED, *STAGES.values()]:
                    log.seek(before)
                    found = (text for text in log if f'"{message}"' in text and text.endswith("\n"))
                    lines[message] = next((line for line in map(json.loads, found) if line.get("trigger", "swap") == "swap"), None)
            return lines[RECONCILED] and lines[SWITCHED] and lines[SWITCHED]["digest"] == digest

        wait(f"the first reconcile on {digest}", 600, reconciled, pause=0.05)
        at = {message: datetime.datetime.fromisoformat(line["timestamp"].replace("Z", "+00:00")).timestamp() for message, line in lines.items() if line}
        times, last = {"whole": (at[RECONCILED] - began) * 1000}, began
        for stage, message in STAGES.items():
            if message in at:
                times[stage], last = (at[message] - last) * 1000, at[message]
        return SOURCES[(lines[STAGES["load"]] or {}).get("from_cache")], times

    def swaps(self, cold, cached):
        """Swaps to new digests, then to the last two in turns: their times by the source of the code."""
        times = {}
        for number in [*range(1, 2 * cold + 1), *(2 * cold - 1 + turn % 2 for turn in range(cached))]:
            if number <= cold:
                for file in self.code.glob("functions*"):
                    file.unlink()
            source, took = self.swap(str(number))
            times.setdefault(KNOWN if source == SOURCES[False] and number > cold else source, []).append(took)
        self.host.stop()
        return times


def status_only(opts):
    with World(opts, opts.real) as world:
        world.define("plugins/network/crd.yaml")
        wait("Networks to be served", 30, lambda: world.get(NETWORKS).status == 200, pause=0.1)
        world.fill("networks", opts.count)
        folder = world.plugin_folder("status-only")
        world.grant(folder, "status-only", {
            "permissions": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks"], "verbs": ["get", "list", "watch"]}],
            "manageStatus": True, "workers": 2, "resyncSeconds": 3600, "partial": True})
        return Swapped(world, folder, "status-only", (opts.plugins / "status-only.wasm").read_bytes()).swaps(opts.swaps, opts.swaps)


def baseline(opts, language):
    with World(opts, opts.real) as world:
        client = Client(world)
        for number in range(opts.namespaces):
            client.send("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"n-{number}"}})
        folder = world.plugin_folder(language)
        shutil.copy(ROOT / f"plugins/namespace-baseline/{language}/grant.yaml", folder / "namespace-baseline.yaml")
        component = (opts.plugins / f"namespace-baseline-{language}.wasm").read_bytes()
        return Swapped(world, folder, "namespace-baseline", component).swaps(opts.few, opts.few)


class Children(threading.Thread):
    """When each child showed which size, by a watch."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.seen, self.stream = {}, world.get(f"{MAPS}?watch=1&labelSelector=misfit-child%3Dtrue")
        self.start()

    def run(self):
        for line in self.stream:
            now, child = time.monotonic(), json.loads(line)["object"]
            self.seen.setdefault((child["metadata"]["name"].removesuffix("-child"), child["data"]["seen"]), now)


def dependents(opts, world):
    """The milliseconds of each edit until its child shows it, and of its reconcile."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    (world.folder / "crd.json").write_text(json.dumps({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "gadgets.oarlock.test"},
        "spec": {"group": "oarlock.test", "scope": "Namespaced", "names": {"plural": "gadgets", "kind": "Gadget"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}]}}))
    world.define(world.folder / "crd.json")
    wait("Gadgets to be served", 30, lambda: world.get(GADGETS).status == 200, pause=0.1)
    client, children = Client(world), Children(world)
    for number in range(opts.count):
        client.send("POST", GADGETS, {"apiVersion": "oarlock.test/v1", "kind": "Gadget", "metadata": {"name": f"g-{number}"}, "spec": {"size": 0}})
        client.send("POST", MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": f"g-{number}"},
                                   "metadata": {"name": f"reader-{number}", "labels": {"misfit": "true"}}})
    manifest = json.loads((ROOT / "tests/guests/misfit/src/manifest.json").read_text())
    manifest["watches"].append({"group": "oarlock.test", "version": "v1", "kind": "Gadget"})
    folder, wasm = world.plugin_folder("misfit"), (opts.plugins / "misfit.wasm").read_bytes()
    start = wasm.index(MARKER) + len(MARKER)
    (folder / "misfit.wasm").write_bytes(wasm[:start] + json.dumps(manifest).encode().ljust(ROOM) + wasm[start + ROOM:])
    gadgets = {"apiGroups": ["oarlock.test"], "resources": ["gadgets"], "verbs": ["get", "list", "watch"]}
    world.grant(folder, "misfit", {"permissions": [*manifest["permissions"], gadgets], "config": {"mode": "gadget"}, "partial": True})
    host = Host(world, folder, "--resync-seconds", 3600, "--cache-dir", world.folder / "cache")
    wait("the children", 300, lambda: len(children.seen) >= opts.count)
    time.sleep(3)
    times = {"from the PATCH's sending": [], "from its response": []}
    for number in range(opts.edits):
        time.sleep(opts.spacing / 1000)
        which, size, sent = number * 7919 % opts.count, number + 1, time.monotonic()
        client.send("PATCH", f"{GADGETS}/g-{which}", {"spec": {"size": size}})
        answered, wanted = time.monotonic(), (f"reader-{which}", str(size))
        wait(f"{wanted} in a child", 30, lambda: wanted in children.seen, pause=0.001)
        for what, began in zip(times, (sent, answered)):
            times[what].append((children.seen[wanted] - began) * 1000)
    reconciles = [float(line["duration_ms"]) for line in host.lines("reconciled") if str(line.get("cause")).startswith("Gadget")]
    host.stop()
    return {**times, "the reconcile alone": reconciles}


def main():
    opts = arguments(__doc__, count=5000, swaps=20, namespaces=500, few=3, languages="rust js go python", edits=200, spacing=30)
    opts.real = bool(os.environ.get("KUBEBUILDER_ASSETS"))
    print(f"On {machine()}; {'a kube-apiserver' if opts.real else 'an embedded API server'}\n", flush=True)
    rows = []
    for language in ["", *opts.languages.split()]:
        for source, times in (baseline(opts, language) if language else status_only(opts)).items():
            whole = [took["whole"] for took in times]
            stages = [statistics.median([took[stage] for took in times if stage in took] or [float("nan")]) for stage in STAGES]
            rows.append([f"namespace-baseline-{language}" if language else "status-only", source, len(times), *(f"{value:.1f}" for value in (statistics.median(whole), high(whole), *stages))])
            print(rows[-1], flush=True)
    with World(opts, opts.real) as world:
        edits = dependents(opts, world)
    print("\n" + table(["plugin", "code from", "swaps", "p50 ms", "p99 ms", *(f"{stage} p50" for stage in STAGES)], rows))
    print(table([f"{opts.edits} edits", "p50 ms", "p99 ms"], [[what, f"{p(times, 50):.2f}", f"{high(times):.2f}"] for what, times in edits.items()]))


if __name__ == "__main__":
    main()
