#!/usr/bin/env python3
"""How far four noisy plugins move a well-behaved one, with real processes on loopback.

One host runs five plugins, all of them the misfit guest under other names, each in a namespace of its own: `good` keeps a child
for every ConfigMap; its neighbours loop, allocate, trap, and flood (log lines and HTTP requests). Their objects exist, and are
edited, in every second phase only. In all phases the good plugin's objects are edited at a constant rate, and three things are
measured for it: how long a reconcile takes (the host's own log), how long from an edit until the child shows it (a watch), and
the rate. Phases alternate, and which comes first changes from round to round.
"""
import http.client, json, re, statistics, threading, time, urllib.request

from bench import ROOT, Host, World, arguments, cpu_seconds, p, request, wait

MARKER, ROOM = b"oarlock-misfit-manifest:", 8192
NOISE = {"loops": "loop", "allocates": "grow", "traps": "trap", "floods": "flood"}
# So many that none is edited as often as a fight would be slowed down.
GOOD_OBJECTS, NOISY_OBJECTS = 500, 5


def plugin(world, folder, wasm, name, mode, url):
    """The misfit under this name, watching one namespace only."""
    manifest = json.loads((ROOT / "tests/guests/misfit/src/manifest.json").read_text())
    manifest["name"] = name
    for kind in manifest["primaries"] + manifest["watches"]:
        kind["namespaces"] = [name]
    manifest["permissions"][0]["namespaces"] = [name]
    at = wasm.index(MARKER) + len(MARKER)
    (folder / f"{name}.wasm").write_bytes(wasm[:at] + json.dumps(manifest).encode().ljust(ROOM) + wasm[at + ROOM:])
    world.grant(folder, name, {"permissions": manifest["permissions"], "config": {"mode": mode, "url": url}, "workers": 4,
                               "http": {"origins": [url]}, "limits": {"deadlineSeconds": 10}})


class Editor:
    """Edits objects at a constant rate, on a connection of its own. `before` is told the path and the value of each edit; `document` makes
    its patch from the value."""

    def __init__(self, address, rate, before=None, value=lambda number: f"v{number}", document=lambda value: {"data": {"value": value}}):
        self.address, self.rate, self.before, self.value, self.document = address, rate, before, value, document
        self.objects, self.on = [], True
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        connection = http.client.HTTPConnection(*self.address)
        number, due = 0, time.monotonic()
        while self.on:
            due = max(due + 1 / self.rate, time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))
            objects = self.objects
            if not objects:
                continue
            number += 1
            path, value = objects[number % len(objects)], self.value(number)
            if self.before:
                self.before(path, value)
            connection.request("PATCH", path, json.dumps(self.document(value)),
                               {"Content-Type": "application/merge-patch+json"})
            connection.getresponse().read()


class Seen:
    """When the child of each object showed which value."""

    def __init__(self, url):
        self.url, self.sent, self.delays = url, {}, []
        threading.Thread(target=self.run, daemon=True).start()

    def edited(self, path, value):
        self.sent[(path.rsplit("/", 1)[1], value)] = time.monotonic()

    def run(self):
        with urllib.request.urlopen(f"{self.url}?watch=true&labelSelector=misfit-child%3Dtrue") as stream:
            for line in stream:
                now, child = time.monotonic(), json.loads(line)["object"]
                key = (child["metadata"]["name"].removesuffix("-child"), child.get("data", {}).get("seen"))
                began = self.sent.pop(key, None)
                if began is not None:
                    self.delays.append((now - began) * 1000)


def measured(opts, world):
    """Starts everything; answers what a phase of each kind measured, in order."""
    # Only something that answers, in a process of its own.
    sink = world.neutron()
    address = re.match(r"http://([^:]+):(\d+)", world.api).groups()
    folder = world.plugin_folder("noisy")
    wasm = (opts.plugins / "misfit.wasm").read_bytes()
    for name, mode in {"good": "ok", **NOISE}.items():
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        request("POST", f"{world.api}/api/v1/namespaces", namespace)
        plugin(world, folder, wasm, name, mode, sink)
    host = Host(world, folder, "--resync-seconds", 3600)

    def create(namespace, name):
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        request("POST", world.api + path, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "first"},
                                           "metadata": {"name": name, "labels": {"misfit": "true"}}})
        return f"{path}/{name}"

    good = [create("good", f"good-{i}") for i in range(GOOD_OBJECTS)]
    maps = f"{world.api}/api/v1/namespaces/good/configmaps"
    wait("the good plugin's children", 120, lambda: len(request("GET", maps)["items"]) == 2 * len(good))
    seen = Seen(maps)
    editor = Editor(address, opts.rate, seen.edited)
    noise = {name: Editor(address, opts.noise) for name in NOISE}

    def calm():
        before = cpu_seconds(host.process.pid)
        time.sleep(1)
        return cpu_seconds(host.process.pid) - before < 0.05

    def phase(kind):
        if kind == "noisy":
            for name, one in noise.items():
                one.objects = [create(name, f"{name}-{i}-{time.monotonic_ns()}") for i in range(NOISY_OBJECTS)]
            time.sleep(2)
        editor.objects = good
        time.sleep(1)
        before, cpu, seen.delays = len(host.durations("event", plugin="good")), cpu_seconds(host.process.pid), []
        time.sleep(opts.seconds)
        delays, used = list(seen.delays), cpu_seconds(host.process.pid) - cpu
        took = host.durations("event", plugin="good")[before:]
        editor.objects = []
        for one in noise.values():
            paths, one.objects = one.objects, []
            for path in paths:
                request("DELETE", world.api + path)
        # What runs towards its deadline ends before anything else is measured.
        wait("the neighbours to end", 60, calm, pause=0)
        print(f"  {kind:5}: {len(took)} reconciles p50 {p(took, 50):.2f} p99 {p(took, 99):.2f} ms; {len(delays)} edits seen, "
              f"p50 {p(delays, 50):.2f} p99 {p(delays, 99):.2f} ms; host {used / opts.seconds:.2f} cores", flush=True)
        return kind, took, delays

    orders = [("alone", "noisy"), ("noisy", "alone")]
    return [phase(kind) for number in range(opts.rounds) for kind in orders[number % 2]]


def main():
    opts = arguments(__doc__, seconds=15, rounds=4, rate=40, noise=2)
    with World(opts) as world:
        phases = measured(opts, world)
    print(f"{opts.rounds} rounds of twice {opts.seconds} s; {opts.rate} edits a second, {opts.noise} of each neighbour's objects")
    report(phases)


def report(phases):
    """The median over the rounds of each figure, alone and beside the noise, and how far it moved."""
    for what, index in (("reconcile", 1), ("edit to child", 2)):
        for q in (50, 99):
            median = lambda kind: statistics.median(p(phase[index], q) for phase in phases if phase[0] == kind)
            alone, noisy = median("alone"), median("noisy")
            print(f"{what:14} p{q} {alone:8.2f} ms alone {noisy:8.2f} ms beside four noisy ones {100 * (noisy / alone - 1):+6.1f} %")
    alone, noisy = (sum(len(phase[2]) for phase in phases if phase[0] == kind) for kind in ("alone", "noisy"))
    print(f"{'edits seen':18}{alone:8}    alone {noisy:8}    beside four noisy ones")


if __name__ == "__main__":
    main()
