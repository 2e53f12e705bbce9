#!/usr/bin/env python3
"""How the host's cost grows: with objects, with plugins, with changes per second, with containers of a Pod; and what grows faster than its input.

Four series. Three have real processes on loopback. Their plugin is tests/guests/status-only: a change of a Network's gateway has to appear in
its status, which is the delay from change to status. The fourth is a part alone.

  plugins     1 to 1,000 idle ones (tests/guests/idler under other names) beside the one that works, from a filled code cache
  changes     1 to 100 a second, of 1,000 Networks
  containers  strategic merge patches of Pods of 1 to 500 containers, of about 1 KB each
  objects     1,000 to 500,000 Networks: the host's first look at all of them, then changes of a thousand of them

Below the figures of a series stand ratios: the growth of the figure divided by the growth of the input, from the step before and over the
whole series. 1 is proportional, more is faster; what is above 1.1 is marked. A part that does not grow hides much in such a ratio, so totals
also have their cost for each further unit of the input, marked where it is more than 1.2 times that of the step before and the step made
a difference of more than a twentieth.

The whole run is bounded: a step that would not end within MINUTES, or need more than three quarters of the free memory, is left out, and the
output says so. --quick takes small steps, to see whether the script works.
"""
import json, pathlib, re, shutil, subprocess, time

from bench import Host, World, arguments, cpu_seconds, machine, p, peak_kib, rss_kib, table, wait, within
from compare import NETWORKS, Ready
from fleet import fleet, started
from noisy import Editor

FULL = {"plugins": [1, 10, 100, 1000], "changes": [1, 10, 100], "containers": [1, 10, 100, 500], "objects": [1_000, 10_000, 100_000, 500_000]}
QUICK = {"plugins": [1, 5, 25], "changes": [1, 10, 50], "containers": [1, 10, 50], "objects": [200, 1_000, 5_000]}
# So many that none is changed as often as a fight would be slowed down.
CHANGED = 1_000
# The figures that are a total: for those the cost of each further unit is told.
TOTALS = {"start s": ("ms", 1000), "start CPU s": ("ms", 1000), "CPU ms / s": ("ms / s", 1), "RSS MiB": ("KiB", 1024), "peak MiB": ("KiB", 1024),
          "server MiB": ("KiB", 1024), "two-way ms": ("ms", 1), "three-way ms": ("ms", 1), "apply ms": ("ms", 1)}


class Seen(Ready):
    """Follows all Networks, and knows when the status of each showed a change."""

    def __init__(self, world):
        self.sent, self.delays, self.turn = {}, [], 0
        super().__init__(world)

    def sends(self, path, gateway):
        self.sent[path.rsplit("/", 1)[1], gateway] = time.monotonic()

    def look(self, line):
        if not self.sent:
            return super().look(line)
        now, network = time.monotonic(), json.loads(line)["object"]
        began = self.sent.pop((network["metadata"]["name"], network.get("status", {}).get("gateway")), None)
        if began is not None:
            self.delays.append((now - began) * 1000)


def grant(world, opts, folder):
    shutil.copy(opts.plugins / "status-only.wasm", folder)
    world.grant(folder, "status-only", {
        "permissions": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks"], "verbs": ["get", "list", "watch"]}],
        "cleanup": True, "manageStatus": True, "workers": 2, "resyncSeconds": 3600})


def changes(opts, world, host, seen, count, rate):
    """What so many changes a second cost, spread over the Networks."""
    numbers = range(0, count, max(1, count // CHANGED))
    first, seen.turn = seen.turn, seen.turn + 2 + opts.seconds * rate // len(numbers)

    def gateway(number):
        """An address of the Network whose turn it is, another one in each turn."""
        network = numbers[number % len(numbers)]
        return f"10.{network // 256 % 256}.{network % 256}.{2 + (first + number // len(numbers)) % 250}"

    address = re.match(r"http://([^:]+):(\d+)", world.api).groups()
    seen.delays, cpu = [], cpu_seconds(host.process.pid)
    editor = Editor(address, rate, seen.sends, gateway, lambda gateway: {"spec": {"gateway": gateway}})
    editor.objects = [f"{NETWORKS}/network-{number:05}" for number in numbers]
    time.sleep(opts.seconds)
    editor.on = False
    editor.thread.join(30)
    if not within(30, lambda: not seen.sent, pause=0.05):
        print(f"{len(seen.sent)} changes are in no status", flush=True)
        seen.sent.clear()
    used, delays = cpu_seconds(host.process.pid) - cpu, seen.delays
    return {"CPU ms / s": used * 1000 / opts.seconds, "CPU ms / change": used * 1000 / max(1, len(delays)), "p50 ms": p(delays, 50), "p99 ms": p(delays, 99)}


def idle(host, seconds):
    """Milliseconds of processor time in a second without work."""
    before = cpu_seconds(host.process.pid)
    time.sleep(seconds)
    return (cpu_seconds(host.process.pid) - before) * 1000 / seconds


def memory(host):
    return {"RSS MiB": host.rss_mib(), "peak MiB": peak_kib(host.process.pid) / 1024}


def told(series, row):
    print(f"{series}: " + ", ".join(f"{name} {value:,.6g}" for name, value in row.items()), flush=True)
    return row


def of_plugins(opts, world):
    world.define("plugins/network/crd.yaml")
    world.fill("networks", CHANGED)
    seen, cache = Seen(world), world.folder / "cache"
    folders = {}
    for count in opts.steps["plugins"]:
        folders[count] = fleet(world, opts, "idler", count)
        grant(world, opts, folders[count])
    most = max(folders)
    host, seconds = started(world, folders[most], most + 1, cache)
    print(f"plugins: {most} are active after {seconds:.1f} s with an empty code cache", flush=True)
    wait("every Network to be Ready", 300, lambda: len(seen.names) == CHANGED)
    host.stop()
    for count, folder in folders.items():
        host, seconds = started(world, folder, count + 1, cache)
        figures = {"start s": seconds, "start CPU s": cpu_seconds(host.process.pid)}
        time.sleep(3)
        figures |= {"idle CPU ms / s": idle(host, opts.seconds), **changes(opts, world, host, seen, CHANGED, 10), **memory(host)}
        host.stop()
        yield told("plugins", {"plugins": count, **figures})


def of_changes(opts, world):
    world.define("plugins/network/crd.yaml")
    world.fill("networks", CHANGED)
    seen, folder = Seen(world), world.plugin_folder("status-only")
    grant(world, opts, folder)
    host = Host(world, folder, "--cache-dir", world.folder / "cache", level="warn")
    wait("every Network to be Ready", 300, lambda: len(seen.names) == CHANGED)
    time.sleep(3)
    print(f"changes: without one {idle(host, opts.seconds):.1f} ms of CPU in a second", flush=True)
    for rate in opts.steps["changes"]:
        yield told("changes", {"changes / s": rate, **changes(opts, world, host, seen, CHANGED, rate), **memory(host)})


def of_containers(opts):
    for count in opts.steps["containers"]:
        out = subprocess.run([opts.bin / "micro", "merge", "--containers", str(count)], check=True, capture_output=True, text=True).stdout
        took = {name: 1000 / max(1, per_second) for name, per_second in json.loads(out).items() if name.endswith("per_second")}
        yield told("containers", {"containers": count, "two-way ms": took["create_two_way_per_second"],
                             "three-way ms": took["create_three_way_per_second"], "apply ms": took["apply_per_second"]})


def of_objects(opts, world, count, seconds):
    """One step; none if it does not end in time. `seconds` is None when there is no bound."""
    world.define("plugins/network/crd.yaml")
    # What is compiled is compiled before.
    folder, cache = world.plugin_folder("status-only"), world.folder / "cache"
    grant(world, opts, folder)
    host = Host(world, folder, "--cache-dir", cache)
    wait("the plugin to be active", 60, lambda: host.metric("oarlock_plugin_state", state="active") == 1)
    host.stop()
    began = time.monotonic()
    world.fill("networks", count)
    filled = time.monotonic() - began
    seen = Seen(world)
    host = Host(world, folder, "--cache-dir", cache, level="warn")
    if not within(max(60, seconds - filled), lambda: len(seen.names) == count, pause=0.02):
        print(f"objects: of {count:,} only {len(seen.names):,} were Ready in time", flush=True)
        return None
    figures = {"start s": seen.last - host.began}
    time.sleep(3)
    figures |= {"start CPU s": cpu_seconds(host.process.pid), "idle CPU ms / s": idle(host, opts.seconds),
                **changes(opts, world, host, seen, count, 20), **memory(host), "server MiB": rss_kib(world.server.pid) / 1024}
    told("objects", {"objects": count, "filled s": filled, **figures})
    return {"objects": count, **figures}


def free_mib():
    return int(re.search(r"MemAvailable:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) / 1024


def all_of_objects(opts, end):
    """The steps that fit into what is left of the time."""
    rows, seconds = [], 0
    for count in opts.steps["objects"]:
        left, began = end - time.monotonic(), time.monotonic()
        if rows:
            more = count / rows[-1]["objects"]
            needed, mib = seconds * more, (rows[-1]["peak MiB"] + rows[-1]["server MiB"]) * more
            if needed > left or mib > free_mib() * 0.75:
                print(f"objects: {count:,} are left out: they would take about {needed:.0f} s, of which {max(0, left):.0f} are left, and {mib:,.0f} MiB, "
                      f"of which {free_mib():,.0f} are free", flush=True)
                break
        with World(opts) as world:
            row = of_objects(opts, world, count, left)
        if row is None:
            break
        rows.append(row)
        # What does not depend on the number is no part of the estimate.
        seconds = max(1, time.monotonic() - began - 2 * opts.seconds - 8)
    return rows


def shown(value):
    return "–" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def ratio(of, figure, first, last):
    """The growth of a figure divided by that of its input."""
    return last[figure] / first[figure] / (last[of] / first[of]) if first[figure] > 0 else None


def marked(value, most):
    return f"**{shown(value)}, faster**" if value is not None and value > most else shown(value)


def report(rows):
    """The figures of a series, and how they grow."""
    of, *figures = rows[0]
    each = lambda figure, first, last: (last[figure] - first[figure]) / (last[of] - first[of]) * TOTALS[figure][1]
    lines = [[f"{row[of]:,}", *(shown(row[figure]) for figure in figures)] for row in rows]
    pairs = list(zip(rows, rows[1:]))
    spans = pairs + ([(rows[0], rows[-1])] if len(pairs) > 1 else [])
    for first, last in spans:
        lines.append([f"growth / growth of the input, {first[of]:,} → {last[of]:,}", *(marked(ratio(of, figure, first, last), 1.1) for figure in figures)])
    for number, (first, last) in enumerate(pairs):
        cells = []
        for figure in figures:
            if figure not in TOTALS:
                cells.append("")
                continue
            cost, unit = each(figure, first, last), TOTALS[figure][0]
            before = each(figure, *pairs[number - 1]) if number else None
            faster = before is not None and before > 0 and cost > 1.2 * before and last[figure] > 1.05 * first[figure]
            cells.append(f"**{shown(cost)} {unit}, faster**" if faster else f"{shown(cost)} {unit}")
        lines.append([f"each further one, {first[of]:,} → {last[of]:,}", *cells])
    return table([of, *figures], lines)


def main():
    opts = arguments(__doc__, minutes=15, seconds=15, quick=False)
    opts.steps = QUICK if opts.quick else FULL
    if opts.quick:
        opts.seconds = min(opts.seconds, 6)
    end = time.monotonic() + opts.minutes * 60
    reports = []
    for name, series in {"plugins": of_plugins, "changes": of_changes}.items():
        with World(opts) as world:
            reports.append(report(list(series(opts, world))))
    reports.append(report(list(of_containers(opts))))
    reports.append(report(all_of_objects(opts, end)))
    print(f"\nOn {machine()}; {opts.seconds} s of changes in each step: 10 a second beside the plugins, 20 a second of the objects\n")
    print("\n".join(reports))


if __name__ == "__main__":
    main()
