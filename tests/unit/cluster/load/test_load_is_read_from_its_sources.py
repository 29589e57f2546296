"""Prometheus and metrics-server: what is asked, what is made of the answers, and what is said when there are none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.support.connections.late_cancellation import cancel_as_time_ends, silent_server
from tests.unit.cluster.fakes import FakeApi, page, refusal
from tests.unit.cluster.load.kept import Kept, KeptObjects
from volcano_py.api.objects import NodeMetrics
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.load import prometheus as prometheus_module
from volcano_py.cluster.load.metrics_server import PATH, MetricsServer
from volcano_py.cluster.load.prometheus import CPU_QUERY, MEMORY_QUERY, Prometheus
from volcano_py.cluster.load.source import LoadError, LoadSettings, Login
from volcano_py.state.nodes.loads import Load

Answer = Callable[[str], tuple[int, Any]]
"""Query → status and body (an object, or bytes as they are)."""


@asynccontextmanager
async def prometheus(answer: Answer) -> AsyncIterator[str]:
    """A server on a free port; its address."""

    async def query(request: web.Request) -> web.Response:
        status, body = answer(request.query["query"])
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return web.Response(status=status, body=raw, content_type="application/json")

    app = web.Application()
    app.router.add_get("/prefix/api/v1/query", query)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/prefix/"
    finally:
        await runner.cleanup()


def vector(*series: tuple[dict[str, str], float, str]) -> dict[str, Any]:
    """What Prometheus answers to an instant query."""
    result = [{"metric": metric, "value": [moment, value]} for metric, moment, value in series]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


async def read(answer: Answer) -> dict[str, Load]:
    kept = Kept()
    async with prometheus(answer) as address:
        source = Prometheus(LoadSettings("prometheus", address))
        try:
            assert await source.read(kept) == len(kept.loads)
        finally:
            await source.aclose()
    return kept.loads


# -- Prometheus ----------------------------------------------------------------------------------------------------


async def test_two_queries_return_the_load_of_all_nodes() -> None:
    asked: list[str] = []

    def answer(query: str) -> tuple[int, Any]:
        asked.append(query)
        if query == CPU_QUERY:
            return 200, vector(
                ({"instance": "n1:9100"}, 100.5, "0.25"), ({"node": "n2", "instance": "10.0.0.2"}, 100, "1")
            )
        return 200, vector(({"instance": "n1"}, 99.5, "0.75"), ({"instance": "n3"}, 100, "0.5"))

    assert await read(answer) == {
        "n1": Load(0.25, 0.75, 99.5),
        "n2": Load(1.0, None, 100),
        "n3": Load(None, 0.5, 100),
    }
    assert asked == [CPU_QUERY, MEMORY_QUERY]


async def test_what_can_be_no_load_is_left_out() -> None:
    series = [({"instance": "a"}, "NaN"), ({"instance": "b"}, "+Inf"), ({}, "0.5"), ({"instance": "c"}, "x"),
              ({"instance": "d"}, "-0.1"), ({"instance": "e"}, "0.5")]  # fmt: skip
    answer = vector(*((metric, 100.0, value) for metric, value in series))
    assert await read(lambda _query: (200, answer)) == {"d": Load(0.0, 0.0, 100), "e": Load(0.5, 0.5, 100)}


@pytest.mark.parametrize(
    ("status", "body", "reported"),
    [
        pytest.param(400, {"status": "error", "error": "parse error"}, "answered 400: parse error", id="an error"),
        pytest.param(200, b"<html>", "answered 200, but not as Prometheus would", id="no JSON"),
        pytest.param(302, {}, "answered 302, but not as Prometheus would", id="elsewhere"),
        pytest.param(
            200, {"status": "success", "data": {"result": [1]}}, "not as Prometheus would", id="another shape"
        ),
        pytest.param(200, vector(), "has no series of node-exporter", id="nothing"),
        pytest.param(200, b" " * (17 * 2**20), "answered more than 16777216 bytes", id="without end"),
    ],
)
async def test_answers_that_cannot_be_used_are_reported(status: int, body: Any, reported: str) -> None:
    with pytest.raises(LoadError) as refused:
        await read(lambda _query: (status, body))
    assert reported in str(refused.value)
    assert "/prefix/api/v1/query" in str(refused.value)


async def test_a_server_that_is_not_there_is_reported() -> None:
    async with prometheus(lambda _query: (200, vector())) as address:
        gone = address
    source = Prometheus(LoadSettings("prometheus", gone))
    with pytest.raises(LoadError, match="does not answer"):
        await source.read(Kept())
    await source.aclose()


async def test_a_cancellation_is_not_lost_when_the_time_limit_ends_in_the_same_turn() -> None:
    """Prometheus would be asked again forever by a process that ends."""
    async with silent_server() as (address, asked):
        source = Prometheus(LoadSettings("prometheus", address))
        reading = asyncio.create_task(source.read(Kept()))
        await asked.wait()
        await cancel_as_time_ends(reading, prometheus_module._ANSWERS_WITHIN)
        assert reading.cancelled()
        await source.aclose()


async def test_messages_show_no_login() -> None:
    async with prometheus(lambda _query: (400, {"status": "error", "error": "no"})) as address:
        with_login = address.replace("//", "//me:hidden@")
        source = Prometheus(LoadSettings("prometheus", with_login))
        with pytest.raises(LoadError) as refused:
            await source.read(Kept())
        await source.aclose()
    gone = Prometheus(LoadSettings("prometheus", with_login))
    with pytest.raises(LoadError) as missing:
        await gone.read(Kept())
    await gone.aclose()
    with pytest.raises(LoadError) as wrong:
        Prometheus(LoadSettings("prometheus", "ftp://me:hidden@prometheus"))
    for each in (refused, missing, wrong):
        assert "hidden" not in str(each.value)
    assert "/prefix/api/v1/query" in str(refused.value)


@pytest.mark.parametrize(
    "address",
    ["prometheus:9090", "ftp://prometheus", "http://", "/etc/passwd", "http://[p:9090", "http://p:90900", "http://p:a"],
)
async def test_an_address_that_is_not_a_url_is_reported(address: str) -> None:
    with pytest.raises(LoadError, match="write one such as http://prometheus:9090"):
        Prometheus(LoadSettings("prometheus", address))


async def test_a_file_of_authorities_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("no certificate")
    for name in ("ca.crt", "missing"):
        settings = LoadSettings("prometheus", "https://prometheus", ca_file=str(tmp_path / name))
        with pytest.raises(LoadError, match=f"tls.caFile .*{name}"):
            Prometheus(settings)


# -- metrics-server ------------------------------------------------------------------------------------------------


async def test_metrics_server_reports_amounts(api: FakeApi, client: KubernetesClient) -> None:
    item = {"metadata": {"name": "n1"}, "timestamp": "2026-11-21T09:30:00Z", "window": "20s", "usage": {"cpu": "250m"}}
    api.on("GET", PATH, page(1, item))
    kept = KeptObjects()
    assert await MetricsServer(client).read(kept) == 1
    (metrics,) = kept.objects
    assert isinstance(metrics, NodeMetrics)
    assert (metrics.metadata.name, metrics.usage) == ("n1", {"cpu": "250m"})
    assert metrics.timestamp == datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "reported"),
    [(404, "install metrics-server"), (403, "apply manifests/node-load"), (422, "422")],
)
async def test_an_api_server_that_refuses_is_reported(
    api: FakeApi, client: KubernetesClient, status: int, reported: str
) -> None:
    api.on("GET", PATH, refusal(status, "Refused"))
    with pytest.raises(LoadError, match=reported):
        await MetricsServer(client).read(KeptObjects())


# -- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "settings"),
    [
        ({}, None),
        ({"type": "elasticsearch"}, None),
        (
            {"type": "elasticsearch", "address": "http://e"},
            LoadSettings("elasticsearch", "http://e", index="metricbeat-*", node_field="host.hostname"),
        ),
        (
            {
                "type": "elasticsearch",
                "address": "http://e",
                "elasticsearch.index": "beats",
                "elasticsearch.hostnameFieldName": "node",
                "elasticsearch.username": "u",
                "elasticsearch.password": "p",
            },
            LoadSettings("elasticsearch", "http://e", index="beats", node_field="node", login=Login("u", "p")),
        ),
        ({"type": "prometheus_adapt"}, LoadSettings("prometheus_adapt")),
        ({"type": "prometheus"}, None),
        ({"type": "prometheus", "address": "http://p"}, LoadSettings("prometheus", "http://p", 30.0)),
        ({"type": "metrics-server", "interval": "1m30s"}, LoadSettings("metrics-server", "", 90.0)),
        ({"type": "metrics-server", "interval": "1ms"}, LoadSettings("metrics-server", "", 1.0)),
        (
            {"type": "prometheus", "address": "https://p", "tls.insecureSkipVerify": "true", "tls.caFile": "/ca"},
            LoadSettings("prometheus", "https://p", 30.0, insecure=True, ca_file="/ca"),
        ),
    ],
)
def test_the_section_metrics_is_understood(section: dict[str, str], settings: LoadSettings | None) -> None:
    assert LoadSettings.of(section) == settings
