"""Probes of JobFlows: pods that are real servers on this machine's own addresses."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest
from aiohttp import web

from tests.support.connections.ports import silent_port
from tests.unit.cluster.fakes import PATIENCE
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.jobs.flows.plan import PodProbe
from volcano_py.operator.jobs import flow_probes
from volcano_py.operator.jobs.flow_probes import PodProber

pytestmark = pytest.mark.real_time

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Api:
    """Lists pods: (address, phase) each."""

    def __init__(self, *pods: tuple[str, str]) -> None:
        self.pods = pods
        self.queries: list[Any] = []

    async def get(self, path: ApiPath, params: Any = None) -> bytes:
        self.queries.append((str(path), params))
        return orjson.dumps({"items": [{"status": {"podIP": ip, "phase": phase}} for ip, phase in self.pods]})

    async def post(self, *_: Any) -> bytes:
        raise AssertionError("probes only read")

    patch = delete = post


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine may take longer than a pod is given."""
    monkeypatch.setattr(flow_probes, "_ANSWER_WITHIN", PATIENCE)


HERE = ("127.0.0.1", "Running")
ALSO_HERE = ("127.0.0.2", "Running")  # all of 127.0.0.0/8 is this machine; where it is not, nothing listens there


@asynccontextmanager
async def serving(handler: Handler, address: str = "127.0.0.1") -> AsyncIterator[int]:
    """A server; its port."""
    runner = web.ServerRunner(web.Server(handler))  # type: ignore[arg-type]
    await runner.setup()
    await web.TCPSite(runner, address, 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def answering(status: int, seen: list[web.BaseRequest] | None = None, **headers: str) -> Handler:
    async def handler(request: web.Request) -> web.Response:
        if seen is not None:
            seen.append(request)
        return web.Response(status=status, headers=headers)

    return handler


async def holds(api: Api, port: int, path: str | None = "/", *, needed: int = 1, **more: Any) -> bool:
    return await PodProber(api).holds("ns", PodProbe("f-a", "serve", needed, port, path, **more))


@pytest.mark.parametrize(("status", "expected"), [(200, True), (204, True), (399, True), (404, False), (500, False)])
async def test_an_answer_from_200_to_399_is_good(status: int, expected: bool) -> None:
    async with serving(answering(status)) as port:
        assert await holds(Api(HERE), port) is expected


async def test_the_request_is_as_the_flow_says() -> None:
    seen: list[web.BaseRequest] = []
    async with serving(answering(200, seen)) as port:
        assert await holds(Api(HERE), port, "ready/now?deep=1&x=a b", header=("Host", "inner"))
    (request,) = seen
    assert (request.method, request.path, dict(request.query)) == ("GET", "/ready/now", {"deep": "1", "x": "a b"})
    assert request.headers["Host"] == "inner"


@pytest.mark.parametrize("path", ["//127.0.0.1:1/x", "@127.0.0.1:1/", "/\r\nX: y", "http://127.0.0.1:1/"])
async def test_a_path_leads_nowhere_but_to_the_pod(path: str) -> None:
    seen: list[web.BaseRequest] = []
    async with serving(answering(200, seen)) as port:
        assert await holds(Api(HERE), port, path)
    assert "X" not in seen[0].headers


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    seen: list[web.BaseRequest] = []
    async with serving(answering(302, seen, Location="/elsewhere")) as port:
        assert await holds(Api(HERE), port)
    assert len(seen) == 1


@pytest.mark.parametrize(
    "header", [("Bad Name", "x"), ("X", "a\r\nY: b"), ("", ""), ("X: y", "z"), ("Content-Length", "5")]
)
async def test_an_invalid_header_is_not_sent(header: tuple[str, str]) -> None:
    seen: list[web.BaseRequest] = []
    async with serving(answering(200, seen)) as port:
        assert not await holds(Api(HERE), port, header=header)
    assert seen == []


async def test_a_pod_that_does_not_answer_in_time_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:  # takes connections, and that is all
        port = server.getsockname()[1]
        assert await holds(Api(HERE), port, None)
        monkeypatch.setattr(flow_probes, "_ANSWER_WITHIN", 0.05)
        assert not await holds(Api(HERE), port)


async def test_a_port_that_takes_connections_is_enough_for_tcp() -> None:
    async with serving(answering(500)) as port:
        assert await holds(Api(HERE), port, None)
    with silent_port() as port:
        assert not await holds(Api(HERE), port, None)


@pytest.mark.parametrize("path", [None, "/"])
@pytest.mark.parametrize("port", [-1, 65536])
async def test_a_port_that_cannot_be_one_does_not_answer(port: int, path: str | None) -> None:
    assert not await holds(Api(HERE), port, path)


@pytest.mark.parametrize(
    ("pods", "needed", "expected"),
    [
        ((HERE, ALSO_HERE), 1, True),  # one of two is enough
        ((HERE, ALSO_HERE), 2, False),
        ((HERE,), 2, False),
        ((), 0, False),  # no pod has answered
        ((HERE,), 0, True),
        ((("127.0.0.1", "Pending"),), 1, False),
        ((("", "Running"),), 1, False),
    ],
)
async def test_as_many_pods_must_answer_as_are_needed(
    pods: tuple[tuple[str, str], ...], needed: int, expected: bool
) -> None:
    async with serving(answering(200)) as port:
        assert await holds(Api(*pods), port, needed=needed) is expected


async def test_of_more_pods_than_are_asked_those_that_are_must_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_probes, "_MOST_PODS", 1)
    async with serving(answering(200)) as port:
        assert await holds(Api(HERE), port, needed=600)
        assert not await holds(Api(), port, needed=600)
    with silent_port() as port:
        assert not await holds(Api(HERE), port, needed=600)


async def test_the_pods_are_those_of_the_task_that_run() -> None:
    api = Api()
    await holds(api, 80)
    await PodProber(api).holds("ns", PodProbe("f-a", "", 1, 80))
    (path, one), (_, all_of_them) = api.queries
    assert path == "/api/v1/namespaces/ns/pods"
    assert one["labelSelector"] == "volcano.sh/job-name=f-a,volcano.sh/task-spec=serve"
    assert all_of_them["labelSelector"] == "volcano.sh/job-name=f-a"
    assert one["fieldSelector"] == all_of_them["fieldSelector"] == "status.phase=Running"
