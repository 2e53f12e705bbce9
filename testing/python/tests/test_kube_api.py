"""The fixture with other people's clients: `kubernetes` and `kr8s`."""

import subprocess
from pathlib import Path

import kr8s
import kubernetes
import pytest
from kubernetes.client import ApiException, CoreV1Api
from pytest_oarlock import ApiServer


def core(server: ApiServer) -> CoreV1Api:
    return CoreV1Api(kubernetes.config.new_client_from_config(str(server.kubeconfig)))


def config_map(name: str) -> dict:
    return {"metadata": {"name": name}, "data": {"of": name}}


def test_objects_are_written_listed_and_watched(kube_api):
    api = core(kube_api)
    made = api.create_namespaced_config_map("default", config_map("a"))
    assert [item.metadata.name for item in api.list_namespaced_config_map("default").items] == ["a"]
    watch = kubernetes.watch.Watch()
    seen = []
    version = made.metadata.resource_version
    api.create_namespaced_config_map("default", config_map("b"))
    for event in watch.stream(api.list_namespaced_config_map, "default", resource_version=version, timeout_seconds=20):
        seen.append((event["type"], event["object"].metadata.name))
        watch.stop()
    assert seen == [("ADDED", "b")]


def test_each_test_has_a_server_of_its_own(kube_api):
    assert core(kube_api).list_namespaced_config_map("default").items == []


def test_a_fault_strikes_as_often_as_it_says(kube_api):
    api = core(kube_api)
    rule = kube_api.fault(requests={"verbs": ["create"]}, times=1, fault={"answer": {"code": 503}})
    assert rule == "rule-1"
    with pytest.raises(ApiException) as refused:
        api.create_namespaced_config_map("default", config_map("a"))
    assert refused.value.status == 503
    api.create_namespaced_config_map("default", config_map("a"))


def test_an_answer_that_is_lost_was_carried_out(kube_api):
    kube_api.fault(requests={"verbs": ["create"]}, times=1, fault={"cut": {"afterEffect": True}})
    configuration = kubernetes.client.Configuration(host=kube_api.url)
    configuration.retries = 0
    lost = CoreV1Api(kubernetes.client.ApiClient(configuration))
    with pytest.raises(Exception, match="Connection|Protocol|Max retries"):
        lost.create_namespaced_config_map("default", config_map("a"))
    assert lost.read_namespaced_config_map("a", "default").data == {"of": "a"}


async def test_kr8s_finds_the_server_by_its_kubeconfig(kube_api):
    api = await kr8s.asyncio.api(kubeconfig=str(kube_api.kubeconfig))
    pod = await kr8s.asyncio.objects.Pod({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}, api=api)
    await pod.create()
    await pod.label({"tier": "front"})
    assert [found.name async for found in api.get("pods", label_selector="tier=front")] == ["web"]
    await pod.delete()
    assert not await pod.exists()


def test_a_server_that_cannot_start_says_why(tmp_path: Path):
    with pytest.raises(RuntimeError, match="/nowhere/rules"):
        ApiServer(tmp_path, "--faults", "/nowhere/rules")


def test_a_stopped_server_leaves_its_objects_in_its_folder(tmp_path: Path):
    options = ("--data-dir", str(tmp_path / "state"))
    first = ApiServer(tmp_path, *options)
    core(first).create_namespaced_config_map("default", config_map("a"))
    first.stop()
    assert first.process.returncode == 0
    second = ApiServer(tmp_path, *options)
    assert core(second).read_namespaced_config_map("a", "default").data == {"of": "a"}
    second.stop()


def test_kubectl_takes_the_kubeconfig(kube_api):
    command = ["kubectl", "--kubeconfig", str(kube_api.kubeconfig), "get", "namespace", "default", "-o", "name"]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"namespace/default\n"
