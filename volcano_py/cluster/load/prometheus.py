"""Load from Prometheus, from node-exporter's series: two queries for all nodes together.

Values are means over ten minutes. A series is a node's by its label `node`, else by `instance` (a port behind it is
left out), which must be the node's name, as Volcano wants it.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from typing import Final
from urllib.parse import urlsplit

import aiohttp
import msgspec

from volcano_py.cluster.bounded_body import BodyTooLargeError, bounded_body
from volcano_py.cluster.load.source import LoadError, LoadSettings, LoadSink
from volcano_py.state.nodes.loads import Load

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
        if not _is_url(settings.address):
            raise LoadError(f"address {settings.address!r} is not a URL; write one such as http://prometheus:9090")
        self._url = settings.address.rstrip("/") + "/api/v1/query"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=_trust(settings), limit=2), timeout=aiohttp.ClientTimeout(total=None)
        )

    async def read(self, sink: LoadSink) -> int:
        cpu, memory = await self._ask(CPU_QUERY), await self._ask(MEMORY_QUERY)
        loads = {name: _load(cpu.get(name), memory.get(name)) for name in cpu.keys() | memory.keys()}
        if not loads:
            raise LoadError(f"{self._url} has no series of node-exporter (node_cpu_seconds_total)")
        sink.measured(loads)
        return len(loads)

    async def aclose(self) -> None:
        await self._session.close()

    async def _ask(self, query: str) -> dict[str, tuple[float, float]]:
        """Node → moment (seconds since the epoch) and value."""
        try:
            # aiohttp's own limit may lose a cancellation.
            async with (
                asyncio.timeout(_ANSWERS_WITHIN),
                self._session.get(self._url, params={"query": query}, allow_redirects=False) as response,
            ):
                body = await bounded_body(response, _MOST_BYTES)
                status = response.status
        except BodyTooLargeError as error:
            raise LoadError(f"{response.url} {error}") from error
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise LoadError(f"{self._url} does not answer: {str(error) or type(error).__name__}") from error
        try:
            answer = _decoder.decode(body)
        except msgspec.DecodeError as error:
            raise LoadError(f"{self._url} answered {status}, but not as Prometheus would: {error}") from error
        if answer.status != "success":
            raise LoadError(f"{self._url} answered {status}: {answer.error[:_LONGEST_ERROR]}")
        return _by_node(answer.data)


def _is_url(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, or a port that is none
        return False


def _by_node(data: _Data) -> dict[str, tuple[float, float]]:
    """What cannot be a load (no number, no node) is left out."""
    found: dict[str, tuple[float, float]] = {}
    for series in data.result:
        name = series.metric.get("node") or series.metric.get("instance", "").partition(":")[0]
        try:
            value = float(series.value[1])
        except ValueError:
            continue
        if name and math.isfinite(value):
            found[name] = (series.value[0], max(value, 0.0))
    return found


def _load(cpu: tuple[float, float] | None, memory: tuple[float, float] | None) -> Load:
    """The older of both moments is that of the whole."""
    moments = [each[0] for each in (cpu, memory) if each is not None]
    return Load(None if cpu is None else cpu[1], None if memory is None else memory[1], min(moments))


def _trust(settings: LoadSettings) -> ssl.SSLContext | bool:
    """For https only."""
    if settings.insecure:
        return False
    if not settings.ca_file:
        return True
    try:
        return ssl.create_default_context(cafile=settings.ca_file)
    except OSError as error:
        raise LoadError(f"tls.caFile {settings.ca_file}: {error.strerror or error}") from error
