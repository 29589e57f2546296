"""What another configuration would have decided, cycle by cycle, on the states that there were."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from volcano_py.record.entries import QueueFigures
from volcano_py.record.replay import Cycle, Encoded


class Comparison:
    """Pods count once, at the first cycle in which either side binds or evicts them.

    The state follows what was recorded. So this says how the other configuration would have decided in each moment of
    the past, not what would have become of the cluster; `what-if` runs a cluster on.
    """

    def __init__(self) -> None:
        self.cycles = 0
        self._recorded: dict[str, dict[str, float]] = {"Bind": {}, "Evict": {}}
        self._decided: dict[str, dict[str, float]] = {"Bind": {}, "Evict": {}}
        self._queues: dict[str, QueueFigures] = {}
        self._pending: dict[str, str] = {}
        self._last: Cycle | None = None

    def take(self, cycle: Cycle) -> None:
        """The next cycle."""
        self.cycles += 1
        _note(self._recorded, cycle.recorded, cycle.now)
        _note(self._decided, cycle.decided, cycle.now)
        self._queues |= cycle.ended.queues
        for name in cycle.ended.no_longer_pending:
            self._pending.pop(name, None)
        self._pending |= {job.name: str(job.reason.value) for job in cycle.ended.pending}
        if cycle.report.actions:
            self._last = cycle

    def found(self) -> dict[str, Any]:
        """As JSON: pods by namespace/name → seconds since the epoch; waits and shares at the end as pairs, first
        recorded, then decided by the other configuration."""
        other = {} if self._last is None else {job.name: str(job.reason.value) for job in self._last.report.pending}
        queues = {} if self._last is None else self._last.report.queues
        return {
            "cycles": self.cycles,
            "boundToo": _only(self._decided, self._recorded, "Bind"),
            "notBound": _only(self._recorded, self._decided, "Bind"),
            "boundAtAnotherTime": self._moved(),
            "evictedToo": _only(self._decided, self._recorded, "Evict"),
            "notEvicted": _only(self._recorded, self._decided, "Evict"),
            "waits": {
                name: [self._pending.get(name, ""), other.get(name, "")]
                for name in sorted(self._pending.keys() | other.keys())
                if self._pending.get(name) != other.get(name)
            },
            "deserved": {
                name: [dict(figures.deserved), dict(queues[name].deserved)]
                for name, figures in sorted(self._queues.items())
                if name in queues and figures.deserved != queues[name].deserved
            },
        }

    def _moved(self) -> dict[str, list[float]]:
        recorded, decided = self._recorded["Bind"], self._decided["Bind"]
        return {pod: [at, decided[pod]] for pod, at in recorded.items() if decided.get(pod, at) != at}


class _Pod(msgspec.Struct, frozen=True):
    namespace: str
    name: str


class _AboutPod(msgspec.Struct, frozen=True):
    pod: _Pod


def _note(known: dict[str, dict[str, float]], effects: Sequence[Encoded], now: float) -> None:
    for kind, text in effects:
        if kind in known:
            pod = msgspec.json.decode(text, type=_AboutPod).pod
            known[kind].setdefault(f"{pod.namespace}/{pod.name}", now)


def _only(ours: dict[str, dict[str, float]], theirs: dict[str, dict[str, float]], kind: str) -> dict[str, float]:
    return {pod: at for pod, at in ours[kind].items() if pod not in theirs[kind]}
