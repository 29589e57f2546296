"""Events on queues without a sound place in the tree, whether they have jobs or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from volcano_py.api.effects import Event
from volcano_py.api.names import HIERARCHY
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import invalid_queue
from volcano_py.plugins.drf.layout import Layout
from volcano_py.state.infos import QueueInfo

_ANNOTATIONS: Final = f"metadata.annotations.{HIERARCHY}"


def queue_events(queues: Mapping[str, QueueInfo], layout: Layout) -> Iterator[Event]:
    """An event for each queue whose place is taken, and for each annotation that cannot be used as it is."""
    for name in sorted(queues):
        info = queues[name]
        problems = [problem for problem in info.problems if problem.startswith(_ANNOTATIONS)]
        if name in layout.refused:
            problems.append(layout.refused[name])
        for problem in problems:
            yield Event(info.ref, "Warning", Reason.INVALID_QUEUE.value, invalid_queue(name, problem))
