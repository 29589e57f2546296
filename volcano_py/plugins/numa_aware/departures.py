"""How long pods that have left are still shown as having CPUs. After a minute, their exporter has ended, probably."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from volcano_py.state.numa.topologies import NumaPicture
from volcano_py.state.table.table import NOWHERE

AWAITED_FOR: Final = 60.0
"""Seconds for which an object may be late to show that a pod has left. Exporters look every three seconds; one that has
ended never does."""
_LEFT: Final = "left"


class Departures(msgspec.Struct, frozen=True):
    """
    Attributes:
        silent: nodes whose objects are not expected to show any more CPUs as free.
        awaited_until: when the next node may become one (seconds since the epoch); 0 for never.
    """

    silent: frozenset[str] = frozenset()
    awaited_until: float = 0.0


def departures(memory: dict[str, Any], picture: NumaPicture, now: float) -> Departures:
    """As of `now`. `memory`: that of the plugin, where it is noted since when a pod is known to have left."""
    before: dict[tuple[str, str, str], float] = memory.get(_LEFT, {})
    left: dict[tuple[str, str, str], float] = {}
    for node, rows in picture.holders.items() if picture.has_any_left else ():
        for row, each in zip(rows, picture.nodes[node].shown, strict=True):
            if row == NOWHERE:
                key = node, each.uid, each.key
                left[key] = min(before.get(key, now), now)  # (the clock may have been set back)
    memory[_LEFT] = left
    awaited = [since + AWAITED_FOR for since in left.values() if since > now - AWAITED_FOR]
    silent = frozenset(node for (node, _, _), since in left.items() if since <= now - AWAITED_FOR)
    return Departures(silent, min(awaited, default=0.0))
