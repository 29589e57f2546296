"""Load from Prometheus, from node-exporter's series: two queries for all nodes together.

Values are means over ten minutes. A series is a node's by its label `node`, else by `instance` (a port behind it is
left out), which must be the node's name, as Volcano wants it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from volcano_py.cluster.load.source import LoadError, LoadSettings, LoadSink, Part, joined, part_in_use
from volcano_py.cluster.load.web import Web

CPU_QUERY: Final = (
    'avg_over_time((1 - avg by (instance, node) (rate(node_cpu_seconds_total{mode="idle"}[5m])))[10m:30s])'
)
MEMORY_QUERY: Final = (
    "avg_over_time((1 - max by (instance, node) "
    "(node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes))[10m:30s])"
)

_ANSWERS_WITHIN: Final = 10.0  # seconds
# 10,000 nodes take about 2 MB. What answers more is no Prometheus that we know of.
_MOST_BYTES: Final = 16 * 1024 * 1024
_LONGEST_ERROR: Final = 200  # characters of a foreign error


class _Series(msgspec.Struct):
    metric: dict[str, str]
    value: tuple[float, str]


class _Data(msgspec.Struct, rename="camel"):
    result_type: str = ""
    result: list[_Series] = []


class _Answer(msgspec.Struct, rename="camel"):
    status: str
    data: _Data = msgspec.field(default_factory=_Data)
    error: str = ""


_decoder = msgspec.json.Decoder(_Answer)


class Prometheus:
    """A `LoadSource`. Must be made on the loop that uses it.

    Raises:
        LoadError: the address is no URL, or the file of authorities cannot be used.
    """

    def __init__(self, settings: LoadSettings) -> None:
        self._web = Web(
            settings,
            "/api/v1/query",
            example="http://prometheus:9090",
            within=_ANSWERS_WITHIN,
            most_bytes=_MOST_BYTES,
        )

    async def read(self, sink: LoadSink) -> int:
        loads = joined(await self._ask(CPU_QUERY), await self._ask(MEMORY_QUERY))
        if not loads:
            raise LoadError(f"{self._web.shown} has no series of node-exporter (node_cpu_seconds_total)")
        sink.measured(loads)
        return len(loads)

    async def aclose(self) -> None:
        await self._web.aclose()

    async def _ask(self, query: str) -> dict[str, Part]:
        status, body = await self._web.ask("GET", params={"query": query})
        try:
            answer = _decoder.decode(body)
        except msgspec.DecodeError as error:
            raise LoadError(f"{self._web.shown} answered {status}, but not as Prometheus would: {error}") from error
        if answer.status != "success":
            raise LoadError(f"{self._web.shown} answered {status}: {answer.error[:_LONGEST_ERROR]}")
        return _by_node(answer.data)


def _by_node(data: _Data) -> dict[str, Part]:
    """What cannot be a load (no number, no node) is left out."""
    found: dict[str, Part] = {}
    for series in data.result:
        name = series.metric.get("node") or series.metric.get("instance", "").partition(":")[0]
        try:
            part = part_in_use(float(series.value[1]))
        except ValueError:
            continue
        if name and part is not None:
            found[name] = (series.value[0], part)
    return found
