#!/usr/bin/env python3
"""What traces cost: processor time of the host for each object that it brings into sync, without traces and with a collector, in turns.

Each round measures every variant once, and the next round begins with another one. The collector answers at once and keeps nothing; it is a
process of its own, whose time does not count. `down` is an address where nobody listens.

--json prints one JSON document instead of the table.
"""
import http.server, json, os, socket, statistics, subprocess, sys, types

import compare
from bench import arguments, machine, table

VARIABLE = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def collect():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        print(server.server_port, flush=True)
        server.serve_forever()


def closed_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def variants(collector):
    url = lambda port: {VARIABLE: f"http://127.0.0.1:{port}"}
    sampled = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.01"}
    return {"no traces": {}, "every trace": url(collector), "one trace of a hundred": {**url(collector), **sampled},
            "every trace, collector down": url(closed_port())}


def measure(opts, variables):
    names = [VARIABLE, "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"]
    for name in names:
        os.environ.pop(name, None)
    os.environ.update(variables)
    options = types.SimpleNamespace(bin=opts.bin, plugins=opts.plugins, cache=opts.bin.resolve().parent / "tracing-cache", real=False)
    return compare.cold(options, compare.Oarlock, "status", 2, opts.count)


def main():
    if sys.argv[1:] == ["collector"]:
        return collect()
    opts = arguments(__doc__, rounds=5, count=2000, json=False)
    server = subprocess.Popen([sys.executable, __file__, "collector"], stdout=subprocess.PIPE, text=True)
    try:
        all_variants = variants(int(server.stdout.readline()))
        results = {name: [] for name in all_variants}
        for number in range(opts.rounds):
            names = list(all_variants)
            for name in names[number % len(names):] + names[:number % len(names)]:
                results[name].append(measure(opts, all_variants[name]))
            print(f"tracing: round {number + 1} of {opts.rounds}", file=sys.stderr, flush=True)
    finally:
        server.kill()
    if opts.json:
        return print(json.dumps({"machine": machine(), "count": opts.count, "results": results}, indent=1))
    base = [run["cpu_ms_per_object"] for run in results["no traces"]]
    rows = []
    for name, runs in results.items():
        cpu = [run["cpu_ms_per_object"] for run in runs]
        more = statistics.median(1000 * (one - before) for one, before in zip(cpu, base))
        rows.append([name, ", ".join(f"{1000 * one:.0f}" for one in cpu), f"{more:+.0f}",
                     f"{statistics.median(run['wall_s'] for run in runs):.1f}", f"{statistics.median(run['full_mib'] for run in runs):.0f}"])
    print(f"{opts.count:,} objects, {opts.rounds} rounds on {machine()}\n")
    print(table(["", "CPU of an object, µs", "more than without traces, median", "all in sync after, s", "RSS, MiB"], rows))


if __name__ == "__main__":
    main()
