"""Elasticsearch: what is searched, page by page, and what is said without an answer. The password is never shown."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from tests.unit.cluster.load.kept import Kept
from volcano_py.cluster.load import elasticsearch as module
from volcano_py.cluster.load.elasticsearch import Elasticsearch, query
from volcano_py.cluster.load.source import LoadError, LoadSettings, Login
from volcano_py.state.nodes.loads import Load

Answer = Callable[[dict[str, Any]], tuple[int, Any]]
LOGIN = Login("reader", "hunter2")


class Server:
    """Answers searches, and remembers their paths and logins."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[dict[str, Any]] = []

    async def search(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append((request.raw_path, request.headers.get("Authorization", "")))
        self.bodies.append(body)
        status, answer = self.answer(body)
        raw = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return web.Response(status=status, body=raw, content_type="application/json")


@asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[tuple[Server, str]]:
    server, app = Server(answer), web.Application()
    app.router.add_post("/prefix/{index}/_search", server.search)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield server, f"http://127.0.0.1:{runner.addresses[0][1]}/prefix/"
    finally:
        await runner.cleanup()


async def read(answer: Answer, **fields: Any) -> tuple[Server, dict[str, Load]]:
    kept = Kept()
    async with serving(answer) as (server, address):
        given = {"index": "metricbeat-*", "node_field": "host.hostname", "login": LOGIN, **fields}
        source = Elasticsearch(LoadSettings("elasticsearch", address, **given))
        try:
            assert await source.read(kept) == len(kept.loads)
        finally:
            await source.aclose()
    return server, kept.loads


def bucket(name: Any, cpu: float | None = 0.25, mem: float | None = 0.5, newest: float | None = 1e12) -> Any:
    values = {"cpu": {"value": cpu}, "mem": {"value": mem}, "newest": {"value": newest}}
    return {"key": {"node": name}, "doc_count": 60, **values}


def page(*buckets: Any, after: str | None = None) -> dict[str, Any]:
    nodes: dict[str, Any] = {"buckets": list(buckets)}
    return {"took": 3, "aggregations": {"nodes": nodes | ({} if after is None else {"after_key": {"node": after}})}}


async def test_one_search_returns_the_load_of_all_nodes() -> None:
    server, loads = await read(lambda _body: (200, page(bucket("n1"), bucket("n2", 0.1, None, 2e12))))
    assert loads == {"n1": Load(0.25, 0.5, 1e9), "n2": Load(0.1, None, 2e9)}
    login = "Basic " + base64.b64encode(b"reader:hunter2").decode()
    assert server.asked == [("/prefix/metricbeat-*/_search", login)]
    assert server.bodies == [query("host.hostname", None)]
    assert server.bodies[0]["query"] == {"range": {"@timestamp": {"gte": "now-10m", "lt": "now"}}}


async def test_without_a_login_none_is_sent() -> None:
    server, _ = await read(lambda _body: (200, page(bucket("n1"))), login=None, index="beats,other")
    assert server.asked == [("/prefix/beats,other/_search", "")]


async def test_more_nodes_than_a_page_has_are_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 2)
    names = [f"n{number}" for number in range(5)]

    def answer(body: dict[str, Any]) -> tuple[int, Any]:
        after = body["aggs"]["nodes"]["composite"].get("after", {"node": ""})["node"]
        left = [name for name in names if name > after][:2]
        return 200, page(*map(bucket, left), after=left[-1] if left else None)

    server, loads = await read(answer)
    assert sorted(loads) == names
    assert len(server.bodies) == 3


async def test_pages_without_end_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAGE", 1)
    server, loads = await read(lambda _body: (200, page(bucket("n1"), after="n1")))
    assert (list(loads), len(server.bodies)) == (["n1"], 100)


async def test_what_can_be_no_load_is_left_out() -> None:
    odd = [bucket("a", None, None), bucket("b", newest=None), bucket(7), bucket(""), bucket("c", -0.1, 0.2)]
    _, loads = await read(lambda _body: (200, page(*odd)))
    assert loads == {"c": Load(0.0, 0.2, 1e9)}


@pytest.mark.parametrize(
    ("status", "body", "reported"),
    [
        (401, {"error": {"reason": "no hunter2"}, "status": 401}, "check elasticsearch.username and elasticsearch"),
        (403, b"", "answered 403: the login may not search it"),
        (404, {"error": {"reason": "no such index [x]"}, "status": 404}, r"answered 404: no such index \[x\]"),
        (400, {"error": "bad request", "status": 400}, "answered 400: bad request"),
        (200, b"<html>", "answered 200, but not as Elasticsearch would"),
        (200, {"took": 1}, "answered 200: no aggregations"),
        (200, page(bucket("n1")) | {"timed_out": True}, "answered only in part, because the search took too long"),
        (200, page(), "has no load of the last ten minutes by host.hostname"),
        (302, b"", "answered 302, but not as Elasticsearch would"),
        (200, b" " * (5 * 2**20), "answered more than 4194304 bytes"),
    ],
)
async def test_answers_that_cannot_be_used_are_reported_without_the_password(
    status: int, body: Any, reported: str
) -> None:
    with pytest.raises(LoadError, match=reported) as refused:
        await read(lambda _body: (status, body))
    assert "hunter2" not in str(refused.value)
    assert "/prefix/metricbeat-*/_search" in str(refused.value)


async def test_settings_that_cannot_be_used_are_reported() -> None:
    with pytest.raises(LoadError, match="is not a URL; write one such as https://elasticsearch:9200"):
        Elasticsearch(LoadSettings("elasticsearch", "elasticsearch:9200", index="x", node_field="n"))
    with pytest.raises(LoadError, match="address has a login, and so has elasticsearch"):
        Elasticsearch(LoadSettings("elasticsearch", "http://me:x@e", index="x", node_field="n", login=LOGIN))
    for path in ("no/such/file", "no\0path"):
        with pytest.raises(LoadError, match=r"tls\.caFile no"):
            Elasticsearch(LoadSettings("elasticsearch", "https://e", index="x", node_field="n", ca_file=path))
    for index in ("", "a/b", "_all", ".x", "a b", "a?b"):
        with pytest.raises(LoadError, match=r"elasticsearch\.index .* is not the name of an index"):
            Elasticsearch(LoadSettings("elasticsearch", "http://e", index=index, node_field="n"))


def test_settings_do_not_show_the_password() -> None:
    assert "hunter2" not in repr(LoadSettings("elasticsearch", "http://e", login=LOGIN))
