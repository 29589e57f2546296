"""Room for pods of sub-groups that are to come back: a sub-group that has places may use others only in its own domain.

Between the end of a pod and its creation by a controller, its place is free. Sub-groups of the same job without any
places, which may go elsewhere or wait, leave it.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.state.status import PLACED_STATUSES, TaskStatus
from volcano_py.state.task_class import TaskClass

_COME_BACK: Final = np.zeros(len(TaskStatus), dtype=np.bool_)
_COME_BACK[[TaskStatus.PENDING, TaskStatus.RELEASING]] = True


class Missing(msgspec.Struct, frozen=True, eq=False):
    """What one sub-group lacks to its size.

    Attributes:
        name: of the sub-group, for messages.
        count: how many pods are to come back.
        task_class: of these pods.
        nodes: [N] those that they may use; None for all.
        room: for how many of them there is room.
    """

    name: str
    count: int
    task_class: TaskClass
    nodes: NDArray[np.bool_] | None
    room: int


def missing(ssn: Session, job: Job) -> list[Missing]:
    """Of each sub-group that has places and lacks pods to its size. Pods that have ended do not come back."""
    groups = ssn.sub_groups(job)
    if groups is None:
        return []
    tasks = ssn.ledger.tasks
    status = tasks.status[groups.rows]
    is_begun = groups.count(PLACED_STATUSES[status]) > 0
    lacking = np.where(is_begun, groups.size - groups.count(~_COME_BACK[status]), 0)
    found: list[Missing] = []
    for at in np.flatnonzero(lacking > 0).tolist():
        mine = groups.rows[groups.group == at]
        example = int(mine[np.argmax(_COME_BACK[tasks.status[mine]])])
        confinement = ssn.topology.confinement(job, example)
        nodes = None if confinement is None else confinement.nodes
        each = Missing(groups.names[at], int(lacking[at]), ssn.task_class(example), nodes, 0)
        found.append(msgspec.structs.replace(each, room=room_for(ssn, each)))
    return found


def room_for(ssn: Session, each: Missing) -> int:
    """For how many of the pods there is room at this moment, or will be once pods that leave are gone."""
    room = ssn.placer.room(each.task_class, later=ssn.placer.will_change)
    room = room if each.nodes is None else room[each.nodes]
    return min(int(np.minimum(room, each.count).sum()), each.count)


def deprived(ssn: Session, before: list[Missing]) -> list[Missing]:
    """Those that have less room now than `before`."""
    return [each for each in before if room_for(ssn, each) < each.room]
