#!/usr/bin/env python3
"""Counts what resyncs of unchanged objects cost.

  resync.py OARLOCK STATUS-ONLY.wasm [OBJECTS] [SECONDS]     the command and tests/guests/status-only, built; 10,000 objects, for 120 s

It starts an embedded API server with Networks, and a host that resyncs every ten seconds. Every five seconds it prints the calls of
get-actual and the skipped keys so far, the bytes of the dependencies, and the processor time of the host since the line before.
"""
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

DEFINITION = os.path.join(os.path.dirname(__file__), "../../plugins/network/crd.yaml")
GRANT = """apiVersion: oarlock.dev/v1alpha1
kind: PluginGrant
manageStatus: true
permissions:
  - apiGroups: [samplecrd.k8s.io]
    resources: [networks, networks/status]
    verbs: [get, list, watch, patch]
"""


def waited_for(look):
    while not (found := look()):
        time.sleep(0.1)
    return found


def read(path):
    with open(path) as file:
        return file.read()


def network(number):
    subnet = "10.%d.%d" % (number // 256 % 256, number % 256)
    return {"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": "n%d" % number},
            "spec": {"cidr": subnet + ".0/24", "gateway": subnet + ".1"}}


def create(kubeconfig, objects):
    subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "apply", "-f", DEFINITION], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["kubectl", "--kubeconfig", kubeconfig, "wait", "--for", "condition=Established", "--timeout", "30s",
                    "crd/networks.samplecrd.k8s.io"], check=True, stdout=subprocess.DEVNULL)
    server = http.client.HTTPConnection(re.search(r"server: \"?http://([^/\s\"]+)", read(kubeconfig)).group(1))
    for number in range(objects):
        server.request("POST", "/apis/samplecrd.k8s.io/v1/namespaces/default/networks", json.dumps(network(number)),
                       {"Content-Type": "application/json"})
        answer = server.getresponse()
        answer.read()
        assert answer.status == 201, answer.status


def metric(text, name):
    lines = [line for line in text.splitlines() if re.match(name, line)]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


def processor_seconds(process):
    fields = read("/proc/%d/stat" % process.pid).rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(oarlock, plugin, objects=10_000, seconds=120):
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig, plugins, log = folder + "/kubeconfig", folder + "/plugins", folder + "/log"
        os.mkdir(plugins)
        with open(plugins + "/status-only.wasm", "wb") as to, open(plugin, "rb") as source:
            to.write(source.read())
        with open(plugins + "/status-only.yaml", "w") as to:
            to.write(GRANT)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        server = subprocess.Popen([oarlock, "apiserver", "--port", "0", "--kubeconfig-out", kubeconfig], **quiet)
        host = None
        try:
            waited_for(lambda: os.path.exists(kubeconfig) and read(kubeconfig))
            create(kubeconfig, int(objects))
            with open(log, "w") as to:
                host = subprocess.Popen([oarlock, "run", "--plugins", plugins, "--kubeconfig", kubeconfig, "--admin-addr", "127.0.0.1:0",
                                         "--resync-seconds", "10", "--log-format", "json", "--cache-dir", folder + "/cache"],
                                        stdout=to, stderr=to)
            admin = waited_for(lambda: re.search(r'"admin_addr":"([^"]+)"', read(log))).group(1)
            last, end = processor_seconds(host), time.time() + float(seconds)
            while time.time() < end:
                time.sleep(5)
                with urllib.request.urlopen("http://%s/metrics" % admin) as answer:
                    text = answer.read().decode()
                now = processor_seconds(host)
                print("%6d calls  %6d skipped  %8d bytes  %5.2f s" % (
                    metric(text, r"oarlock_plugin_call_duration_seconds_count\{.*get-actual"),
                    metric(text, "oarlock_resyncs_skipped_total"), metric(text, r'oarlock_map_bytes\{map="dependencies"'), now - last),
                    flush=True)
                last = now
        finally:
            for process in filter(None, [host, server]):
                process.kill()
                process.wait()


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
