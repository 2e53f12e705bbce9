"""An ordinary operator, as its author writes it with kopf: a greeting has a ConfigMap, and says goodbye when it goes."""

import kopf
import kubernetes

KIND = ("example.com", "v1", "greetings")


def write(namespace: str, config_map: dict) -> None:
    api = kubernetes.client.CoreV1Api()
    try:
        api.create_namespaced_config_map(namespace, config_map)
    except kubernetes.client.ApiException as refused:
        if refused.status != 409:
            raise
        api.patch_namespaced_config_map(config_map["metadata"]["name"], namespace, config_map)


@kopf.on.startup()
def connect(settings: kopf.OperatorSettings, **_) -> None:
    kubernetes.config.load_kube_config()
    settings.posting.enabled = True


@kopf.on.create(*KIND)
@kopf.on.update(*KIND)
@kopf.on.resume(*KIND)
def greet(spec, name, namespace, meta, patch, **_) -> None:
    text = f"Hello, {spec['name']}!"
    config_map = {"metadata": {"name": name}, "data": {"text": text}}
    kopf.adopt(config_map)
    write(namespace, config_map)
    patch.status["text"] = text
    patch.status["observedGeneration"] = meta["generation"]


@kopf.on.delete(*KIND)
def say_goodbye(spec, name, namespace, **_) -> None:
    write(namespace, {"metadata": {"name": f"goodbye-{name}"}, "data": {"text": f"Goodbye, {spec['name']}."}})
