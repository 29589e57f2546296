"""Why no job of a queue starts, whatever it asks for: its place in the tree, or a queue that is closed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import invalid_queue
from volcano_py.api.wording.explain_ceilings import queue_closed
from volcano_py.api.wording.summarize import summarize
from volcano_py.plugins.queues.base_account import BaseAccount
from volcano_py.state.task_class import Refusal

_SHUT: Final = frozenset({"Closed", "Closing"})


def not_for_jobs(queue: BaseAccount) -> Refusal | None:
    """The refusal when no job can run in this queue as the tree stands."""
    if queue.fault is not None:
        return Refusal(Reason.INVALID_QUEUE, invalid_queue(queue.name, queue.fault.problem(queue.name)))
    if queue.children:
        return Refusal(Reason.INVALID_QUEUE, invalid_queue(queue.name, _inner(queue.children)))
    return None


def names_for_jobs(queues: Iterable[BaseAccount]) -> list[str]:
    """The queues in which jobs can run."""
    return [queue.name for queue in queues if not_for_jobs(queue) is None]


def _inner(children: Sequence[str]) -> str:
    return f"has queues below it ({summarize(children)}), and jobs run only in leaf queues; name one in spec.queue"


def closed(queue: BaseAccount) -> Refusal | None:
    """The refusal when the queue, or a queue above it, is not open."""
    info = queue.info
    if info is not None and not info.is_open:
        return Refusal(Reason.QUEUE_CLOSED, queue_closed(info.name, info.state))
    for above in queue.above:
        # The queue controller closes what is below a closed queue; until then, or without it, this does.
        if above.info is not None and above.info.state in _SHUT:
            return Refusal(Reason.QUEUE_CLOSED, queue_closed(above.info.name, above.info.state))
    return None


class Bars:
    """Why nothing of a queue starts in this cycle, whatever it asks for; found out once for each queue."""

    def __init__(self) -> None:
        self._known: dict[str, Refusal | None] = {}

    def of(self, queue: BaseAccount) -> Refusal | None:
        """None where something may start."""
        if queue.name not in self._known:
            self._known[queue.name] = not_for_jobs(queue) or closed(queue)
        return self._known[queue.name]

    def shut(self, queues: Iterable[BaseAccount]) -> set[str]:
        """The leaves among them in which nothing starts."""
        return {queue.name for queue in queues if not queue.children and self.of(queue) is not None}
