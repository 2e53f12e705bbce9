#!/usr/bin/env python3
"""Times a TrafficRoute: from its apply until the configuration of 100 Pods is written.

  traffic.py     with the KUBECONFIG of a cluster that has the definition (plugins/traffic/crd.yaml) and a host with the plugin traffic

It makes ten namespaces with injection and ten Pods each, which mount the ConfigMap, and one route. Each turn applies other weights, waits
until the ten ConfigMaps have them, and then until the status of the route counts the 100 Pods. At its end it deletes the namespaces.
"""
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request

# The host slows down a key after 30 patches in a row, as in a fight with another writer.
NAMESPACES, PODS, TURNS = 10, 10, 20
INJECTION = "initializer.kubernetes.io/envoy"


class Api:
    """The API server of the KUBECONFIG, through a `kubectl proxy` on loopback."""

    def __init__(self):
        self.proxy = subprocess.Popen(["kubectl", "proxy", "--port", "0"], stdout=subprocess.PIPE, text=True)
        self.base = "http://" + self.proxy.stdout.readline().split()[-1]

    def send(self, method, path, body=None, content_type="application/json", query=""):
        request = urllib.request.Request(self.base + path + query, method=method, data=json.dumps(body).encode() if body else None)
        request.add_header("Content-Type", content_type)
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    def apply(self, path, body):
        return self.send("PATCH", path, body, "application/apply-patch+yaml", "?fieldManager=bench&force=true")


def route(shop, v1):
    pods = lambda version: {"app": "reviews", "version": version}
    destination = lambda version, weight: {"name": version, "weight": weight, "port": 8080, "pods": pods(version)}
    return {"apiVersion": "traffic.oarlock.dev/v1alpha1", "kind": "TrafficRoute", "metadata": {"name": "reviews", "namespace": shop},
            "spec": {"host": "reviews", "rules": [{"destinations": [destination("v1", v1), destination("v2", 100 - v1)]}]}}


def set_up(api, names):
    for number, name in enumerate(names):
        api.send("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": {INJECTION: "true"}}})
        for pod in range(PODS):
            labels = {"app": "reviews", "version": "v%d" % (1 + pod % 2)} if number == 0 else {}
            path = "/api/v1/namespaces/%s/pods" % name
            api.send("POST", path, {"metadata": {"name": "p%d" % pod, "labels": {**labels, INJECTION + "-injected": "true"}}, "spec": {
                "containers": [{"name": "web", "image": "web:1"}],
                "volumes": [{"name": "traffic", "configMap": {"name": "envoy-traffic"}}]}})
            address = "10.0.%d.%d" % (number, pod + 1)
            api.send("PATCH", "%s/p%d/status" % (path, pod), {"status": {
                "phase": "Running", "podIP": address, "podIPs": [{"ip": address}],
                "conditions": [{"type": "Ready", "status": "True"}]}}, "application/merge-patch+json")


class Watcher(threading.Thread):
    """Notes when the ConfigMap of each namespace has which weight of v1."""

    def __init__(self, api, names):
        super().__init__(daemon=True)
        self.api, self.names, self.seen, self.changed = api, set(names), {}, threading.Condition()

    def run(self):
        query = "?watch=1&fieldSelector=metadata.name%3Denvoy-traffic"
        with urllib.request.urlopen(self.api.base + "/api/v1/configmaps" + query) as events:
            for line in events:
                self.note(json.loads(line)["object"])

    def note(self, config_map):
        name = config_map["metadata"]["namespace"]
        if name not in self.names:
            return
        rds = json.loads(config_map["data"].get("rds.json", "{}"))
        hosts = rds.get("resources", [{}])[0].get("virtual_hosts", [])
        weights = [cluster["weight"] for host in hosts for one in host["routes"]
                   for cluster in one["route"].get("weighted_clusters", {}).get("clusters", []) if cluster["name"].endswith("/reviews/v1")]
        with self.changed:
            self.seen[name] = weights[0] if weights else None
            self.changed.notify()

    def wait(self, weight):
        with self.changed:
            done = self.changed.wait_for(lambda: len(self.seen) == NAMESPACES and set(self.seen.values()) == {weight}, 60)
        if not done:
            sys.exit("not written after a minute: %s" % self.seen)


def main():
    api = Api()
    names = ["bench-traffic-%d-%d" % (os.getpid(), number) for number in range(NAMESPACES)]
    path = "/apis/traffic.oarlock.dev/v1alpha1/namespaces/%s/trafficroutes/reviews" % names[0]
    try:
        set_up(api, names)
        watcher = Watcher(api, names)
        watcher.start()
        written, counted = [], []
        for turn in range(TURNS + 1):
            weight = 10 + turn % 80
            began = time.perf_counter()
            generation = api.apply(path, route(names[0], weight))["metadata"]["generation"]
            watcher.wait(weight)
            config = time.perf_counter() - began
            while True:
                status = api.send("GET", path).get("status", {})
                if status.get("observedGeneration") == generation and status.get("pods") == NAMESPACES * PODS:
                    break
                time.sleep(0.005)
            if turn:                                    # the first creates the ConfigMaps
                written.append(config * 1000)
                counted.append((time.perf_counter() - began) * 1000)
        print("| from apply until | p50, ms | p99, ms |\n| --- | --- | --- |")
        for what, times in (("the configuration of %d Pods is written" % (NAMESPACES * PODS), written), ("the status counts them", counted)):
            times.sort()
            print("| %s | %.0f | %.0f |" % (what, times[len(times) // 2], times[len(times) * 99 // 100]))
    finally:
        for name in names:
            try:
                api.send("DELETE", "/api/v1/namespaces/" + name)
            except OSError:
                pass
        api.proxy.terminate()


if __name__ == "__main__":
    if len(sys.argv) != 1:
        sys.exit(__doc__)
    main()
