#!/usr/bin/env python3
"""Reviews of Pods by the envoy-injector: at 300 per second, as fast as they are answered, and what 10,000 of them leave in memory; and
strategic merge alone.

One host, the embedded API server and the client share the machine. The Pod is that of plugins/envoy-injector/example.yaml, the injected
container too.
"""
import json, subprocess, time

from bench import ROOT, Host, World, arguments, request, wait

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

opts = arguments(__doc__, rate=300, seconds=20, reviews=10000)
with World(opts) as world:
    plugins = world.plugin_folder("envoy")
    for suffix in (".wasm", ".yaml"):
        source = opts.plugins / f"envoy-injector{suffix}"
        (plugins / source.name).write_bytes(source.read_bytes())
    for name, data in (("envoy-initializer", {"config": INITIALIZER}), ("envoy", {"envoy.yaml": "admin: {}"})):
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        request("POST", f"{world.api}/api/v1/namespaces/default/configmaps", document)
    host = Host(world, plugins, "--admission-addr", "127.0.0.1:0", level="warn,oarlock::admin=info")
    path = f"{world.api}/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/oarlock"
    wait("the webhook", 120, lambda: request("GET", path))
    webhook = request("GET", path)["webhooks"][0]["clientConfig"]
    pod = world.folder / "pod.json"
    pod.write_text(json.dumps(POD))

    def load(**more):
        options = [f"--{key}={value}" for key, value in more.items()]
        command = [opts.bin / "reviews", "--url", webhook["url"], "--ca", webhook["caBundle"], "--object", pod, *options]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    load(seconds=2)
    time.sleep(2)
    before = host.rss_mib()
    print(f"| reviews of a Pod by envoy-injector | per second | p50 ms | p99 ms | p99.9 ms |\n| --- | --- | --- | --- | --- |")
    for what, options in ((f"{opts.rate} per second", {"rate": opts.rate, "connections": 32}), ("as fast as answered, 8 at once", {}),
                          ("as fast as answered, 64 at once", {"connections": 64})):
        figures = load(seconds=opts.seconds, **options)
        print(f"| {what} | {figures['perSecond']:.0f} | {figures['p50']} | {figures['p99']} | {figures['p999']} |", flush=True)
    for containers in (1, 20, 200):
        print(subprocess.run([opts.bin / "micro", "merge", f"--containers={containers}"], check=True, capture_output=True, text=True).stdout.strip())
    done = 0
    middle = host.rss_mib()
    while done < opts.reviews:
        done += load(seconds=2)["requests"]
    time.sleep(3)
    print(f"\nRSS of the host: {before:.1f} MiB before, {middle:.1f} MiB after the load, {host.rss_mib():.1f} MiB after {done} further reviews")
