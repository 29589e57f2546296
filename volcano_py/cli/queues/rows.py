"""Queues as verbs print them: a row each, or all facts about one. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import CLOSED_BY_PARENT, ROOT_QUEUE
from volcano_py.api.objects import Queue, ResourceList
from volcano_py.cli.printing.listing import Cells, age_text, phase_text
from volcano_py.cli.printing.one_line import plain

HEADER: Final = (
    "NAME", "PARENT", "STATE", "WEIGHT", "PENDING", "INQUEUE", "RUNNING", "UNKNOWN", "COMPLETED", "AGE",
)  # fmt: skip
NUMBERS: Final = HEADER[3:9]
SPARE: Final = ("UNKNOWN", "COMPLETED", "WEIGHT", "PARENT", "AGE", "INQUEUE")
"""What a narrow terminal does without, the first one first."""
STATE_COLUMN: Final = 2
AMOUNTS_HEADER: Final = ("RESOURCE", "ALLOCATED", "GUARANTEE", "DESERVED", "CAPABILITY")

_FIRST: Final = ("cpu", "memory")


def queue_row(obj: JsonObject, now: float) -> Cells:
    """A queue's cells under `HEADER`; `now` is in seconds since the epoch.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    queue = msgspec.convert(obj, Queue)
    status = queue.status
    counts = (status.pending, status.inqueue, status.running, status.unknown, status.completed)
    return (
        queue.metadata.name,
        parent_of(queue) or "-",
        phase_text(plain(state_of(queue))),
        str(queue.spec.weight),
        *(str(count or 0) for count in counts),
        age_at(queue, now),
    )


def facts(queue: Queue, now: float) -> list[tuple[str, str]]:
    """What one queue is, as name and text; amounts are in `amount_rows`."""
    status = queue.status
    counts = {
        "pending": status.pending,
        "inqueue": status.inqueue,
        "running": status.running,
        "unknown": status.unknown,
        "completed": status.completed,
    }
    closed = " (with its parent, and opens with it)" if _is_closed_by_parent(queue) else ""
    return [
        ("Name", queue.metadata.name),
        ("Parent", parent_of(queue) or "-"),
        ("State", plain(state_of(queue)) + closed),
        ("Weight", str(queue.spec.weight)),
        ("Priority", str(queue.spec.priority)),
        ("Reclaimable", "no" if queue.spec.reclaimable is False else "yes"),
        ("Age", age_at(queue, now)),
        ("PodGroups", ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"),
    ]


def amount_rows(queue: Queue) -> Iterator[Cells]:
    """A row under `AMOUNTS_HEADER` for each resource that the queue holds or that its spec names."""
    columns = (queue.status.allocated, queue.spec.guarantee.resource, queue.spec.deserved, queue.spec.capability)
    names = {name for amounts in columns for name in amounts}
    for name in sorted(names, key=lambda name: (name not in _FIRST, name)):
        yield (plain(name), *(_amount(amounts, name) for amounts in columns))


def state_of(queue: Queue) -> str:
    """A state that has not been written yet is Open."""
    return queue.status.state or "Open"


def parent_of(queue: Queue) -> str:
    """The queue above; "" for root."""
    return "" if queue.metadata.name == ROOT_QUEUE else plain(queue.spec.parent or ROOT_QUEUE)


def age_at(queue: Queue, now: float) -> str:
    """How old the queue is at `now` (seconds since the epoch)."""
    created = queue.metadata.creation_timestamp
    return age_text(None if created is None else datetime.fromtimestamp(now, UTC) - created)


def _is_closed_by_parent(queue: Queue) -> bool:
    return state_of(queue) != "Open" and queue.metadata.annotations.get(CLOSED_BY_PARENT) == "true"


def _amount(amounts: ResourceList, name: str) -> str:
    return plain(str(amounts[name])) if name in amounts else "-"
