"""A Kubernetes API server for each test: the fixture `kube_api` of pytest."""

import json
import os
import subprocess
import tempfile
import urllib.request
from pathlib import Path
from typing import Any, Iterator

import pytest


class ApiServer:
    """A running `oarlock apiserver`. Clients take its `url` or its `kubeconfig`, a path.

    The program is `OARLOCK_BIN`, or the `oarlock` of PATH. `options` are further flags, such as `--data-dir`.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.kubeconfig, self.log = folder / "kubeconfig", folder / "apiserver.log"
        program = os.environ.get("OARLOCK_BIN", "oarlock")
        command = [program, "apiserver", "--port", "0", "--kubeconfig-out", str(self.kubeconfig), *options]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError(f"{program} apiserver ended with status {self.process.wait()}:\n{self.log.read_text()}")

    def fault(self, **rule: Any) -> str:
        """Adds a fault rule of docs/api-server.md, and returns its id: `fault(times=1, fault={"answer": {"code": 503}})`."""
        request = urllib.request.Request(f"{self.url}/_oarlock/faults", json.dumps(rule).encode(), {"X-Oarlock-Faults": "1"})
        with urllib.request.urlopen(request) as answer:
            return str(json.load(answer)["ids"][0])

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate()


@pytest.fixture
def kube_api() -> Iterator[ApiServer]:
    with tempfile.TemporaryDirectory() as folder:
        server = ApiServer(Path(folder))
        yield server
        server.stop()
