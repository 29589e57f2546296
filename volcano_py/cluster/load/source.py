"""What all sources of load have in common, and which one the configuration names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec

from volcano_py.api.go_values import parse_bool, parse_duration
from volcano_py.api.objects import NodeMetrics
from volcano_py.state.nodes.loads import Load

PROMETHEUS: Final = "prometheus"
METRICS_SERVER: Final = "metrics-server"
PROMETHEUS_ADAPTOR: Final = frozenset({"prometheus_adaptor", "prometheus_adapt"})
"""Its name in Volcano's code, and that in its documentation."""
ELASTICSEARCH: Final = "elasticsearch"
_SOURCES: Final = frozenset({PROMETHEUS, METRICS_SERVER, ELASTICSEARCH, *PROMETHEUS_ADAPTOR})
_AT_AN_ADDRESS: Final = frozenset({PROMETHEUS, ELASTICSEARCH})

DEFAULT_INTERVAL: Final = 30.0
"""Seconds between two questions (Volcano's)."""
DEFAULT_INDEX: Final = "metricbeat-*"
DEFAULT_NODE_FIELD: Final = "host.hostname"
_SHORTEST_INTERVAL: Final = 1.0


class LoadError(RuntimeError):
    """The load of nodes could not be read; the text says why."""


class LoadSink(Protocol):
    """The keeper of the cluster's state."""

    def measured(self, loads: Mapping[str, Load]) -> None:
        """Parts of nodes in use, by name."""

    def replace(self, kind: str, objects: Sequence[NodeMetrics]) -> None:
        """All `NodeMetrics` there are."""


class LoadSource(Protocol):
    """A source of measurements of nodes."""

    async def read(self, sink: LoadSink) -> int:
        """Ask once and hand the answer on; the number of nodes in it.

        Raises:
            LoadError: there was no answer, or none that can be used.
        """

    async def aclose(self) -> None:
        """Close connections."""


def part_in_use(value: float | None) -> float | None:
    """The part of a node that was measured; None for what cannot be one."""
    return max(value, 0.0) if value is not None and math.isfinite(value) else None


class Login(msgspec.Struct, frozen=True):
    """A name and a password, which nothing shows."""

    name: str
    password: str

    def __repr__(self) -> str:
        return f"Login({self.name!r}, ***)"


class LoadSettings(msgspec.Struct, frozen=True):
    """The `metrics` section of the configuration, as far as it is understood."""

    type: str
    address: str = ""
    interval: float = DEFAULT_INTERVAL
    insecure: bool = False
    """Take any certificate (`tls.insecureSkipVerify`)."""
    ca_file: str = ""
    """Authorities to trust in addition to the system's (`tls.caFile`)."""
    index: str = ""
    """Elasticsearch: the indices with the documents of Metricbeat."""
    node_field: str = ""
    """Elasticsearch: the field with the name of the node."""
    login: Login | None = None

    @classmethod
    def of(cls, section: Mapping[str, str]) -> LoadSettings | None:
        """None when no load is read: no source, an unknown one, or no address. `config check` reports these."""
        kind, address = section.get("type", ""), section.get("address", "")
        if kind not in _SOURCES or (kind in _AT_AN_ADDRESS and not address):
            return None
        return cls(
            type=kind,
            address=address,
            interval=_interval(section.get("interval", "")),
            insecure=_is_true(section.get("tls.insecureSkipVerify", "")),
            ca_file=section.get("tls.caFile", ""),
            **(_of_elasticsearch(section) if kind == ELASTICSEARCH else {}),
        )


def _of_elasticsearch(section: Mapping[str, str]) -> dict[str, Any]:
    name, password = section.get("elasticsearch.username", ""), section.get("elasticsearch.password", "")
    return {
        "index": section.get("elasticsearch.index", "") or DEFAULT_INDEX,
        "node_field": section.get("elasticsearch.hostnameFieldName", "") or DEFAULT_NODE_FIELD,
        "login": Login(name, password) if name or password else None,
    }


def _interval(text: str) -> float:
    """Seconds; what the configuration reader has refused does not get here."""
    seconds = parse_duration(text).total_seconds() if text else DEFAULT_INTERVAL
    return max(seconds, _SHORTEST_INTERVAL)


def _is_true(text: str) -> bool:
    try:
        return parse_bool(text)
    except ValueError:
        return False


Part = tuple[float, float]
"""When it was measured, in seconds since the epoch, and the part of a node in use."""


def joined(cpu: Mapping[str, Part], memory: Mapping[str, Part]) -> dict[str, Load]:
    """Node → both of its parts. The older of both moments is that of the whole."""
    return {name: _load(cpu.get(name), memory.get(name)) for name in cpu.keys() | memory.keys()}


def _load(cpu: Part | None, memory: Part | None) -> Load:
    moments = [each[0] for each in (cpu, memory) if each is not None]
    return Load(None if cpu is None else cpu[1], None if memory is None else memory[1], min(moments))
