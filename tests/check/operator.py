"""A controller of Sites on kopf, with the bug that BUG names: what `oarlock check --command` must find. Without BUG it has none.

    forgets  a Site that changes is not seen: there is no handler for it
"""

import os

import kopf
import kubernetes

KIND = ("check.oarlock.test", "v1", "sites")


@kopf.on.startup()
def connect(settings: kopf.OperatorSettings, **_) -> None:
    kubernetes.config.load_kube_config()
    settings.posting.enabled = False
    # A Site that failed is tried again soon.
    settings.networking.error_backoffs = [1, 1, 2, 3]
    settings.batching.error_delays = [1, 1, 2]


def data(spec: dict) -> dict:
    return {"title": spec["title"], **({"color": spec["color"]} if spec.get("color") else {})}


@kopf.on.create(*KIND, backoff=1)
@kopf.on.update(*KIND, backoff=1, when=lambda **_: os.environ.get("BUG") != "forgets")
@kopf.on.resume(*KIND, backoff=1)
def write(spec, name, namespace, **_) -> None:
    api = kubernetes.client.CoreV1Api()
    wanted = {"metadata": {"name": f"{name}-config"}, "data": data(spec)}
    kopf.adopt(wanted)
    try:
        present = api.read_namespaced_config_map(wanted["metadata"]["name"], namespace)
    except kubernetes.client.ApiException as refused:
        if refused.status != 404:
            raise
        api.create_namespaced_config_map(namespace, wanted)
        return
    if present.data == wanted["data"]:
        return
    present.data = wanted["data"]
    api.replace_namespaced_config_map(present.metadata.name, namespace, present)
