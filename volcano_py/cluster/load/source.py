"""What all sources of load have in common, and which one the configuration names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import msgspec

from volcano_py.api.go_values import parse_bool, parse_duration
from volcano_py.api.objects import NodeMetrics
from volcano_py.state.nodes.loads import Load

PROMETHEUS: Final = "prometheus"
METRICS_SERVER: Final = "metrics-server"

DEFAULT_INTERVAL: Final = 30.0
"""Seconds between two questions (Volcano's)."""
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


class LoadSettings(msgspec.Struct, frozen=True):
    """The `metrics` section of the configuration, as far as it is understood."""

    type: str
    address: str = ""
    interval: float = DEFAULT_INTERVAL
    insecure: bool = False
    """Take any certificate (`tls.insecureSkipVerify`)."""
    ca_file: str = ""
    """Authorities to trust in addition to the system's (`tls.caFile`)."""

    @classmethod
    def of(cls, section: Mapping[str, str]) -> LoadSettings | None:
        """None when no load is read: no source, an unknown one, or no address. `config check` reports these."""
        kind, address = section.get("type", ""), section.get("address", "")
        if kind not in (PROMETHEUS, METRICS_SERVER) or (kind == PROMETHEUS and not address):
            return None
        return cls(
            type=kind,
            address=address,
            interval=_interval(section.get("interval", "")),
            insecure=_is_true(section.get("tls.insecureSkipVerify", "")),
            ca_file=section.get("tls.caFile", ""),
        )


def _interval(text: str) -> float:
    """Seconds; what the configuration reader has refused does not get here."""
    seconds = parse_duration(text).total_seconds() if text else DEFAULT_INTERVAL
    return max(seconds, _SHORTEST_INTERVAL)


def _is_true(text: str) -> bool:
    try:
        return parse_bool(text)
    except ValueError:
        return False
