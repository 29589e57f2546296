"""What the evictions of an action go by: which pods may go, and for which queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from volcano_py.framework.job import Task
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.table import Rows

NEVER: Final = "Never"
"""The preemption policy of pods for which no other pod is evicted."""


class Scheme(msgspec.Struct, frozen=True):
    """See the module.

    Attributes:
        action: what the action is called on the victims (`preempt`, `reclaim`).
        point: the extension point that names victims.
        candidates: the pods that may be looked at for a task, those of one node side by side.
        may_take: whether a queue may have pods evicted for these task rows at all.
        may_lose: whether pods of a queue can be evicted at all.
        takes_whole: whether jobs may go whole.
        only_lesser: whether only jobs of a lower priority lose pods, whatever plugins say.
        among_deadlocked: whether gangs give way to each other that are deadlocked (deadlocks.py).
    """

    action: str
    point: str
    candidates: Callable[[Task], Rows]
    may_take: Callable[[QueueInfo, Rows], bool] = lambda _queue, _rows: True
    may_lose: Callable[[QueueInfo], bool] = lambda _queue: True
    takes_whole: bool = True
    only_lesser: bool = False
    among_deadlocked: bool = False
