#!/usr/bin/env python3
"""Memory of the host and time of a reconcile, with real processes on loopback.

Starts the embedded API server, the Neutron emulator and the host, makes COUNT Networks, waits until all are Ready, and reads
the durations of reconciles from the host's own log (JSON, debug). With HTTP: resyncs of the network plugin that find nothing
to do (two requests to the emulator). Without HTTP: the misfit guest in mode `ok`, which keeps a second ConfigMap for each one and
compares what it applied.
"""
import argparse, json, os, pathlib, re, shutil, signal, statistics, subprocess, sys, tempfile, time, urllib.request
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parents[2]


def request(method, url, body=None, content_type="application/json"):
    data = None if body is None else json.dumps(body).encode()
    req = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": content_type})
    with urllib.request.urlopen(req, timeout=30) as answer:
        return json.loads(answer.read() or b"{}")


def wait(what, seconds, check):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if check():
                return
        except OSError:
            pass
        time.sleep(0.5)
    sys.exit(f"not within {seconds} s: {what}")


def rss_kib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def p(values, q):
    return statistics.quantiles(values, n=100)[q - 1] if len(values) > 1 else float("nan")


class Host:
    def __init__(self, opts, folder, plugins, kubeconfig, resync):
        self.log = open(folder / f"host-{time.monotonic_ns()}.log", "w+")
        env = dict(os.environ, OARLOCK_LOG="info,oarlock::controller=debug")
        self.process = subprocess.Popen(
            [opts.bin / "oarlock", "run", "--plugins", plugins, "--kubeconfig", kubeconfig, "--admin-addr", "127.0.0.1:0",
             "--log-format", "json", "--resync-seconds", str(resync)], stderr=self.log, env=env)

    def lines(self):
        self.log.flush()
        for line in pathlib.Path(self.log.name).read_text().splitlines():
            if '"reconciled"' not in line and '"plugin loaded"' not in line:
                continue
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            yield {**entry, **entry.get("fields", {})}

    def durations(self, trigger):
        return [float(l["duration_ms"]) for l in self.lines() if l.get("trigger") == trigger and l.get("message") == "reconciled"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(30)


def plugin_folder(folder, opts, name, grant):
    path = folder / f"plugins-{name}"
    path.mkdir()
    shutil.copy(opts.plugins / f"{name}.wasm", path)
    (path / f"{name}.yaml").write_text(json.dumps({"apiVersion": "oarlock.dev/v1alpha1", "kind": "PluginGrant", **grant}))
    return path


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    ap.add_argument("--bin", type=pathlib.Path, required=True)
    ap.add_argument("--plugins", type=pathlib.Path, required=True)
    ap.add_argument("--count", type=int, default=1000)
    opts = ap.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="oarlock-bench-"))
    kubeconfig = folder / "kubeconfig"
    started = []
    try:
        api_process = subprocess.Popen([opts.bin / "oarlock", "apiserver", "--port", "0", "--kubeconfig-out", kubeconfig],
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        started.append(api_process)
        api = api_process.stdout.readline().strip()
        log = open(folder / "neutron.log", "w+")
        neutron_process = subprocess.Popen([opts.bin / "neutron-emulator", "--port", "0"], stderr=log, stdout=log)
        started.append(neutron_process)
        found = []
        wait("the emulator's address", 10, lambda: found or found.extend(
            re.findall(r"http://127\.0\.0\.1:\d+", pathlib.Path(log.name).read_text())))
        neutron = found[0]
        # Neutron's default quota is 100 networks.
        request("PUT", f"{neutron}/v2.0/quotas/fake_project_id", {"quota": {"network": -1, "subnet": -1}})
        read = lambda groups, resources: [{"apiGroups": groups, "resources": resources, "verbs": ["get", "list", "watch"]}]

        plugins = plugin_folder(folder, opts, "network", {
            "permissions": read(["samplecrd.k8s.io"], ["networks"]),
            "http": {"origins": [neutron]}, "config": {"neutronUrl": neutron}})
        subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "apply", "-f", ROOT / "plugins/network/crd.yaml"],
                             stdout=subprocess.DEVNULL, check=True)
        host = Host(opts, folder, plugins, kubeconfig, resync=20)
        started.append(host.process)
        wait("the plugin is loaded", 60, lambda: any(l.get("message") == "plugin loaded" for l in host.lines()))
        time.sleep(2)
        idle = rss_kib(host.process.pid)
        url = f"{api}/apis/samplecrd.k8s.io/v1/namespaces/default/networks"

        def create(i):
            request("POST", url, {"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": f"n{i}"},
                                  "spec": {"cidr": f"10.{i // 256}.{i % 256}.0/24", "gateway": f"10.{i // 256}.{i % 256}.1"}})

        def ready():
            items = request("GET", url)["items"]
            return sum(1 for n in items for c in n.get("status", {}).get("conditions", []) if c["status"] == "True") == opts.count

        began = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(create, range(opts.count)))
        wait("all Networks are Ready", 300, ready)
        took = time.monotonic() - began
        full = rss_kib(host.process.pid)
        first = host.durations("Event")
        wait("a whole resync", 120, lambda: len(host.durations("Resync")) >= opts.count)
        resync = host.durations("Resync")
        host.stop()

        plugins = plugin_folder(folder, opts, "misfit", {
            "permissions": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch"]}],
            "config": {"mode": "ok"}})
        host = Host(opts, folder, plugins, kubeconfig, resync=5)
        started.append(host.process)
        for i in range(min(opts.count, 500)):
            request("POST", f"{api}/api/v1/namespaces/default/configmaps", {
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{i}", "labels": {"misfit": "true"}}, "data": {"a": "b" * 1500}})
        wait("a resync without HTTP", 60, lambda: len(host.durations("Resync")) >= min(opts.count, 500))
        without = host.durations("Resync")
        host.stop()

        print(f"host RSS, one plugin, no object          {idle / 1024:8.1f} MiB")
        print(f"host RSS, one plugin, {opts.count:5} Networks     {full / 1024:8.1f} MiB")
        print(f"{opts.count} Networks made and Ready              {took:8.1f} s")
        print(f"reconcile that makes a network           {p(first, 50):8.2f} ms p50 {p(first, 99):8.2f} ms p99   (n={len(first)})")
        print(f"reconcile in sync, with HTTP             {p(resync, 50):8.2f} ms p50 {p(resync, 99):8.2f} ms p99   (n={len(resync)})")
        print(f"reconcile in sync, without HTTP          {p(without, 50):8.2f} ms p50 {p(without, 99):8.2f} ms p99   (n={len(without)})")
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


main()
