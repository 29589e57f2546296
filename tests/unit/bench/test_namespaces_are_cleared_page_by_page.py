"""A namespace of the benchmark is cleared page by page: the API server gives up on a request after a minute."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson

from volcano_py.bench.cluster import BenchCluster
from volcano_py.cluster.kubernetes.http.errors import NotFoundError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.operator.kube_api import pod_group_path, pod_path


class Server:
    """Has numbers of objects by path, and deletes no more of them in one request than `at_most`."""

    def __init__(self, *, at_most: int, objects: Mapping[ApiPath, int]) -> None:
        self.at_most, self.objects = at_most, dict(objects)

    async def delete(self, path: ApiPath, body: object, params: Mapping[str, int]) -> bytes:
        if path not in self.objects:
            raise NotFoundError("DELETE", str(path), 404)
        deleted = min(self.objects[path], params["limit"])
        assert deleted <= self.at_most
        self.objects[path] -= deleted
        metadata = {"continue": "the rest"} if self.objects[path] else {}
        return orjson.dumps({"metadata": metadata, "items": []})


def cluster_of(server: Server) -> BenchCluster:
    plane: Any = SimpleNamespace(audit_log=Path("unused"))
    client: Any = server
    return BenchCluster(plane, client, Path("unused"))


async def test_what_is_deleted_in_one_request_is_bounded() -> None:
    server = Server(at_most=2_000, objects={pod_path("ns"): 4_500, pod_group_path("ns"): 45, pod_path("other"): 7})
    await cluster_of(server).clear("ns")
    assert server.objects == {pod_path("ns"): 0, pod_group_path("ns"): 0, pod_path("other"): 7}


async def test_a_cluster_without_podgroups_is_cleared_of_pods() -> None:
    server = Server(at_most=2_000, objects={pod_path("ns"): 1})
    await cluster_of(server).clear("ns")
    assert server.objects == {pod_path("ns"): 0}
