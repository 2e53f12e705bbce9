#!/usr/bin/env python3
"""Reviews of Pods by the envoy-injector, beside a native webhook that does the same: at 300 per second, as fast as they are answered, on one
connection, and what 10,000 of them leave in memory; and strategic merge alone.

The host with the plugin, `native-webhook` (the same injection and merge written with axum), the embedded API server and the client share the
machine. The two servers take turns, ROUNDS times, while the other has nothing to do; the median counts. The Pod is that of
plugins/envoy-injector/example.yaml, the injected container too. Before the load both must give the Pod the same containers and volumes.
"""
import base64, json, ssl, statistics, subprocess, time, urllib.request

from bench import Host, World, arguments, cpu_seconds, request, rss_kib, table, wait

INITIALIZER = """
containers:
  - name: envoy
    image: envoyproxy/envoy:v1.36.2
    args: [--config-path, /etc/envoy/envoy.yaml]
    ports: [{name: envoy-admin, containerPort: 9901}]
    resources: {requests: {cpu: 50m, memory: 64Mi}}
    volumeMounts: [{name: envoy, mountPath: /etc/envoy, readOnly: true}]
volumes:
  - {name: envoy, configMap: {name: envoy}}
"""
POD = {"apiVersion": "v1", "kind": "Pod",
       "metadata": {"name": "web", "namespace": "default", "annotations": {"initializer.kubernetes.io/envoy": "true"}},
       "spec": {"containers": [{"name": "web", "image": "web:1", "args": ["netexec"]}]}}


class Webhook:
    """A server of reviews: its process and where it listens."""

    def __init__(self, opts, world, pid, url, bundle):
        self.opts, self.world, self.pid, self.url, self.bundle = opts, world, pid, url, bundle

    def load(self, **more):
        """What the client says of so many reviews, with the processor time of the server for each."""
        pod = self.world.folder / "pod.json"
        pod.write_text(json.dumps(POD))
        options = [f"--{key}={value}" for key, value in more.items()]
        command = [self.opts.bin / "reviews", "--url", self.url, "--ca", self.bundle, "--object", pod, *options]
        before = cpu_seconds(self.pid)
        figures = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return {**figures, "cpu_us": (cpu_seconds(self.pid) - before) * 1e6 / figures["requests"]}

    def injected(self):
        """The Pod's lists and labels as one review leaves them."""
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "1", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE", "namespace": "default", "name": "web", "userInfo": {"username": "bench"}, "object": POD}}
        context = ssl.create_default_context(cadata=base64.b64decode(self.bundle).decode())
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        asked = urllib.request.Request(self.url, json.dumps(review).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, timeout=30, context=context) as answer:
            response = json.load(answer)["response"]
        pod = json.loads(json.dumps(POD))
        for operation in json.loads(base64.b64decode(response.get("patch", ""))):
            add(pod, operation)
        return {"labels": pod["metadata"].get("labels"), **{name: pod["spec"].get(name) for name in ("containers", "initContainers", "volumes")}}

    def rss_mib(self):
        return rss_kib(self.pid) / 1024


def add(document, operation):
    """Carries out the one operation of JSON Patch that an injection needs."""
    if operation["op"] != "add":
        raise SystemExit(f"a patch that does more than add: {operation}")
    *path, last = [token.replace("~1", "/").replace("~0", "~") for token in operation["path"].split("/")[1:]]
    for token in path:
        document = document[int(token) if isinstance(document, list) else token]
    if isinstance(document, list):
        document.insert(len(document) if last == "-" else int(last), operation["value"])
    else:
        document[last] = operation["value"]


def host(opts, world):
    """A host with the envoy-injector."""
    plugins = world.plugin_folder("envoy")
    for suffix in (".wasm", ".yaml"):
        source = opts.plugins / f"envoy-injector{suffix}"
        (plugins / source.name).write_bytes(source.read_bytes())
    for name, data in (("envoy-initializer", {"config": INITIALIZER}), ("envoy", {"envoy.yaml": "admin: {}"})):
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        request("POST", f"{world.api}/api/v1/namespaces/default/configmaps", document)
    process = Host(world, plugins, "--admission-addr", "127.0.0.1:0", level="warn,oarlock::admin=info").process
    path = f"{world.api}/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/oarlock"
    wait("the webhook", 120, lambda: request("GET", path))
    webhook = request("GET", path)["webhooks"][0]["clientConfig"]
    return Webhook(opts, world, process.pid, webhook["url"], webhook["caBundle"])


def native(opts, world):
    """The same with axum."""
    file = world.folder / "initializer.yaml"
    file.write_text(INITIALIZER)
    process = world.start([opts.bin / "native-webhook", "--initializer", file], stdout=subprocess.PIPE, text=True)
    said = json.loads(process.stdout.readline())
    return Webhook(opts, world, process.pid, said["url"], said["caBundle"])


def measured(opts, webhooks):
    """The medians of the figures of each load, by load and server."""
    loads = {f"{opts.rate} a second, 32 connections": {"rate": opts.rate, "connections": 32},
             "as fast as answered, 8 at once": {"connections": 8},
             "as fast as answered, 64 at once": {"connections": 64},
             "as fast as answered, one connection": {"connections": 1}}
    runs = {(what, name): [] for what in loads for name in webhooks}
    for turn in range(opts.rounds):
        for what, options in loads.items():
            # Who comes first changes from round to round.
            for name in list(webhooks)[::1 if turn % 2 == 0 else -1]:
                runs[what, name].append(webhooks[name].load(seconds=opts.seconds, **options))
    return {key: {figure: statistics.median(run[figure] for run in figures) for figure in figures[0]} for key, figures in runs.items()}


def main():
    opts = arguments(__doc__, rate=300, seconds=20, reviews=10000, rounds=3)
    with World(opts) as world:
        webhooks = {"host": host(opts, world), "native": native(opts, world)}
        answers = {name: webhook.injected() for name, webhook in webhooks.items()}
        if any(answer != answers["host"] for answer in answers.values()):
            raise SystemExit(f"they do not inject the same: {json.dumps(answers, indent=1)}")
        for webhook in webhooks.values():
            webhook.load(seconds=2)
        time.sleep(2)
        before = {name: webhook.rss_mib() for name, webhook in webhooks.items()}
        figures = measured(opts, webhooks)
        rows = [[f"{what}: {title}", *(shown.format(figures[what, name][figure]) for name in webhooks)]
                for what in dict.fromkeys(what for what, _ in figures) for title, figure, shown in (
                    ("per second", "perSecond", "{:,.0f}"), ("p50, ms", "p50", "{:.2f}"), ("p99, ms", "p99", "{:.1f}"),
                    ("p99.9, ms", "p999", "{:.1f}"), ("CPU of the server for each, µs", "cpu_us", "{:,.0f}"))]
        middle = {name: webhook.rss_mib() for name, webhook in webhooks.items()}
        for webhook in webhooks.values():
            done = 0
            while done < opts.reviews:
                done += webhook.load(seconds=2)["requests"]
        time.sleep(3)
        after = {name: webhook.rss_mib() for name, webhook in webhooks.items()}
        for what, memory in (("before", before), ("after the load", middle), (f"after {opts.reviews:,} further reviews", after)):
            rows.append([f"RSS {what}, MiB", *(f"{memory[name]:.1f}" for name in webhooks)])
        print(table([f"reviews of a Pod by envoy-injector, {opts.rounds} rounds", *webhooks], rows), flush=True)
        for containers in (1, 20, 200):
            print(subprocess.run([opts.bin / "micro", "merge", f"--containers={containers}"], check=True, capture_output=True, text=True).stdout.strip())


if __name__ == "__main__":
    main()
