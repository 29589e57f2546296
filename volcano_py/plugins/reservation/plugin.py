"""The plugin reservation: backfill around one place that is held.

For which job, and where, is decided at the end of each cycle, when it is known which jobs wait (`choice.py`), and holds
for the next ones (`hold.py`). Not to be confused with places that pods were evicted for, in framework/eviction: those
are kept from all other pods.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from volcano_py.api.reasons import Reason
from volcano_py.config.flags import Flags
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.findings import NodesHeld
from volcano_py.framework.job import Job, Placement
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import GoesBy, Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, Counts, NodeView
from volcano_py.framework.votes import ABSTAIN, PERMIT, Ballot
from volcano_py.plugins.reservation.arguments import ReservationArguments
from volcano_py.plugins.reservation.choice import Choice
from volcano_py.plugins.reservation.hold import FIRST, HOLDER, IN_TIME, Hold
from volcano_py.plugins.reservation.turns import Turn, Turns
from volcano_py.plugins.reservation.wording import declare_runtimes, expected_start, refusal
from volcano_py.state.status import READY_STATUSES
from volcano_py.state.table.runtimes import runtimes
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


class Reservation(Plugin):
    """Hold the earliest place that can be foreseen for the first job in order that has waited for a long time.

    Other jobs use the held nodes if they end before it is to start, or fit alongside it. One job at a time has its
    turn, which lapses. How long pods run is declared by activeDeadlineSeconds or a running estimate; without, nodes are
    held plainly, as far as `maxIdle` allows.
    """

    name = "reservation"
    allows_series = True
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = ReservationArguments

    def __init__(self, arguments: Any, flags: Flags) -> None:
        super().__init__(arguments, flags)
        self._turns: Turns | None = None
        self._hold: Hold | None = None

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str] | None:
        """Which tasks are its own, which end in time, and which go first."""
        turn = self._known_turns(cluster).current
        if turn is None:
            return None
        if job_row == turn.row:
            return [HOLDER] * len(rows)
        if self._goes_first(cluster, job_row, turn):
            return [FIRST] * len(rows)
        in_time = np.zeros(len(rows), dtype=np.bool_)
        if turn.places is not None and turn.places.is_foreseen:
            in_time = cluster.now + runtimes(cluster.ledger, rows) <= turn.places.start
        promised = cluster.ledger.tasks.nominated[rows]
        return [
            FIRST if is_promised else IN_TIME if is_in_time else ""
            for is_promised, is_in_time in zip(promised.tolist(), in_time.tolist(), strict=True)
        ]

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        turn = self._turn = self._known_turns(ssn).current
        self._is_sought = turn is not None and turn.places is None
        self._code = FITS
        self._basis: Hashable = None if self._is_sought else ()
        if turn is not None and turn.places is not None:
            hold = self._take_up(turn)
            self._basis = turn.uid, turn.row, turn.priority, turn.places, hold.ending

    def on_session_close(self, ssn: Session) -> None:  # noqa: ARG002
        self._choice().make()

    def predicate_follows_from(self) -> Hashable:
        """What is held for which job, and which pods end before it is to start."""
        return self._basis

    # -- admission ---------------------------------------------------------------------------------------------------

    def job_enqueueable(self, job: Job) -> Ballot:
        """The job that has the turn is admitted into a full cluster, else it could never get its place."""
        is_its_turn = self._turn is not None and job.row == self._turn.row
        return PERMIT if is_its_turn and self._choice().may_enter(job) else ABSTAIN

    # -- nodes -------------------------------------------------------------------------------------------------------

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        hold = self._hold_for(task_class)
        if hold is None:
            return np.zeros(len(view), dtype=np.int32)
        return np.where(hold.closed(task_class, view), self._code, FITS).astype(np.int32)

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes:  # noqa: ARG002
        """Nothing: a place is held for a while only."""
        return np.zeros(len(view), dtype=np.int32)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.STATIC if self._hold_for(task_class) is None else Reach.ROW

    def predicate_goes_by(self, task_class: TaskClass) -> GoesBy:  # noqa: ARG002
        """What is free on held nodes. A pod only takes of that, or of its own part."""
        return GoesBy.USE

    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts:
        hold = self._hold_for(task_class)
        return np.full(len(view), np.iinfo(np.int64).max) if hold is None else hold.room(task_class, view)

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> list[str]:
        turn = self._turn
        if self._hold_for(task_class) is None or turn is None or turn.places is None or not turn.places.is_foreseen:
            return []
        return [declare_runtimes(turn.key)] if refusal(turn.key, turn.places) in refused else []

    # -- events ------------------------------------------------------------------------------------------------------

    def on_allocate(self, placement: Placement) -> None:
        if self._hold is not None:
            self._hold.update(placement, placement.task_class.variant.get(self.name, ""), 1)

    def on_deallocate(self, placement: Placement) -> None:
        if self._hold is not None:
            self._hold.update(placement, placement.task_class.variant.get(self.name, ""), -1)

    # -- helpers -----------------------------------------------------------------------------------------------------

    def _choice(self) -> Choice:
        """Made when it is needed: kept, it and the plugin would wait for the garbage collector together."""
        return Choice(self._ssn, self, self.arguments, self._known_turns(self._ssn))

    def _known_turns(self, cluster: ClusterCopy) -> Turns:
        if self._turns is None:
            self._turns = Turns(self.memory, cluster.snapshot)
        return self._turns

    @staticmethod
    def _goes_first(cluster: ClusterCopy, job_row: int, turn: Turn) -> bool:
        """Jobs of a higher priority; and gangs that are bound in part, as what they hold is of no use before."""
        jobs = cluster.ledger.jobs
        if turn.priority is not None and int(jobs.priority[job_row]) > turn.priority:
            return True
        info = cluster.snapshot.jobs[job_row]
        placed = int(jobs.counts[job_row, READY_STATUSES].sum())
        return info is not None and 0 < placed < info.min_member

    def _hold_for(self, task_class: TaskClass) -> Hold | None:
        """What is held from tasks of the class."""
        if self._turn is None or self.name in task_class.variant:
            return None
        if self._is_sought:
            self._is_sought = False
            self._seek_again(self._turn)
        return self._hold

    def _seek_again(self, turn: Turn) -> None:
        """After a restart it is known for which job places are held, but not which places."""
        job = self._ssn.job(turn.row)
        if job is None or not job.tasks:
            return
        places = self._choice().seek(job, queue_decides=False)
        if places is not None:
            turn = self._turn = Turn(turn.uid, turn.key, turn.row, turn.priority, turn.since, turn.until, places)
            self._known_turns(self._ssn).current = turn
            self._take_up(turn)

    def _take_up(self, turn: Turn) -> Hold:
        assert turn.places is not None, "nothing to hold"
        window = self._ssn.now + self.arguments.window.total_seconds()
        hold = self._hold = Hold(self._ssn, turn.places, window)
        self._ssn.findings.nodes_held = NodesHeld(turn.row, turn.priority, expected_start(turn.places))
        self._code = self._ssn.refusal(Reason.PLACES_HELD, refusal(turn.key, turn.places))
        return hold
