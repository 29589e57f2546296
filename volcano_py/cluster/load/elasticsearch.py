"""Load from Elasticsearch, from the documents of Metricbeat: averages over ten minutes, for all nodes page by page.

The load of a node is as old as its newest document.
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import quote

import msgspec

from volcano_py.cluster.load.source import LoadError, LoadSettings, LoadSink, part_in_use
from volcano_py.cluster.load.web import Web
from volcano_py.state.nodes.loads import Load

CPU_FIELD: Final = "host.cpu.usage"
MEMORY_FIELD: Final = "system.memory.actual.used.pct"
PAGE: Final = 1_000
"""Nodes in one answer: Elasticsearch allows 65,536 buckets, and one takes some 300 bytes."""
_MOST_PAGES: Final = 100
_ANSWERS_WITHIN: Final = 60.0  # seconds
_MOST_BYTES: Final = 4 * 1024 * 1024
_LONGEST_ERROR: Final = 200  # characters of a foreign error
_INDEX: Final = re.compile(r"[^\s/?#\\\"<>|]{1,255}")


class _Value(msgspec.Struct):
    value: float | None = None


class _Bucket(msgspec.Struct):
    key: dict[str, str | int | float | bool | None]
    cpu: _Value = msgspec.field(default_factory=_Value)
    mem: _Value = msgspec.field(default_factory=_Value)
    newest: _Value = msgspec.field(default_factory=_Value)


class _Nodes(msgspec.Struct):
    buckets: list[_Bucket] = []
    after_key: dict[str, Any] | None = None


class _Aggregations(msgspec.Struct):
    nodes: _Nodes = msgspec.field(default_factory=_Nodes)


class _Cause(msgspec.Struct):
    reason: str | None = ""


class _Answer(msgspec.Struct):
    aggregations: _Aggregations | None = None
    error: _Cause | str | None = None
    timed_out: bool = False


_decoder = msgspec.json.Decoder(_Answer)


class Elasticsearch:
    """A `LoadSource`. Must be made on the loop that uses it.

    Raises:
        LoadError: the address is no URL, the name of the index cannot be one, or the file of authorities cannot be
            used.
    """

    def __init__(self, settings: LoadSettings) -> None:
        if not _INDEX.fullmatch(settings.index) or settings.index.startswith((".", "_")):
            raise LoadError(f"elasticsearch.index {settings.index[:_LONGEST_ERROR]!r} is not the name of an index")
        self._field = settings.node_field
        self._web = Web(
            settings,
            f"/{quote(settings.index, safe='*,-')}/_search",
            example="https://elasticsearch:9200",
            within=_ANSWERS_WITHIN,
            most_bytes=_MOST_BYTES,
        )

    async def read(self, sink: LoadSink) -> int:
        loads: dict[str, Load] = {}
        after: dict[str, Any] | None = None
        for _ in range(_MOST_PAGES):
            page = await self._page(after)
            loads.update(_loads(page.buckets))
            after = page.after_key
            if after is None or len(page.buckets) < PAGE:
                break
        if not loads:
            raise LoadError(
                f"{self._web.shown} has no load of the last ten minutes by {self._field}: {CPU_FIELD} and "
                f"{MEMORY_FIELD} come from Metricbeat's module system; check elasticsearch.index and "
                "elasticsearch.hostnameFieldName"
            )
        sink.measured(loads)
        return len(loads)

    async def aclose(self) -> None:
        await self._web.aclose()

    async def _page(self, after: dict[str, Any] | None) -> _Nodes:
        status, body = await self._web.ask("POST", json=query(self._field, after))
        if status in (401, 403):
            raise LoadError(
                f"{self._web.shown} answered {status}: the login may not search it; check elasticsearch.username and "
                "elasticsearch.password"
            )
        try:
            answer = _decoder.decode(body)
        except msgspec.DecodeError as error:
            raise LoadError(f"{self._web.shown} answered {status}, but not as Elasticsearch would: {error}") from error
        if answer.error is not None or answer.aggregations is None:
            why = answer.error if isinstance(answer.error, str) else answer.error.reason if answer.error else None
            raise LoadError(f"{self._web.shown} answered {status}: {(why or 'no aggregations')[:_LONGEST_ERROR]}")
        if answer.timed_out:
            raise LoadError(f"{self._web.shown} answered only in part, because the search took too long")
        return answer.aggregations.nodes


def query(node_field: str, after: dict[str, Any] | None) -> dict[str, Any]:
    """The body of a search for the load by `node_field`; `after`: the key at which the page before ended."""
    composite: dict[str, Any] = {"size": PAGE, "sources": [{"node": {"terms": {"field": node_field}}}]}
    if after is not None:
        composite["after"] = after
    averages = {
        "cpu": {"avg": {"field": CPU_FIELD}},
        "mem": {"avg": {"field": MEMORY_FIELD}},
        "newest": {"max": {"field": "@timestamp"}},
    }
    return {
        "size": 0,
        "query": {"range": {"@timestamp": {"gte": "now-10m", "lt": "now"}}},
        "aggs": {"nodes": {"composite": composite, "aggs": averages}},
    }


def _loads(buckets: list[_Bucket]) -> dict[str, Load]:
    """What cannot be a load is left out."""
    found: dict[str, Load] = {}
    for bucket in buckets:
        name, newest = bucket.key.get("node"), bucket.newest.value
        cpu, memory = part_in_use(bucket.cpu.value), part_in_use(bucket.mem.value)
        if isinstance(name, str) and name and newest is not None and (cpu is not None or memory is not None):
            found[name] = Load(cpu, memory, newest / 1000)
    return found
