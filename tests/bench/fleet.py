#!/usr/bin/env python3
"""Many plugins that have nothing to do: the memory of each, and how long 100 of them take to start, cold and warm.

Plugins are copies of a built guest with another name written into each, so that every file has a digest of its own. The idler
is the smallest guest there is; the changeling has the size of a real one. Cold: the folder of compiled code is empty.
"""
import json, time

from bench import Host, World, arguments, wait

MARKER = b"oarlock-changeling:"


def forged(opts, guest, number):
    """The bytes of a plugin named GUEST-NNNN."""
    whole = (opts.plugins / f"{guest}.wasm").read_bytes()
    if guest == "idler":
        return whole.replace(b"idler-0000", b"idler-%04d" % number)
    role = {"name": f"{guest}-{number:04}", "version": "1", "kind": "Quiet", "cleanup": False, "manageStatus": False,
            "shape": "ledger", "mode": "ok"}
    at = whole.index(MARKER) + len(MARKER)
    return whole[:at] + json.dumps(role).encode().ljust(1024) + whole[at + 1024:]


def fleet(world, opts, guest, count):
    folder = world.plugin_folder(f"{guest}-{count}")
    for number in range(count):
        name = f"{guest}-{number:04}"
        (folder / f"{name}.wasm").write_bytes(forged(opts, guest, number))
        kind = {"apiGroups": [""], "resources": ["configmaps"]}
        if guest == "changeling":
            kind = {"apiGroups": ["torture.oarlock.dev"], "resources": ["quiets"]}
        world.grant(folder, name, {"permissions": [{**kind, "verbs": ["get", "list", "watch"]}], "partial": True,
                                   "config": {"ledger": "http://127.0.0.1:1"} if guest == "changeling" else {}})
    return folder


def started(world, folder, count, cache):
    """A host with COUNT active plugins, and the seconds that took."""
    host = Host(world, folder, "--cache-dir", cache, level="info")

    def active():
        plugins = json.loads(host.admin("/plugins"))["plugins"]
        return sum(plugin.get("state") == "active" for plugin in plugins) == count

    # An answer of /plugins names all of them: it is asked for when the host has loaded them, so that the measurement costs little.
    wait(f"{count} loaded plugins", 900, lambda: host.admin("/readyz"), pause=0.05)
    wait(f"{count} active plugins", 60, active, pause=0.05)
    return host, time.monotonic() - host.began


def memory(host):
    time.sleep(3)
    return host.rss_mib()


def main():
    opts = arguments(__doc__, most=1000)
    with World(opts) as world:
        crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "quiets.torture.oarlock.dev"},
               "spec": {"group": "torture.oarlock.dev", "scope": "Namespaced", "names": {"plural": "quiets", "kind": "Quiet"},
                        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}
        (world.folder / "crd.json").write_text(json.dumps(crd))
        world.define(world.folder / "crd.json")
        host, _ = started(world, world.plugin_folder("empty"), 0, world.folder / "cache-empty")
        print(f"host RSS without a plugin                {memory(host):8.1f} MiB")
        host.stop()
        for guest, counts in {"idler": [1, 100, opts.most], "changeling": [1, 100]}.items():
            size = (opts.plugins / f"{guest}.wasm").stat().st_size / 1024
            alone = {}
            for count in counts:
                folder = fleet(world, opts, guest, count)
                cache = world.folder / f"cache-{guest}-{count}"
                times = {}
                for start in ["cold", "warm"]:
                    host, times[start] = started(world, folder, count, cache)
                    rss = memory(host)
                    host.stop()
                    # The first plugin also brings what all share: the pool of instances, connections.
                    each = f"{(rss - alone[start]) * 1024 / (count - 1):.0f} KiB per further plugin" if count > 1 else ""
                    alone.setdefault(start, rss)
                    print(f"{count:5} x {guest} ({size:.0f} KB) {start}: active after {times[start]:7.2f} s, RSS {rss:7.1f} MiB {each}")
                print(f"      warm in {times['warm'] / times['cold']:.1%} of the cold time")


if __name__ == "__main__":
    main()
