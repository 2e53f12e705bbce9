#!/usr/bin/env python3
"""The load that `make profile` records: the first status of many objects, requests to Neutron, reviews, and the compilation of plugins.

The hosts are those of the folder --hosts. They end as a host does that is stopped, so that they write their counters.
"""
import pathlib, subprocess, tempfile

import admission, compare
from bench import World, arguments


def main():
    opts = arguments(__doc__, count=3000, networks=200, seconds=5)
    opts.real = False
    with tempfile.TemporaryDirectory(prefix="oarlock-train-") as folder:
        # Of its own, and empty: compilers run too.
        opts.cache = pathlib.Path(folder)
        for variant, count in (("status", opts.count), ("neutron", opts.networks)):
            for kind in (compare.Oarlock, compare.Reusing):
                for workers in (2, 8):
                    compare.cold(opts, kind, variant, workers, count)
        with World(opts) as world:
            webhook = admission.host(opts, world)
            for connections in (1, 8):
                webhook.load(seconds=opts.seconds, connections=connections)
            compare.end(next(process for process in world.processes if process.pid == webhook.pid))
        for plugin in sorted(opts.plugins.glob("*.wasm")):
            subprocess.run([opts.hosts / "oarlock", "compile", "--cache-dir", opts.cache / "compiled", plugin], check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
