"""The little client with which a cluster is set up, against an HTTP server that answers from a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.support.connections.late_cancellation import cancel_as_time_ends, silent_server
from tests.unit.cluster.fakes import kubeconfig
from volcano_py.local import client as client_module
from volcano_py.local.client import APIClient, APIError
from volcano_py.local.errors import LocalError
from volcano_py.local.nodes import create_nodes


class Server:
    """Keeps what was asked; answers with `answers[(method, path)]` or the request's own body."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {}
        self.refuse: Callable[[Any], tuple[int, Any] | None] = lambda body: None

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        self.requests.append((request.method, request.path, dict(request.query), body))
        self.headers.append(dict(request.headers))
        status, answer = (
            self.refuse(body) or self.answers.get((request.method, request.path)) or (200, body if body else {})
        )
        if isinstance(answer, str):
            return web.Response(status=status, text=answer)
        return web.json_response(answer, status=status)


@pytest.fixture
async def server() -> Server:
    return Server()


@pytest.fixture
async def client(server: Server, tmp_path: Path) -> AsyncIterator[APIClient]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.handle)
    async with TestServer(application) as running:
        path = tmp_path / "kubeconfig"
        path.write_text(
            yaml.safe_dump(
                {
                    "clusters": [{"name": "c", "cluster": {"server": str(running.make_url("/"))}}],
                    "users": [{"name": "u", "user": {"token": "secret"}}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "x",
                }
            )
        )
        async with APIClient(path) as client:
            yield client


async def test_a_cancellation_is_not_lost_when_the_time_limit_ends_in_the_same_turn(tmp_path: Path) -> None:
    async with silent_server() as (url, asked), APIClient(kubeconfig(tmp_path / "silent", url)) as client:
        request = asyncio.create_task(client.get("/api/v1/pods"))
        await asked.wait()
        await cancel_as_time_ends(request, client_module._REQUEST_SECONDS)
        assert request.cancelled()


async def test_requests_carry_the_token_and_the_query(client: APIClient, server: Server) -> None:
    server.answers["GET", "/api/v1/pods"] = (200, {"items": []})
    assert await client.get("/api/v1/pods", labelSelector="a=b") == {"items": []}
    assert server.requests == [("GET", "/api/v1/pods", {"labelSelector": "a=b"}, None)]
    assert server.headers[0]["Authorization"] == "Bearer secret"


async def test_a_patch_is_a_merge_patch(client: APIClient, server: Server) -> None:
    await client.merge_patch("/api/v1/nodes/n", {"spec": {"unschedulable": True}})
    assert server.requests[0][::3] == ("PATCH", {"spec": {"unschedulable": True}})
    assert server.headers[0]["Content-Type"] == "application/merge-patch+json"


async def test_a_refusal_carries_kubernetes_own_words(client: APIClient, server: Server) -> None:
    server.answers["DELETE", "/api/v1/nodes/n"] = (403, {"reason": "Forbidden", "message": "nodes are not yours"})
    with pytest.raises(APIError, match=r"^DELETE /api/v1/nodes/n: 403 Forbidden: nodes are not yours$") as failure:
        await client.delete("/api/v1/nodes/n")
    assert (failure.value.status, failure.value.reason) == (403, "Forbidden")


async def test_a_refusal_that_is_no_status_is_shown_as_it_is(client: APIClient, server: Server) -> None:
    server.answers["GET", "/readyz"] = (500, "[-]etcd failed")
    with pytest.raises(APIError, match=r"^GET /readyz: 500 : \[-\]etcd failed$"):
        await client.get("/readyz")


async def test_an_answer_that_is_no_json_is_text(client: APIClient, server: Server) -> None:
    server.answers["GET", "/readyz"] = (200, "ok")
    assert await client.get("/readyz") == "ok"


async def test_nodes_are_created_each_once_in_any_number(client: APIClient, server: Server) -> None:
    names = await create_nodes(client, 150, name_format="gpu-{:03d}", first=7, labels={"pool": "gpu"})
    assert names == [f"gpu-{number:03d}" for number in range(7, 157)]
    assert sorted(body["metadata"]["name"] for _, _, _, body in server.requests) == names
    assert {path for _, path, _, _ in server.requests} == {"/api/v1/nodes"}
    assert all(body["metadata"]["labels"]["pool"] == "gpu" for _, _, _, body in server.requests)


async def test_no_nodes_are_no_requests(client: APIClient, server: Server) -> None:
    assert await create_nodes(client, 0) == []
    assert server.requests == []


async def test_nodes_that_exist_already_count_as_created(client: APIClient, server: Server) -> None:
    conflict = (409, {"reason": "AlreadyExists", "message": "node-00001"})
    server.refuse = lambda body: conflict if body["metadata"]["name"] == "node-00001" else None
    assert await create_nodes(client, 3) == ["node-00000", "node-00001", "node-00002"]


async def test_another_conflict_is_an_error(client: APIClient, server: Server) -> None:
    server.refuse = lambda body: (422, {"reason": "Invalid", "message": "bad name"})
    with pytest.raises(APIError, match=r"^POST /api/v1/nodes: 422 Invalid: bad name$"):
        await create_nodes(client, 100)


async def test_a_client_is_used_inside_its_context(tmp_path: Path) -> None:
    with pytest.raises(LocalError, match=r"^APIClient is used outside of its `async with`$"):
        await APIClient(tmp_path / "kubeconfig").get("/api")
