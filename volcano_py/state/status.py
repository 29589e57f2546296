"""Task statuses, and the sets of them that scheduling rules use."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import Pod


class TaskStatus(IntEnum):
    """FREE marks a table row that holds no task. ALLOCATED and PIPELINED exist only inside a cycle."""

    FREE = 0
    PENDING = 1
    ALLOCATED = 2
    PIPELINED = 3
    BINDING = 4
    BOUND = 5
    RUNNING = 6
    RELEASING = 7
    SUCCEEDED = 8
    FAILED = 9
    UNKNOWN = 10


STATUS_COUNT: Final = len(TaskStatus)


def _mask(*statuses: TaskStatus) -> NDArray[np.bool_]:
    mask = np.zeros(STATUS_COUNT, dtype=np.bool_)
    mask[list(statuses)] = True
    mask.setflags(write=False)
    return mask


_S = TaskStatus
ALLOCATED_STATUSES: Final = _mask(_S.BOUND, _S.BINDING, _S.RUNNING, _S.ALLOCATED)
"""Counts as used by its job and queue. Releasing does not: a victim leaves the sums when it is evicted."""
READY_STATUSES: Final = _mask(_S.BOUND, _S.BINDING, _S.RUNNING, _S.ALLOCATED, _S.SUCCEEDED)
"""Counts towards the gang's minimum."""
PLACED_STATUSES: Final = _mask(_S.BOUND, _S.BINDING, _S.RUNNING, _S.ALLOCATED, _S.SUCCEEDED, _S.PIPELINED)
"""Counts towards the gang's minimum, or will once what it waits for is free."""
ON_NODE_STATUSES: Final = _mask(_S.BOUND, _S.BINDING, _S.RUNNING, _S.ALLOCATED, _S.RELEASING, _S.UNKNOWN)
"""Occupies its node."""
LEAVING_STATUSES: Final = _mask(_S.RELEASING, _S.UNKNOWN)
"""Occupies its node, but no longer counts for its job."""
VALID_STATUSES: Final = _mask(_S.BOUND, _S.BINDING, _S.RUNNING, _S.ALLOCATED, _S.SUCCEEDED, _S.PIPELINED, _S.PENDING)
"""Exists as far as the gang's validity goes."""
SCHEDULED_STATUSES: Final = _mask(_S.RUNNING, _S.BOUND, _S.SUCCEEDED, _S.FAILED)
"""Scheduled for the PodGroup's phase (Releasing ones with a node are added by the caller)."""
EVICTABLE_STATUSES: Final = _mask(_S.BOUND, _S.RUNNING)
"""Holds its place for good, so that it may be evicted."""
STAYING_STATUSES: Final = _mask(_S.PENDING, _S.BOUND, _S.RUNNING, _S.SUCCEEDED)
"""Waits, or stays where it is, if nothing is decided about it."""
FINISHED_STATUSES: Final = _mask(_S.SUCCEEDED, _S.FAILED)

_PHASES: Final = {
    "Succeeded": TaskStatus.SUCCEEDED,
    "Failed": TaskStatus.FAILED,
    "Unknown": TaskStatus.UNKNOWN,
}


def status_of(pod: Pod) -> TaskStatus:
    """The status that the API server's view of a pod means."""
    phase = pod.status.phase
    if (final := _PHASES.get(phase)) is not None:
        return final
    if pod.metadata.deletion_timestamp is not None:
        return TaskStatus.RELEASING
    if phase == "Running":
        return TaskStatus.RUNNING
    return TaskStatus.BOUND if pod.spec.node_name else TaskStatus.PENDING
