#!/usr/bin/env python3
"""Two hosts that share a plugin: how long nobody reconciles when the one that does is stopped, killed or paused.

OBJECTS Networks exist and are Ready. The time is from the signal until the status of a Network that was changed right after it says so,
with the timings of leases that a host has by default (15, 10 and 2 s). A paused host goes on half a minute later.
"""
import signal, time

from bench import Host, World, arguments, p, request, wait

NETWORKS = "/apis/samplecrd.k8s.io/v1/namespaces/default/networks"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/oarlock-status-only"
WAYS = {"stopped": signal.SIGTERM, "killed": signal.SIGKILL, "paused": signal.SIGSTOP}


def network(number, gateway):
    return {"apiVersion": "samplecrd.k8s.io/v1", "kind": "Network", "metadata": {"name": f"network-{number}"},
            "spec": {"cidr": "10.0.0.0/8", "gateway": gateway}}


def start(world, opts, folder, name):
    return Host(world, folder, "--cache-dir", world.folder / "cache", "--lease-namespace", "default", "--identity", name)


def caught_up(host, count):
    return host.metric("oarlock_informer_objects", kind="Network") >= count and host.metric("oarlock_plugin_state", state="active") == 1


def leads(host):
    return host.metric("oarlock_plugin_leading") == 1


def status(world, name):
    return request("GET", f"{world.api}{NETWORKS}/{name}").get("status", {}).get("gateway")


opts = arguments(__doc__, objects=10_000, rounds=20)
with World(opts) as world:
    world.define("plugins/network/crd.yaml")
    wait("Networks to be served", 30, lambda: request("GET", f"{world.api}{NETWORKS}"), pause=0.1)
    for number in range(opts.objects):
        request("POST", f"{world.api}{NETWORKS}", network(number, "10.0.0.1"))
    folder = world.plugin_folder("shared")
    (folder / "status-only.wasm").write_bytes((opts.plugins / "status-only.wasm").read_bytes())
    world.grant(folder, "status-only", {"permissions": [{"apiGroups": ["samplecrd.k8s.io"], "resources": ["networks"],
                                                         "verbs": ["get", "list", "watch"]}],
                                        "manageStatus": True, "workers": 2, "resyncSeconds": 3600})
    hosts = [start(world, opts, folder, "host-0"), start(world, opts, folder, "host-1")]
    for host in hosts:
        wait("filled caches", 120, lambda: caught_up(host, opts.objects), pause=0.1)
    wait("every Network to be Ready", 300, lambda: status(world, f"network-{opts.objects - 1}") and sum(
        host.metric("workqueue_depth") for host in hosts) == 0)
    time.sleep(3)
    standby = next(host for host in hosts if not leads(host))
    print(f"RSS of a standby with {opts.objects} objects: {standby.rss_mib():.1f} MiB, of the host that reconciles: "
          f"{next(host for host in hosts if leads(host)).rss_mib():.1f} MiB")
    begun = 2
    for way, how in WAYS.items():
        times = []
        for turn in range(opts.rounds):
            for host in hosts:
                wait("filled caches", 120, lambda: caught_up(host, opts.objects), pause=0.05)
            lead = next(host for host in hosts if leads(host))
            other = next(host for host in hosts if host is not lead)
            name, gateway = f"network-{turn}", f"10.{list(WAYS).index(way)}.{turn}.1"
            began = time.monotonic()
            lead.process.send_signal(how)
            request("PATCH", f"{world.api}{NETWORKS}/{name}", {"spec": {"gateway": gateway}}, "application/merge-patch+json")
            # What is reconciled before it is stopped is no hand-over.
            wait("the other host to lead", 60, lambda: leads(other), pause=0.01)
            wait("the change to be reconciled", 60, lambda: status(world, name) == gateway, pause=0.01)
            times.append(time.monotonic() - began)
            if way == "paused":
                time.sleep(max(0, 30 - times[-1]))
                lead.process.send_signal(signal.SIGCONT)
                time.sleep(5)
                if leads(lead) or not leads(other):
                    raise SystemExit("the paused host came back")
                continue
            lead.process.wait(60)
            hosts[hosts.index(lead)] = start(world, opts, folder, f"host-{begun}")
            begun += 1
        ordered = sorted(times)
        print(f"{way:8} {len(times)} times: p50 {p(times, 50):5.2f} s, longest {ordered[-1]:5.2f} s")
    print(f"leaseTransitions: {request('GET', world.api + LEASE)['spec']['leaseTransitions']}")
