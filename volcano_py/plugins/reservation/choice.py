"""Which job has the turn next, and what is held for it: decided at the end of a cycle, for the ones that follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from volcano_py.api.names import SCHEDULED
from volcano_py.api.reasons import Reason
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.roles import needed_rows
from volcano_py.framework.session import Session
from volcano_py.framework.status.wakeups import SOON
from volcano_py.framework.votes import Vote
from volcano_py.plugins.reservation.arguments import ReservationArguments
from volcano_py.plugins.reservation.domains import Bounds, bounds_of
from volcano_py.plugins.reservation.need import Need, imagined, needs_of
from volcano_py.plugins.reservation.outlook import Outlook
from volcano_py.plugins.reservation.places import UNKNOWN, Layout, Places, closest, earliest, exceeds, expected
from volcano_py.plugins.reservation.turns import GAVE_WAY, HELD, LAPSED, STARTED, Turn, Turns, condition
from volcano_py.plugins.reservation.wording import gave_way, lapsed, place_held, started
from volcano_py.state.status import READY_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows

# Jobs for which places are sought in one cycle; of those that get none, each is tried again after a while only.
_TRIES: Final = 4
# Seconds by which other places have to be free earlier to be held instead: the messages of other jobs change with them.
_WORTHWHILE: Final = 60.0


class _Found(msgspec.Struct, frozen=True):
    """A job may have the turn; `places` is None for one that has no pods yet."""

    places: Places | None


class Choice:
    """See the module; `asking` is the plugin itself."""

    def __init__(self, ssn: Session, asking: Plugin, arguments: ReservationArguments, turns: Turns) -> None:
        self._ssn = ssn
        self._asking = asking
        self._turns = turns
        self._after = arguments.after.total_seconds()
        self._hold_for = arguments.hold_for.total_seconds()
        self._window = arguments.window.total_seconds()
        self._max_idle = (ssn.total * arguments.max_idle).astype(np.int64)
        self._by_priority = any(call.plugin.name == "priority" for call in ssn.dispatch.calls("job_order"))

    def make(self) -> None:
        """Decide, and say so in conditions."""
        before = self._turns.current
        job = self._holder()
        if job is None or not job.waiting:  # what waits for its place to be released keeps it
            self._pass_on(job)
        now = self._turns.current
        if before is not now and (before is None or now is None or before.places is not now.places):
            self._ssn.wakeups.recheck_at(self._ssn.now + SOON)
        if now is not None:
            self._ssn.wakeups.recheck_at(now.until)
            self._say(now)
        self._wake_for_the_next()

    # -- the job that has the turn -----------------------------------------------------------------------------------

    def _holder(self) -> Job | None:
        """The job that has the turn, unless that is over."""
        ssn, turn = self._ssn, self._turns.current
        if turn is None:
            return None
        job = ssn.job(turn.row)
        self._turns.current = None
        if job is None or job.info.ref.uid != turn.uid:
            return None
        if not self._waits(job):
            self._end(job, STARTED, started())
        elif ssn.now >= turn.until:
            self._turns.lapse(turn.uid, ssn.now)
            self._end(job, LAPSED, lapsed())
        else:
            self._turns.current = turn
            return job
        return None

    def _pass_on(self, holder: Job | None) -> None:
        """The first job in order that can have a place has the turn; the one that has it keeps what it has."""
        ssn, turn = self._ssn, self._turns.current
        self._turns.current = None
        tries = 0
        for job in self._in_order(holder):
            if job is not holder and (tries >= _TRIES or not self._waits(job)):
                continue
            tries += 1
            found = self._find(job, turn.places if turn is not None and job is holder else None)
            if found is not None:
                self._turns.current = self._turn_of(job, found, turn if job is holder else None)
                break
            self._turns.pass_over(job.info.ref.uid, ssn.now + self._after)
        now = self._turns.current
        if holder is not None and turn is not None and (now is None or now.uid != turn.uid):
            self._end(holder, GAVE_WAY, gave_way(None if now is None else now.key))

    def _turn_of(self, job: Job, found: _Found, before: Turn | None) -> Turn:
        now, places = self._ssn.now, found.places
        turn = before or Turn(job.info.ref.uid, job.key, job.row, None, since=now, until=now + self._hold_for)
        priority = job.priority if self._by_priority else None
        until = turn.until
        if before is None or until == UNKNOWN or places is not before.places:
            # Other places may be free later, but every turn ends. (After a restart its end is not known.)
            first, last = turn.since + self._hold_for, turn.since + self._window + self._hold_for
            start = places.start if places is not None and places.is_foreseen else turn.since
            kept = until if until < UNKNOWN else first
            until = min(max(kept, start + self._hold_for), last)
        return replace(turn, priority=priority, until=until, places=places)

    def _end(self, job: Job, reason: str, message: str) -> None:
        self._ssn.findings.set_condition(job, condition("False", reason, message, self._ssn.now))

    def _say(self, turn: Turn) -> None:
        job = self._ssn.job(turn.row)
        if job is not None:
            message = place_held(turn.places)
            self._ssn.findings.set_condition(job, condition("True", HELD, message, turn.since))

    # -- which job is next --------------------------------------------------------------------------------------------

    def _in_order(self, holder: Job | None) -> list[Job]:
        """Jobs that have waited long enough, in job order; one whose turn has lapsed behind all that waited then."""
        ssn, turns = self._ssn, self._turns
        rows = self._waiting_rows(ssn.now - self._after).tolist()
        others = (job for row in rows if (job := ssn.job(row)) is not None and job is not holder)
        due = [*([] if holder is None else [holder]), *filter(self._is_due, others)]
        keys = {job.row: ssn.ask.job_key(job) for job in due}
        ordered = sorted(due, key=lambda job: keys[job.row])
        lapsed = [job for job in ordered if turns.lapsed_at(job.info.ref.uid)]
        for job in sorted(lapsed, key=lambda job: turns.lapsed_at(job.info.ref.uid)):
            lapsed_at = turns.lapsed_at(job.info.ref.uid)
            place = ordered.index(job)
            earlier = [nth for nth, each in enumerate(ordered) if self._queued_since(each) < lapsed_at]
            ordered.insert(max([place, *earlier]) + 1, job)
            ordered.pop(place)
        return ordered

    def _queued_since(self, job: Job) -> float:
        """When the job began to wait for its turn: when its last one lapsed, if it has had one."""
        return self._turns.lapsed_at(job.info.ref.uid) or _waits_since(self._ssn, job)

    def _waiting_rows(self, created_before: float) -> Rows:
        """Jobs that do not run, as far as columns say."""
        ssn, jobs = self._ssn, self._ssn.ledger.jobs
        rows = ssn.job_rows()
        ready = jobs.counts[rows][:, READY_STATUSES].sum(axis=1)
        waits = (ready < np.maximum(jobs.min_member[rows], 1)) & (jobs.created[rows] <= created_before)
        found: Rows = rows[waits]
        return found

    def _is_due(self, job: Job) -> bool:
        ssn, uid = self._ssn, job.info.ref.uid
        rests = ssn.resting.get(job.row)
        if not uid or job.row in ssn.findings.set_aside or (rests is not None and not rests.may_get_room):
            return False
        return self._queued_since(job) <= ssn.now - self._after and not self._turns.is_passed_over(uid, ssn.now)

    def _waits(self, job: Job) -> bool:
        """Whether the job has not started, and could."""
        if job.is_pending and not job.tasks:
            return True
        has_started = job.ready > 0 and self._ssn.ask.job_ready(job)
        return not has_started and job.pending_tasks + job.waiting > 0 and self._ssn.ask.job_valid(job) is None

    def _wake_for_the_next(self) -> None:
        """Another cycle is due when a job has waited long enough."""
        ssn = self._ssn
        rows = self._waiting_rows(ssn.now)
        if not len(rows):
            return
        queued = np.concatenate((ssn.ledger.jobs.created[rows], self._turns.lapses()))
        due = queued + self._after
        due = due[due > ssn.now]
        if len(due):
            ssn.wakeups.recheck_at(float(due.min()) + SOON)

    # -- places ------------------------------------------------------------------------------------------------------

    def _find(self, job: Job, known: Places | None) -> _Found | None:
        if job.is_pending and not self.may_enter(job):
            return None
        if not job.tasks:
            outlook = Outlook(self._ssn, self._window, job.row)
            laid = self._lay([imagined(self._ssn, job)], outlook, bounds_of(self._ssn, job))
            return None if laid is None else _Found(None)
        places = self.seek(job, known)
        return None if places is None else _Found(places)

    def may_enter(self, job: Job) -> bool:
        """Whether the job waits only because the cluster is full."""
        if not job.tasks and (job.min_resources is None or (job.min_resources > self._ssn.total).any()):
            return False
        calls: Sequence[Any] = self._ssn.dispatch.calls("job_enqueueable")
        ballots = [call(job) for call in calls if call.plugin is not self._asking]
        return all(
            ballot.vote is not Vote.REJECT
            or (ballot.refusal is not None and ballot.refusal.reason is Reason.CLUSTER_OVERCOMMITTED)
            for ballot in ballots
        )

    def seek(self, job: Job, known: Places | None = None, *, queue_decides: bool = True) -> Places | None:
        """Places for the job: those `known` while they serve and no others are free much earlier. None: there are none
        that may be held, or (`queue_decides`) its queue may not take so much."""
        ssn = self._ssn
        outlook = Outlook(ssn, self._window, job.row)
        rows = needed_rows(ssn, job)
        needs = needs_of(ssn, job, rows, outlook, self._asking) if len(rows) else None
        if not needs:
            return None
        bounds = bounds_of(ssn, job, needs)
        found = self._lay(needs, outlook, bounds)
        if found is None or (queue_decides and not self._queue_takes(job, needs, found[1])):
            return None
        start, layout = found
        if known is not None and known.are_for(needs):
            free_at = expected(ssn, known, needs, outlook, bounds)
            if free_at is not None and (free_at == start or free_at - start < _WORTHWHILE):
                return known if known.is_foreseen or free_at == UNKNOWN else replace(known, start=free_at)
        return layout.as_places(ssn, needs, start)

    def _lay(self, needs: Sequence[Need], outlook: Outlook, bounds: Bounds) -> tuple[float, Layout] | None:
        """When and where the needs fit: as early as is foreseen, else where that is close, if little lies idle."""
        found = earliest(self._ssn, needs, outlook, bounds)
        if found is not None:
            return found
        layout = closest(self._ssn, needs, outlook, bounds)
        return None if layout is None or exceeds(layout, self._max_idle) else (UNKNOWN, layout)

    def _queue_takes(self, job: Job, needs: Sequence[Need], layout: Layout) -> bool:
        """Whether the queue's ceilings let all of it start now. It is tried and undone, as ceilings count what is
        placed."""
        ssn, statement = self._ssn, self._ssn.statement()
        if ssn.ask.overused(job.queue):
            return False
        try:
            for need, nodes in zip(needs, layout.nodes, strict=True):
                if ssn.ask.allocatable(job.queue, need.task_class).count < need.count:
                    return False
                statement.pipeline(job, need.task_class, need.rows, nodes)
            return True
        finally:
            ssn.reservations.release(statement)


def _waits_since(ssn: Session, job: Job) -> float:
    """Since when the job has been waiting: since it was created or, if it has run before, since its pods were."""
    if not any(each.type == SCHEDULED for each in job.info.conditions):
        return job.created
    tasks, rows = ssn.ledger.tasks, ssn.tasks_of(job)
    created = tasks.created[rows[tasks.status[rows] == TaskStatus.PENDING]]
    return max(job.created, float(created.min())) if len(created) else job.created
