"""Which queue each placed pod is charged to: the one it was bound in, until the pod is gone.

Neither the PodGroup nor the pod's annotations are asked again once that is known: their author may edit both. The
binding writes the queue on the pod (`CHARGED_QUEUE`), where a restart reads it back. A pod without that annotation,
such as one that an older version bound, is charged to the queue that its PodGroup has when both are first seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from volcano_py.api.names import CHARGED_QUEUE
from volcano_py.api.objects import Pod
from volcano_py.state.status import ALLOCATED_STATUSES, ON_NODE_STATUSES
from volcano_py.state.table.table import NOWHERE, Rows

if TYPE_CHECKING:
    from volcano_py.state.table.interner import Interner
    from volcano_py.state.table.ledger import Ledger


class Charges:
    """Store of the task table's `queue` column. A task that is charged holds the slot of its queue."""

    def __init__(self, ledger: Ledger, queue_slots: Interner) -> None:
        self._ledger = ledger
        self._queue_slots = queue_slots

    def put(self, row: int, queue: str) -> None:
        """Charge a task that counts in no sum yet."""
        self.take(row)
        slot = self._queue_slots.take(queue)
        self._ledger.tasks.change(row).queue[row] = slot
        self._ledger.queues.reach(slot + 1)

    def put_all(self, rows: Rows, queues: Sequence[str]) -> None:
        """Charge pending tasks `rows` [K], which are charged to none, to these queues [K]."""
        slots = [self._queue_slots.take(queue) for queue in queues]
        self._ledger.tasks.change(rows).queue[rows] = slots
        self._ledger.queues.reach(max(slots) + 1)

    def take(self, row: int) -> None:
        """Charge a task that counts in no sum any more to no queue."""
        slot = int(self._ledger.tasks.queue[row])
        if slot != NOWHERE:
            self._queue_slots.give_back(slot)
            self._ledger.tasks.change(row).queue[row] = NOWHERE

    def put_as_written(self, row: int, pod: Pod) -> None:
        """Charge a placed pod as its binding says, unless its queue is known already."""
        queue = pod.metadata.annotations.get(CHARGED_QUEUE)
        if queue and self._ledger.tasks.queue[row] == NOWHERE:
            self.put(row, queue)

    def settle(self) -> None:
        """Charge placed pods whose bindings named no queue as their PodGroups say, and give every queue a row."""
        ledger, names = self._ledger, self._queue_slots.names
        ledger.queues.reach(len(names))
        tasks = ledger.tasks
        rows = np.flatnonzero((tasks.queue == NOWHERE) & (tasks.job >= 0))
        rows = rows[ON_NODE_STATUSES[tasks.status[rows]]]
        rows = rows[ledger.jobs.queue[tasks.job[rows]] != NOWHERE]
        # A pod that was deleted before it was bound is on no node, and holds nothing.
        rows = rows[(tasks.node[rows] != NOWHERE) | ALLOCATED_STATUSES[tasks.status[rows]]]
        if len(rows):
            slots = ledger.jobs.queue[tasks.job[rows]]
            for slot in slots.tolist():
                self._queue_slots.take(names[slot])
            ledger.charge(rows, slots)
