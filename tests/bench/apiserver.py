#!/usr/bin/env python3
"""`oarlock apiserver`: the time from the start of its process to the answer of /readyz, and its memory with and without objects.

  apiserver.py --bin FOLDER [--starts N] [--objects N]

Prints a table in Markdown. The memory is the RSS of the process: right after the start, and with the objects.
"""

import argparse
import http.client
import json
import os
import pathlib
import socket
import statistics
import subprocess
import time

DEADLINE_SECONDS = 60


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def answer(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request(method, path, body and json.dumps(body), {"content-type": "application/json"})
        return connection.getresponse().status
    finally:
        connection.close()


def resident_mib(process):
    for line in pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the server has ended")


def start(oarlock, objects):
    """Milliseconds until it was ready, and MiB before and with the objects."""
    port = free_port()
    began = time.monotonic()
    process = subprocess.Popen([oarlock, "apiserver", "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                if answer(port, "GET", "/readyz") == 200:
                    break
            except OSError:
                if time.monotonic() - began > DEADLINE_SECONDS or process.poll() is not None:
                    raise SystemExit("the server is not ready") from None
            time.sleep(0.001)
        ready = 1000 * (time.monotonic() - began)
        empty = resident_mib(process)
        for number in range(objects):
            config_map = {"metadata": {"name": f"a-{number}"}, "data": {"text": "x" * 1000}}
            if (status := answer(port, "POST", "/api/v1/namespaces/default/configmaps", config_map)) != 201:
                raise SystemExit(f"the answer to a create is {status}")
        return ready, empty, resident_mib(process)
    finally:
        process.terminate()
        process.wait(DEADLINE_SECONDS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True, help="folder of the programs")
    parser.add_argument("--plugins", help="not used: every benchmark gets it")
    parser.add_argument("--starts", type=int, default=21)
    parser.add_argument("--objects", type=int, default=100, help="ConfigMaps of 1 KB")
    options = parser.parse_args()
    runs = [start(options.bin / "oarlock", options.objects) for _ in range(options.starts)]
    ready, empty, full = zip(*runs)
    print(f"| starts | ready, median ms | longest ms | MiB | MiB with {options.objects} objects | load |\n| --- | --- | --- | --- | --- | --- |")
    figures = f"{statistics.median(ready):.0f} | {max(ready):.0f} | {statistics.median(empty):.1f} | {statistics.median(full):.1f}"
    print(f"| {options.starts} | {figures} | {os.getloadavg()[0]:.1f} |")


if __name__ == "__main__":
    main()
