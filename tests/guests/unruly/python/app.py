"""A guest that misbehaves as Python code does: raw bindings, nothing between it and the host.

The key `mode` of the configuration says how `get-desired` misbehaves; without it, the guest behaves well.
"""

import json
import os
import random
import sys
import threading
import time

import wit_world.exports
from wit_world.exports.reconcile import Observation, Outcome
from wit_world.imports import config

WELL = json.dumps({"ok": True})

MANIFEST = {
    "apiVersion": "oarlock.dev/v1alpha1",
    "kind": "PluginManifest",
    "name": "unruly-python",
    "version": "0.1.0",
    "primaries": [{"version": "v1", "kind": "ConfigMap"}],
    "config": {
        "type": "object",
        "additionalProperties": False,
        "properties": {"mode": {"type": "string"}},
    },
}


class Reconcile(wit_world.exports.Reconcile):
    def describe(self):
        return json.dumps(MANIFEST)

    def get_desired(self, request):
        mode = config.get("mode")
        return MODES[mode]() if mode in MODES else WELL

    def get_actual(self, request):
        return Observation(state=WELL, status=None, requeue_after_ms=None)

    def patch(self, request, desired, actual):
        return Outcome(changes=[], events=[], warnings=[], requeue_after_ms=None)


def throw():
    answer()


def answer():
    raise RuntimeError("the answer is 42")


def leave():
    sys.exit(3)


def say():
    print("a line on stdout")
    print("a line on stderr", file=sys.stderr)
    return WELL


def sleep():
    time.sleep(1)
    return WELL


def read():
    with open("/etc/passwd") as file:
        file.read()
    return WELL


def environment():
    os.environ["HOME"]
    return WELL


def thread():
    started = threading.Thread(target=time.monotonic)
    started.start()
    started.join()
    return WELL


def loop():
    while True:
        pass


def nonsense():
    return "this is no JSON"


calls = 0


def chance():
    """Not the same twice: clocks, random numbers, the order of a set, and what an earlier reconcile left in memory."""
    global calls
    calls += 1
    return json.dumps(
        {
            "ok": False,
            "wall": time.time(),
            "monotonic": time.monotonic(),
            "random": random.random(),
            "bytes": os.urandom(8).hex(),
            "order": list({"a", "b", "c", "d"}),
            "calls": calls,
        }
    )


MODES = {
    "throw": throw,
    "exit": leave,
    "print": say,
    "sleep": sleep,
    "open": read,
    "env": environment,
    "thread": thread,
    "loop": loop,
    "nonsense": nonsense,
    "chance": chance,
}
