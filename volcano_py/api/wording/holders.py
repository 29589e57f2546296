"""Which queues hold how much of a resource that others wait for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from volcano_py.api.wording.amounts import amount
from volcano_py.api.wording.summarize import MOST_LISTED, summarize

_NONE: Final = frozenset[str]()


class Holders:
    """The queues that hold one resource. Many messages of a cycle name them, so they are ordered once."""

    def __init__(self, resource: str, parts: Iterable[tuple[str, int]]) -> None:
        """`parts`: name → units, each name once; those without units are left out."""
        self._resource = resource
        self._largest_first = sorted(
            ((name, units) for name, units in parts if units), key=lambda part: (-part[1], part[0])
        )
        self._names = frozenset(name for name, _ in self._largest_first)

    def summary(self, left_out: Collection[str] = _NONE) -> str:
        """`train: 20 cpu, web: 4 cpu, and 2 more queues`, the most first; without the names in `left_out`."""
        candidates = self._largest_first[: MOST_LISTED + len(left_out)]
        parts = [f"{name}: {amount(self._resource, units)}" for name, units in candidates if name not in left_out]
        return summarize(parts, total=len(self._names) - len(self._names.intersection(left_out)), noun="queue")
