"""Warnings about annotations, labels and the like that cannot be read: an event for each, not in each cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.names import IGNORED_ANNOTATION
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.unreadable_values import Picture

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

K = TypeVar("K")

_SEEN: Final = "the latest change seen"
_PUT_OFF: Final = "keys that were put off"
_LOOKS: Final = 256  # at those that were put off, in a cycle: some 0.2 ms


def ignored_values(ssn: Session) -> Iterator[Event]:
    """Events for what is new since the last cycle. A PodGroup that is not written yet, or that another scheduler
    decides, is put off, and so are its pods."""
    tasks, jobs = ssn.snapshot.tasks, ssn.snapshot.jobs
    memory = ssn.memory(__name__)

    def job(row: int) -> ObjectRef | None:
        info = jobs[row] if row != NOWHERE else None
        return info.ref if info is not None and info.ref.uid else None

    def task(row: int) -> ObjectRef | None:
        info = tasks[row]
        return None if info is None or job(int(ssn.ledger.tasks.job[row])) is None else info.ref

    objects = ssn.snapshot.unreadable_objects
    yield from _news(objects, memory.setdefault("objects", {}), lambda key: objects[key].about)
    yield from _news(ssn.snapshot.unreadable_jobs, memory.setdefault("jobs", {}), job)
    yield from _news(ssn.snapshot.unreadable_tasks, memory.setdefault("tasks", {}), task)


def _news(picture: Picture[K], memory: dict[str, Any], to_report: Callable[[K], ObjectRef | None]) -> Iterator[Event]:
    """Events for what is new in the picture, and for some of what was put off; looks at nothing else of it.

    `to_report`: the object with a key, None to put it off.
    """
    put_off: dict[K, None] = memory.setdefault(_PUT_OFF, {})
    keys = dict.fromkeys((*islice(put_off, _LOOKS), *_since(memory.get(_SEEN, 0), picture)))
    reported = []
    for key in keys:
        put_off.pop(key, None)
        if key not in picture:
            continue
        if (about := to_report(key)) is None:
            put_off[key] = None
        else:
            reported.append((about, picture[key].values))
    if picture:
        memory[_SEEN] = picture[next(reversed(picture))].since
    for about, values in sorted(reported, key=lambda each: each[0].key):  # whatever rows they have
        for value in values:
            yield Event(about, "Warning", IGNORED_ANNOTATION, value.message)


def _since(change: int, picture: Picture[K]) -> Iterator[K]:
    """Keys of later changes."""
    for key in reversed(picture):
        if picture[key].since <= change:
            return
        yield key
