"""In place of pytest-kind: the cluster of CLUSTER_KUBECONFIG."""
import os
import pathlib
import shutil
import subprocess
import tempfile


class KindCluster:
    def __init__(self, name: str, **_: object) -> None:
        self.name = name
        # Tests write to it.
        self.kubeconfig_path = pathlib.Path(tempfile.mkdtemp()) / "kubeconfig"

    def create(self) -> None:
        shutil.copy(os.environ["CLUSTER_KUBECONFIG"], self.kubeconfig_path)

    def delete(self) -> None:
        shutil.rmtree(self.kubeconfig_path.parent)

    def kubectl(self, *args: str, **more: object) -> str:
        command = ["kubectl", "--kubeconfig", str(self.kubeconfig_path), *args]
        return subprocess.check_output(command, encoding="utf-8", **more)
