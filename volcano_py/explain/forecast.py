"""When a workload starts, as far as runtimes are declared: the declared ends happen, and the scheduler goes on.

Ends are those that the plugin reservation counts on, too. Time goes from end to end. Where ends are too many, several
happen at once, and those that let the workload start once more in smaller portions. The search begins a little before
the moment at which there is probably room.
"""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, datetime
from math import ceil
from typing import Final

import msgspec
import numpy as np
from msgspec.structs import replace

from volcano_py.api.objects import Pod
from volcano_py.api.report import Amounts
from volcano_py.api.wording.summarize import counted
from volcano_py.explain.history import moment
from volcano_py.explain.model import Forecast
from volcano_py.explain.target import Target, has_started
from volcano_py.explain.world import World
from volcano_py.framework.session import Session
from volcano_py.simulation import CYCLE_SECONDS
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.runtimes import ends, on_nodes

DECLARED_BY: Final = (
    "activeDeadlineSeconds of pods, runningEstimate of Jobs, or the annotation volcano.sh/running-estimate of PodGroups"
)
_UNLESS: Final = "if everything ends as declared and no other work arrives"


class _End(msgspec.Struct, frozen=True):
    """One pod, and when it ends (seconds since the epoch)."""

    at: float
    pod: str


def forecast(world: World, target: Target, before: Amounts | None = None) -> Forecast:
    """The earliest start, as far as runtimes are declared; or why there is none. `before`: what jobs ask for that go
    before the workload; the search is shorter where that is known."""
    running, known = _declared(world)
    undeclared = running - len(known)
    if not running:
        return Forecast(why="no running job would make room by ending")
    if not known:
        return Forecast(why=f"no running pod declares when it ends ({DECLARED_BY})", undeclared=undeclared)
    begun = world.simulation.now
    with world.ahead():
        search = _Search(world, target, len(known), _likely(world, target, before or {}))
        found = search.through(float("inf"))
        after = dict.fromkeys(world.group_of_pod(end.pod) for end in found or ())
    if found is not None:
        at = moment(datetime.fromtimestamp(found[-1].at, UTC))
        why = _UNLESS if found[0].at == found[-1].at else f"at the latest, {_UNLESS}"
        return Forecast(at, round(found[-1].at - begun), tuple(after), why, undeclared)
    if search.left <= 0:
        why = f"it has not started by {moment(datetime.fromtimestamp(search.seen, UTC))}, and no later moment was tried"
    else:
        why = "it does not start even when all pods with a declared end have ended"
        why += f"; {counted(undeclared, 'running pod')} without a declared end" if undeclared else ""
    return Forecast(why=why, undeclared=undeclared)


class _Search:
    """Lets ends happen until the workload has started.

    Attributes:
        left: how many portions may still be tried.
        seen: the last moment that was tried.
    """

    def __init__(self, world: World, target: Target, known: int, likely: int) -> None:
        """There are so many `known` ends; `likely` says after how many of them the workload starts, 0: not known."""
        self._world, self._target = world, target
        self.left, self.seen = world.affordable(least=8, most=48), world.simulation.now
        self._parts = self.left // 3
        """Into how many portions ends are divided each time; each is a cycle or two of the scheduler."""
        self._known: dict[str, float] = {}
        self._most = ceil(known / self._parts)
        fine = ceil(self._most / self._parts**2)
        self._portion = self._next = fine if likely else self._most
        self._stops = self._around(likely, fine) if likely else []
        """Moments up to which ends happen first, whatever the portion."""

    def through(self, last: float) -> list[_End] | None:
        """The ends at the moment at which the workload starts, up to `last`; None when it does not."""
        simulation = self._world.simulation
        while self.left > 0:
            ends = [end for end in self._ends() if end.at <= last]
            if not ends:
                return None
            stop = self._stop(ends)
            now = [end for end in ends if end.at <= stop]
            mark = simulation.mark()
            if self._starts_after(now):
                if now[0].at == now[-1].at:
                    return now
                simulation.back_to(mark)
                self._stops.clear()
                self._portion = self._next = self._most = ceil(len(now) / self._parts)
                found = self.through(stop)
                if found is not None or self.left <= 0:
                    return found or now
        return None

    def _around(self, likely: int, fine: int) -> list[float]:
        """A little before that many ends, just before the moment of the last of them, and that moment: where the guess
        is right, these three are all that is tried."""
        moments = [end.at for end in self._ends()]
        last = moments[likely - 1]
        return [moments[max(likely - fine, 1) - 1], *moments[: bisect_left(moments, last)][-1:], last]

    def _stop(self, ends: list[_End]) -> float:
        while self._stops:
            stop = self._stops.pop(0)
            if stop >= ends[0].at:
                return stop
        at = ends[min(self._portion, len(ends)) - 1].at
        self._portion, self._next = self._next, min(2 * self._next, self._most)
        return at

    def _ends(self) -> list[_End]:
        """Those to come. An end is where it was when it was seen first: one that rests on no start moves with time."""
        found = [_End(self._known.setdefault(pod, at), pod) for pod, at in _declared(self._world)[1].items()]
        return sorted(found, key=lambda end: (end.at, end.pod))

    def _starts_after(self, ends: list[_End]) -> bool:
        world, simulation = self._world, self._world.simulation
        self.left, self.seen = self.left - 1, ends[-1].at
        for end in ends:
            pod = simulation.cluster.get("Pod", end.pod, Pod)
            if pod is not None:
                simulation.cluster.put("Pod", replace(pod, status=replace(pod.status, phase="Succeeded")))
        simulation.now = max(simulation.now, self.seen - CYCLE_SECONDS)
        world.settle(lambda: has_started(world, self._target))
        return has_started(world, self._target)


def _likely(world: World, target: Target, before: Amounts) -> int:
    """After how many ends nodes have room for what goes before the workload and for its pods, in pods of its size; 0
    where that is not known. Nothing but where the search begins follows from it."""
    ssn, job = world.session, world.jobs.get(target.group)
    pending = [] if job is None else [row for row in ssn.tasks_of_row(job.row).tolist() if _waits(ssn, row)]
    if not pending:
        return 0
    ledger, tasks = ssn.ledger, ssn.ledger.tasks
    size = ledger.classes.request[tasks.task_class[pending[0]]]
    counted_in = np.flatnonzero(size)
    asked = np.array([before.get(ledger.axis.names[place], 0) for place in counted_in.tolist()])
    needed = len(pending) + int(np.ceil(asked / size[counted_in]).max(initial=0))
    rows = on_nodes(ledger)
    moments = ends(ledger, rows, ssn.now)
    rows = rows[np.argsort(moments, kind="stable")][: np.isfinite(moments).sum()]
    nodes, leave = tasks.node[rows], ledger.classes.request[tasks.task_class[rows]][:, counted_in]
    idle = ledger.nodes.future_idle()[:, counted_in]

    def room(count: int) -> int:
        free = idle.copy()
        np.add.at(free, nodes[:count], leave[:count])
        fits = (free // size[counted_in]).min(axis=1)
        return int(fits[ledger.nodes.present].clip(min=0).sum())

    found = bisect_left(range(len(rows)), needed, key=room)
    return found if found < len(rows) else 0


def _waits(ssn: Session, row: int) -> bool:
    return bool(ssn.ledger.tasks.status[row] == TaskStatus.PENDING)


def _declared(world: World) -> tuple[int, dict[str, float]]:
    """How many pods are on nodes, and the ends of those that declare one: namespace/name → seconds since the epoch."""
    snapshot = world.simulation.state.snapshot(world.simulation.now)
    rows = on_nodes(snapshot.ledger)
    moments = ends(snapshot.ledger, rows, snapshot.now)
    declared = np.flatnonzero(moments < np.inf)
    tasks = zip(rows[declared].tolist(), moments[declared].tolist(), strict=True)
    return len(rows), {task.key: at for row, at in tasks if (task := snapshot.tasks[row]) is not None}
