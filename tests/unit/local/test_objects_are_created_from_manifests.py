"""Manifests, also those of another cluster, become objects of a local one, in an order that works."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from volcano_py.api.names import CONFIG_KEY, CONFIG_MAP
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.creation import create_objects
from volcano_py.local.install import install
from volcano_py.local.kubectl import Kubectl

Calls = list[tuple[str, Any]]


class Recorder:
    """A control plane that only writes down what it is asked."""

    def __init__(self, rendered: str = "") -> None:
        self.calls: Calls = []
        self.rendered = rendered

    async def __call__(self, *arguments: str) -> str:
        self.calls.append(("kubectl", arguments))
        return self.rendered

    async def apply(self, text: str) -> None:
        self.calls.append(("apply", [json.loads(document) for document in text.split("\n---\n")]))

    async def create_many(self, path: str, bodies: Sequence[dict[str, Any]]) -> None:
        if bodies:
            self.calls.append((path, list(bodies)))

    async def get(self, path: str) -> dict[str, Any]:
        self.calls.append(("get", path))
        return {}

    @property
    def plane(self) -> ControlPlane:
        return cast(ControlPlane, SimpleNamespace(kubectl=self, client=self))


async def created(*documents: dict[str, Any]) -> Calls:
    recorder = Recorder()
    await create_objects(recorder.plane, documents)
    return recorder.calls


def thing(kind: str, name: str = "a", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "metadata": {"name": name, **more.pop("metadata", {})}, **more}


def summary(calls: Calls) -> list[tuple[str, object]]:
    return [(how, [body["kind"] for body in what] if isinstance(what, list) else what) for how, what in calls]


async def test_nothing_comes_before_what_it_needs() -> None:
    calls = await created(
        thing("Deployment"),
        thing("Pod"),
        thing("PodGroup"),
        thing("CustomResourceDefinition", "foos.example.com"),
        thing("Node"),
        thing("PriorityClass"),
        thing("Namespace", "ml"),
    )
    assert summary(calls) == [
        ("apply", ["Namespace"]),
        ("apply", ["CustomResourceDefinition"]),
        ("kubectl", ("wait", "--for=condition=Established", "--timeout=60s", "crd/foos.example.com")),
        ("apply", ["PodGroup", "PriorityClass"]),
        ("/api/v1/nodes", ["Node"]),
        ("get", "/api/v1/namespaces/ml/serviceaccounts/default"),
        ("/api/v1/namespaces/default/pods", ["Pod"]),
        ("apply", ["Deployment"]),
    ]


async def test_pods_go_to_their_namespaces() -> None:
    calls = await created(thing("Pod", metadata={"namespace": "ml"}), thing("Pod", "b"))
    assert [how for how, _ in calls] == ["/api/v1/namespaces/ml/pods", "/api/v1/namespaces/default/pods"]


async def test_pods_that_have_a_node_come_before_all_that_wait_for_one() -> None:
    """Otherwise the scheduler may give their room away before they are there."""
    calls = await created(
        thing("Pod", "waits"),
        thing("Pod", "runs", spec={"nodeName": "n1"}),
        thing("Pod", "runs", metadata={"namespace": "ml"}, spec={"nodeName": "n1"}),
    )
    assert [(how, [body["metadata"]["name"] for body in what]) for how, what in calls] == [
        ("/api/v1/namespaces/default/pods", ["runs"]),
        ("/api/v1/namespaces/ml/pods", ["runs"]),
        ("/api/v1/namespaces/default/pods", ["waits"]),
    ]


async def test_without_manifests_nothing_happens() -> None:
    assert await created() == []


async def test_what_a_server_had_added_is_taken_off_again() -> None:
    calls = await created(
        {
            **thing(
                "PodGroup", metadata={"labels": {"a": "b"}, "uid": "1", "resourceVersion": "2", "managedFields": []}
            ),
            "spec": {"minMember": 3},
            "status": {"phase": "Running"},
        },
        thing("Pod", metadata={"ownerReferences": [{"uid": "gone"}], "creationTimestamp": "2020"}, spec={"x": 1}),
    )
    assert calls == [
        ("apply", [{"kind": "PodGroup", "metadata": {"name": "a", "labels": {"a": "b"}}, "spec": {"minMember": 3}}]),
        ("/api/v1/namespaces/default/pods", [{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"x": 1}}]),
    ]


async def test_nodes_become_simulated_ones_of_the_same_size_and_kind() -> None:
    dumped = {
        **thing("Node", "gpu-1", metadata={"labels": {"zone": "a"}, "annotations": {"x": "y"}, "uid": "1"}),
        "spec": {
            "taints": [{"key": "dedicated", "effect": "NoSchedule"}],
            "unschedulable": True,
            "podCIDR": "10.0.0.0/24",
        },
        "status": {
            "allocatable": {"cpu": "7", "nvidia.com/gpu": "8"},
            "capacity": {"cpu": "8"},
            "images": [{"names": ["python"]}],
            "conditions": [{"type": "Ready", "status": "False"}],
        },
    }
    ((_, (node,)),) = await created(dumped)
    assert node["metadata"]["labels"]["zone"] == "a"
    assert node["metadata"]["annotations"] == {"x": "y", "kwok.x-k8s.io/node": "fake"}
    assert "uid" not in node["metadata"]
    assert node["spec"] == {"taints": [{"key": "dedicated", "effect": "NoSchedule"}], "unschedulable": True}
    assert node["status"]["allocatable"] == {"cpu": "7", "nvidia.com/gpu": "8", "pods": "110"}
    assert node["status"]["images"] == [{"names": ["python"]}]
    ready = [condition["status"] for condition in node["status"]["conditions"] if condition["type"] == "Ready"]
    assert ready == ["True"]


@pytest.mark.parametrize(
    ("status", "cpu"),
    [({}, "32"), ({"capacity": {"cpu": "8"}}, "8"), ({"allocatable": {"cpu": "4"}}, "4"), (None, "32")],
)
async def test_a_node_is_as_large_as_it_says_if_it_does(status: dict[str, Any] | None, cpu: str) -> None:
    ((_, (node,)),) = await created(thing("Node", status=status))
    assert node["status"]["allocatable"]["cpu"] == cpu


async def test_the_installation_is_the_shipped_one_without_the_deployment() -> None:
    kinds = ("Deployment", "Namespace", "CustomResourceDefinition", "ClusterRole")
    recorder = Recorder(yaml.safe_dump_all([thing(kind, kind.lower()) for kind in kinds]))
    await install(cast(Kubectl, recorder))
    assert summary(recorder.calls)[1:] == [
        ("apply", ["CustomResourceDefinition"]),
        ("kubectl", ("wait", "--for=condition=Established", "--timeout=60s", "crd/customresourcedefinition")),
        ("apply", ["Namespace", "ClusterRole"]),
    ]
    (_, (verb, folder)) = recorder.calls[0]
    assert verb == "kustomize"
    assert folder.endswith("manifests")


async def test_a_configuration_replaces_the_shipped_one_in_the_schedulers_config_map() -> None:
    shipped = thing("ConfigMap", CONFIG_MAP, data={CONFIG_KEY: "shipped"})
    for configuration, expected in ((None, "shipped"), ("own", "own")):
        recorder = Recorder(yaml.safe_dump_all([shipped, thing("ConfigMap", "other", data={CONFIG_KEY: "other"})]))
        await install(cast(Kubectl, recorder), configuration)
        (_, applied) = recorder.calls[-1]
        assert [each["data"] for each in applied] == [{CONFIG_KEY: expected}, {CONFIG_KEY: "other"}]
