"""Which jobs wait for nothing but room on nodes, so that they may rest until that changes (see resting.py).

Only where it is known what each node's refusal follows from (`Plugin.predicate_follows_from`), and, if a configured
action evicts pods for jobs that wait, what follows from what there (eviction_basis.py).
"""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from typing import TYPE_CHECKING

from volcano_py.framework.plugin import GoesBy
from volcano_py.framework.resting.eviction_basis import EVICTING, evicting, has_moved
from volcano_py.framework.resting.lack_of_room import LackOfRoom, lack_of_luck, lack_of_room
from volcano_py.framework.resting.pods_in_sight import Sight, sight_of, together
from volcano_py.framework.resting.wait_basis import WaitBasis
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import STAYING_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.session import Session


class RoomWaits:
    """The answers of one finished cycle."""

    def __init__(self, ssn: Session) -> None:
        self._ssn = ssn
        self._by_class: dict[int, LackOfRoom | None] = {}
        self._has_moved = has_moved(ssn)
        self._evicting = evicting(ssn.configuration.actions)

    @cached_property
    def _may_rest(self) -> bool:
        return not self._ssn.findings.keepers and self.basis() is not None

    def basis(self) -> WaitBasis | None:
        """What else it follows from that jobs get no room; None when that is not known."""
        return self._ssn.wait_basis if not self._evicting or self._found_no_victims() else None

    def until(self, row: int) -> float:
        """When the clock alone may change what becomes of the job; 0 for never."""
        return self._ssn.wakeups.of_jobs.get(row, 0.0)

    def _found_no_victims(self) -> bool:
        """Whether actions that evict had nothing to do, at any moment of the cycle, and will not by the clock alone, as
        far as no plugin says so (`WaitBasis`)."""
        ssn, wakeups = self._ssn, self._ssn.wakeups
        waits = wakeups.next_progress or wakeups.next_of_actions or ssn.reservations.next_deadline()
        return self._evicting <= EVICTING and not waits and not self._has_moved

    def lacks_of(self, row: int) -> list[LackOfRoom]:
        """Why no node has room for the job of that row, which may rest, or for more of its pods, one for each of its
        classes that were tried; nothing when it waits for anything else."""
        if not self._may_rest or not self._waits_for_nodes(row):
            return []
        errors, lacks = self._ssn.findings.fit_errors.get(row, {}), list[LackOfRoom]()
        if self._has_places(row) or (errors and self._is_structured(row)):
            lack = self._lack_of_more(row)
            return [] if lack is None else [lack]
        for class_row, error in errors.items():
            lack = self._lack(class_row)
            if lack is None or lack.places or self._ssn.placer.misfit(self._class(class_row)) != error:
                return []
            lacks.append(lack)
        return lacks

    def _has_places(self, row: int) -> bool:
        """Whether some of the job's pods found room."""
        return not self._ssn.findings.tentative.keys().isdisjoint(self._ssn.tasks_of_row(row).tolist())

    def _is_structured(self, row: int) -> bool:
        """Whether the job may be limited to parts of the network, or has sub-groups: how much room there is for it
        follows from all nodes together."""
        info = self._ssn.snapshot.jobs[row]
        return info is not None and info.topology is not None

    @cached_property
    def _is_in_motion(self) -> bool:
        """Whether anything has moved in the cycle, or is about to."""
        nodes = self._ssn.ledger.nodes
        return self._has_moved or bool(nodes.releasing.any() or nodes.pipelined.any())

    def _lack_of_more(self, row: int) -> LackOfRoom | None:
        """Why there is no room for more of its pods than some, if nothing has moved since or is about to."""
        ssn, rows = self._ssn, self._waiting_tasks(row)
        if self._is_in_motion:
            return None
        classes = [self._class(each) for each in {*ssn.ledger.tasks.task_class[rows].tolist()}]
        first, is_plain = classes[0], len(classes) == 1 and not self._is_structured(row)
        if is_plain and not (first.volumes or first.devices) and ssn.placer.is_refused_for_good(first):
            lack = self._lack(first.row)
            return lack if lack is not None and lack.places in range(1, len(rows)) else None
        sights = [sight for each in classes if (sight := self._sight(each)) is not None]
        return lack_of_luck(ssn, together(sights)) if len(sights) == len(classes) else None

    def _waits_for_nodes(self, row: int) -> bool:
        """Whether the job's tasks had their turn, and nothing but nodes was in the way."""
        job, findings = self._ssn.job(row), self._ssn.findings
        is_skipped = row in findings.notes or row in findings.set_aside
        return job is not None and not job.best_effort_pending and not is_skipped

    def may_rest(self, row: int) -> bool:
        """Whether the job waits to be admitted, or tasks of it for nodes, the others stay where they are, and it is
        kept no place."""
        ssn, tasks = self._ssn, self._ssn.ledger.tasks
        job, findings = ssn.job(row), ssn.findings
        if job is None or not (self._was_refused(row) if job.is_pending else job.pending_tasks):
            return False
        if row in findings.keepers or row == findings.nodes_held_for or row in ssn.reservations.jobs:
            return False
        rows, waiting = ssn.tasks_of_row(row), self._waiting_tasks(row)
        is_trying = tasks.nominated[waiting].any() or (tasks.retry_at[rows] > ssn.now).any()
        return bool(STAYING_STATUSES[tasks.status[rows]].all() and not is_trying)

    def _was_refused(self, row: int) -> bool:
        """Whether enqueue has looked at a job that is not admitted: others have become so only as the cycle ended."""
        return not Phase(int(self._ssn.snapshot.ledger.jobs.phase[row])).is_admitted

    def _waiting_tasks(self, row: int) -> Rows:
        rows = self._ssn.tasks_of_row(row)
        waiting: Rows = rows[self._ssn.ledger.tasks.status[rows] == TaskStatus.PENDING]
        return waiting

    def is_skipped(self, row: int) -> bool:
        """Whether the job was skipped as a whole: no nodes were searched for it, and no evictions explained."""
        findings = self._ssn.findings
        return row in findings.notes and not (row in findings.no_evictions or row in findings.unexplained)

    def unexplained(self) -> Set[int]:
        """Rows of jobs at which a later cycle has to look, to explain why nothing is evicted for them."""
        return self._ssn.findings.unexplained

    def _lack(self, class_row: int) -> LackOfRoom | None:
        if class_row not in self._by_class:
            self._by_class[class_row] = self._found(self._class(class_row))
        return self._by_class[class_row]

    def _found(self, task_class: TaskClass) -> LackOfRoom | None:
        ssn, placer = self._ssn, self._ssn.placer
        if not (task_class.volumes or task_class.devices) and placer.is_refused_for_good(task_class):
            return lack_of_room(ssn, task_class, placer.codes(task_class))
        sight = self._sight(task_class)
        return None if sight is None else lack_of_room(ssn, task_class, placer.codes(task_class), sight)

    def _sight(self, task_class: TaskClass) -> Sight | None:
        """What nodes go by when they refuse the class; None when that is not known, or is about to change."""
        ssn, placer = self._ssn, self._ssn.placer
        by = placer.goes_by(task_class)
        if by is GoesBy.UNKNOWN or not placer.is_refused_for_now(task_class):
            return None
        return sight_of(ssn, task_class, by_use=by is GoesBy.USE)

    def _class(self, row: int) -> TaskClass:
        found = self._ssn.snapshot.classes[row]
        assert found is not None, "a refused class that does not exist"
        return found
