"""Why no job of a queue starts, whatever it asks for: its place in the tree, or a queue that is closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import invalid_queue, name_queue
from volcano_py.api.wording.explain_ceilings import queue_closed
from volcano_py.api.wording.summarize import summarize
from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.framework.status.queue_source import queue_source
from volcano_py.plugins.queues.base_account import BaseAccount
from volcano_py.state.infos import QueueInfo
from volcano_py.state.task_class import Refusal

_SHUT: Final = frozenset({"Closed", "Closing"})


def not_for_jobs(queue: BaseAccount) -> Refusal | None:
    """The refusal when no job can run in this queue as the tree stands."""
    if queue.fault is not None:
        return Refusal(Reason.INVALID_QUEUE, invalid_queue(queue.name, queue.fault.problem(queue.name)))
    return _inner(queue, "recreate its jobs in one of those") if queue.children else None


def not_for_job(ssn: Session, queue: BaseAccount, job: Job) -> Refusal | None:
    """The same to one job of the queue, with where its queue is named."""
    if queue.fault is not None or not queue.children:
        return not_for_jobs(queue)
    return _inner(queue, name_queue("one", queue_source(ssn, job.row, job.info)))


def names_for_jobs(queues: Iterable[BaseAccount]) -> list[str]:
    """The queues in which jobs can run."""
    return [queue.name for queue in queues if not_for_jobs(queue) is None]


def _inner(queue: BaseAccount, fix: str) -> Refusal:
    problem = f"has queues below it ({summarize(queue.children)}), and jobs run only in leaf queues; {fix}"
    return Refusal(Reason.INVALID_QUEUE, invalid_queue(queue.name, problem))


def closed(queue: QueueInfo, queues: Mapping[str, QueueInfo]) -> Refusal:
    """The refusal of a queue that is not open, with the first queue to open: none opens below a closed one. `queues`
    are all queues by name."""
    top, seen = queue, {queue.name}
    while (above := queues.get(top.parent)) is not None and above.state in _SHUT and above.name not in seen:
        top = above
        seen.add(above.name)
    first = None if top is queue else (top.name, top.state)
    return Refusal(Reason.QUEUE_CLOSED, queue_closed(queue.name, queue.state, first))


class Bars:
    """Why nothing of a queue starts in this cycle, whatever it asks for; found out once for each queue. `queues` are
    all queues by name."""

    def __init__(self, queues: Mapping[str, QueueInfo]) -> None:
        self._queues = queues
        self._known: dict[str, Refusal | None] = {}

    def of(self, queue: BaseAccount) -> Refusal | None:
        """None where something may start."""
        if queue.name not in self._known:
            self._known[queue.name] = not_for_jobs(queue) or self._closed(queue)
        return self._known[queue.name]

    def of_job(self, ssn: Session, queue: BaseAccount, job: Job) -> Refusal | None:
        """The same to one job of the queue."""
        bar = self.of(queue)
        return bar and (not_for_job(ssn, queue, job) or bar)

    def shut(self, queues: Iterable[BaseAccount]) -> set[str]:
        """The leaves among them in which nothing starts."""
        return {queue.name for queue in queues if not queue.children and self.of(queue) is not None}

    def _closed(self, queue: BaseAccount) -> Refusal | None:
        """The refusal when the queue, or a queue above it, is not open."""
        info = queue.info
        if info is not None and not info.is_open:
            return closed(info, self._queues)
        for above in queue.above:
            # The queue controller closes what is below a closed queue; until then, or without it, this does.
            if above.info is not None and above.info.state in _SHUT:
                return closed(above.info, self._queues)
        return None
