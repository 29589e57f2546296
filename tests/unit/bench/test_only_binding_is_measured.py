"""benchmarks/only_binds.py binds what waits, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.only_binds import bind_all
from tests.unit.cluster.fakes import FakeApi, Reply, kubeconfig, page, pod, refusal
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import ForbiddenError

PODS = "/api/v1/namespaces/ns/pods"
NAMES = ["a", "b", "c"]


async def binds(tmp_path: Path, answer: Reply) -> FakeApi:
    api = FakeApi()
    await api.start()
    try:
        api.on("GET", "/api/v1/nodes", page(1, pod("node-1", 1), pod("node-2", 1)))
        api.on("GET", "/api/v1/pods", page(1, *(pod(name, 1) for name in NAMES)))
        for name in NAMES:
            api.on("POST", f"{PODS}/{name}/binding", answer)
        async with await KubernetesClient.connect(kubeconfig(tmp_path / "kubeconfig", api.url)) as client:
            await bind_all(client)
    finally:
        await api.stop()
    return api


async def test_what_waits_is_bound_to_nodes_in_turn(tmp_path: Path) -> None:
    api = await binds(tmp_path, Reply(201))
    bound = {request.path: request.body["target"]["name"] for request in api.sent("POST")}
    assert bound == {
        f"{PODS}/{name}/binding": node for name, node in zip(NAMES, ["node-1", "node-2", "node-1"], strict=True)
    }
    (listed,) = [request for request in api.sent("GET") if request.path == "/api/v1/pods"]
    assert listed.query["fieldSelector"] == "spec.schedulerName=volcano,spec.nodeName="


async def test_what_is_refused_ends_it(tmp_path: Path) -> None:
    with pytest.raises(ForbiddenError, match=r"pods/[abc]/binding"):
        await binds(tmp_path, refusal(403, "Forbidden"))
