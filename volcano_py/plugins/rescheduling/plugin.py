"""rescheduling: move pods from nodes with a high measured load to nodes with a low one.

Once in an interval, at the action shuffle, the strategy lowNodeUtilization compares the measured load of nodes with its
thresholds. From nodes above a target it evicts pods, the least important first, as long as nodes with a low load can
take what these pods request. A pod goes only if something will create it again, if its queue will take it again, if
such a node takes it at this moment by all predicates, and if its gang keeps its minimum. The `metrics` section of the
configuration says where measurements come from.

Nothing is decided by a measurement that does not show an earlier eviction from the node yet. When the process starts,
it is not known when pods were moved last: if any pod is new or is leaving, the first run waits for an interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

import numpy as np

from volcano_py.api.wording.summarize import counted
from volcano_py.framework.eviction.elsewhere import Elsewhere, elsewhere
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.plugins.amounts.measured_load import MeasuredLoad
from volcano_py.plugins.rescheduling.arguments import ReschedulingArguments
from volcano_py.plugins.rescheduling.balance import Amounts, Balance
from volcano_py.plugins.rescheduling.movable import Movable, Stays, summary
from volcano_py.plugins.rescheduling.strategies import LowNodeUtilization
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import CPU, MEMORY
from volcano_py.state.table.table import Rows

_RAN_AT: Final = "ran at"
_LEFT_AT: Final = "left at"
"""Node → when pods were last evicted from it."""
_NAMES: Final = ("CPU", "memory")
_ALL: Final = 100
_MOST_LOOKED_AT: Final = 10_000
"""Pods in one run; each takes some 40 µs if it may not go."""


class Rescheduling(Plugin):
    """See the module."""

    name = "rescheduling"
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = ReschedulingArguments

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn

    def victim_tasks(self, running: Rows) -> Mapping[int, str]:
        strategy: LowNodeUtilization | None = self.arguments.strategy
        if strategy is None or not self._is_due():
            return {}
        load = MeasuredLoad.of(self._ssn)
        if not np.isfinite(load.moments).any():
            self._ssn.findings.remark(self.name, "the load of no node was measured within the last five minutes")
            return {}
        run = _Run(self._ssn, strategy, load, self.memory.get(_LEFT_AT, {}))
        victims = run.victims(running, self.arguments.most_victims)
        self._ran(run)
        self._ssn.findings.remark(self.name, "" if victims else run.why_nothing())
        return victims

    # -- when ------------------------------------------------------------------------------------------------------

    def _is_due(self) -> bool:
        """If not, a cycle is requested for then. No simulation waits for that: its loads stay as they are."""
        now, interval = self._ssn.now, self.arguments.interval.total_seconds()
        if _RAN_AT not in self.memory:
            if not _is_anything_new(self._ssn, now - interval):
                return True
            self.memory[_RAN_AT] = now
            self._ssn.findings.remark(self.name, "pods are new or leaving, so the first run is an interval later")
        due = self.memory[_RAN_AT] + interval
        if now < due:
            self._ssn.wakeups.recheck_at(due)
        return bool(now >= due)

    def _ran(self, run: _Run) -> None:
        now, interval = self._ssn.now, self.arguments.interval.total_seconds()
        self.memory[_RAN_AT] = now
        self.memory[_LEFT_AT] = {**run.not_measured_since, **dict.fromkeys(run.left, now)}
        self._ssn.wakeups.recheck_at(now + interval)


class _Run:
    """One run. `left_at`: node → when pods were last evicted from it.

    Attributes:
        left: nodes from which pods are evicted now.
        not_measured_since: of `left_at`, the nodes whose load does not show yet what was evicted.
    """

    def __init__(
        self, ssn: Session, strategy: LowNodeUtilization, load: MeasuredLoad, left_at: Mapping[str, float]
    ) -> None:
        self._ssn = ssn
        self._strategy = strategy
        self._load = load
        nodes = ssn.ledger.nodes
        capacity: Amounts = nodes.allocatable[: nodes.size, [CPU, MEMORY]]
        cordoned = np.array([node.unschedulable for node in ssn.snapshot.nodes], dtype=np.bool_)
        tasks = ssn.ledger.tasks
        self._balance = Balance(
            strategy,
            load.parts,
            capacity,
            coming=self._requests(load.without(ssn)),
            leaving=self._requests(np.flatnonzero((tasks.status == TaskStatus.RELEASING) & (tasks.node >= 0))),
            schedulable=nodes.present & ~cordoned,
        )
        names = [node.name for node in ssn.snapshot.nodes]
        self.not_measured_since = {
            name: when
            for name, when in left_at.items()
            if (row := ssn.nodes.rows.get(name)) is not None and load.moments[row] <= when
        }
        self._waits = np.array([name in self.not_measured_since for name in names], dtype=np.bool_)
        self._names = names
        self.left: set[str] = set()
        self._stay: Counter[Stays] = Counter()
        self._protected: dict[Plugin, list[int]] = {}

    def _requests(self, rows: Rows) -> Amounts:
        """[N, 2] what the pods on each node request together."""
        tasks = self._ssn.ledger.tasks
        together: Amounts = np.zeros((self._ssn.ledger.nodes.size, 2), dtype=np.int64)
        requests = self._ssn.ledger.classes.request[tasks.task_class[rows]][:, [CPU, MEMORY]]
        np.add.at(together, tasks.node[rows], requests)
        return together

    def victims(self, running: Rows, most: int) -> dict[int, str]:
        """At most so many of the pods, each with the reason."""
        balance, chosen = self._balance, dict[int, str]()
        sources = np.flatnonzero(balance.high & ~self._waits)
        if not len(sources) or not balance.low.any() or balance.is_spent():
            return chosen
        movable = Movable(self._ssn, running)
        with elsewhere(self._ssn, balance.low) as places:
            for row, node in islice(self._in_order(sources, running, movable), _MOST_LOOKED_AT):
                if len(chosen) >= most or balance.is_spent() or places.has_given_up:
                    break
                if balance.too_much(node).any():
                    self._try(row, node, movable, places, chosen)
        return chosen

    def _in_order(self, sources: Rows, running: Rows, movable: Movable) -> Iterator[tuple[int, int]]:
        """Pods with their nodes: of the most loaded node first."""
        on = self._ssn.ledger.tasks.node[running]
        for node in self._balance.most_loaded_first(sources, self._ssn.nodes.name_rank):
            for row in movable.ordered(running[on == node]):
                yield row, node

    def _try(self, row: int, node: int, movable: Movable, places: Elsewhere, chosen: dict[int, str]) -> None:
        """Choose the pod, if it may go and another node takes it; otherwise count why it stays."""
        request = movable.request(row)
        stays = movable.why_stays(row)
        if stays is None:
            stays = self._why_stays(row, node, request, chosen)
        job = self._ssn.job(int(self._ssn.ledger.tasks.job[row]))
        assert job is not None, "only tasks with a PodGroup and a queue are offered"
        if stays is None and not places.takes_back(job, row):
            stays = Stays.NOT_TAKEN_BACK
        to = places.move(job, row) if stays is None else None
        if to is None:
            self._stay[Stays.NOWHERE if stays is None else stays] += 1
            return
        chosen[row] = self._message(row, node, to)
        self.left.add(self._names[node])
        movable.take(row)
        self._balance.take(node, request)

    def _why_stays(self, row: int, node: int, request: Amounts, chosen: Mapping[int, str]) -> Stays | None:
        if not (request[self._balance.too_much(node)] > 0).any():
            return Stays.NO_HELP
        if not self._balance.affords(request):
            return Stays.TOO_LARGE
        together = np.array([*chosen, row], dtype=np.intp)
        protector = self._ssn.ask.protector_of_last(together)
        if protector is None:
            return None
        self._protected.setdefault(protector, []).append(row)
        return Stays.PROTECTED

    # -- words -----------------------------------------------------------------------------------------------------

    def _message(self, row: int, node: int, to: int) -> str:
        parts, targets = self._load.parts[node], self._strategy.targets.both
        over = [at for at in range(len(_NAMES)) if parts[at] * _ALL > targets[at]]
        high = " and ".join(f"{_used(parts[at], _NAMES[at])} (target {targets[at]} %)" for at in over)
        free = self._load.parts[to]
        low = " and ".join(_used(free[at], name) for at, name in enumerate(_NAMES) if np.isfinite(free[at]))
        return (
            f"{self._ssn.task_info(row).key} leaves node {self._names[node]}, which uses {high}; it fits on node "
            f"{self._names[to]}, which uses {low}"
        )

    def why_nothing(self) -> str:
        """Why there are no victims."""
        balance, thresholds, targets = self._balance, self._strategy.thresholds, self._strategy.targets
        low, high = int(balance.low.sum()), int(balance.high.sum())
        if not high:
            return f"no node uses more than targetThresholds, {targets}; {low} use less than thresholds, {thresholds}"
        if not low:
            measured = int(balance.measured.sum())
            return f"none of {counted(measured, 'measured node')} is schedulable and uses less than {thresholds}"
        if not (balance.high & ~self._waits).any():
            return "the measured load does not show the last evictions yet"
        if balance.is_spent() and not self._stay:
            return f"nodes with a low load have no room below targetThresholds, {targets}"
        protected = [
            f"{len(rows)} are protected {plugin.protected_by(np.array(rows, dtype=np.intp))}"
            for plugin, rows in self._protected.items()
        ]
        why = summary(self._stay, protected)
        return f"{counted(high, 'node')} above targetThresholds, {low} below thresholds; {why}"


def _used(part: float, name: str) -> str:
    return f"{part * _ALL:.3g} % of its {name}"


def _is_anything_new(ssn: Session, since: float) -> bool:
    """Whether a pod of ours was scheduled since then, was created and waits, or is leaving: an earlier process may have
    moved pods, and the measured load does not show that yet."""
    tasks = ssn.ledger.tasks
    waits = (tasks.status == TaskStatus.PENDING) & (tasks.created > since)
    is_new = waits | (tasks.scheduled_at > since) | (tasks.status == TaskStatus.RELEASING)
    return bool((is_new & (tasks.job >= 0)).any())
