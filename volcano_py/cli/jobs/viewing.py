"""One job, described."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from volcano_py.api.effects import JsonObject
from volcano_py.cli.jobs.requests import BEFORE_PODS
from volcano_py.cli.jobs.rows import (
    CONDITION_HEADER,
    EVENT_HEADER,
    TASK_HEADER,
    age_of,
    cell,
    condition_rows,
    event_rows,
    task_rows,
)
from volcano_py.cli.printing.listing import Cells, Listing, phase_text
from volcano_py.jobs.model import VolcanoJob

_NUMBERS: Final = ("REPLICAS", "MIN", "TIMES", "RETRIES")
_COUNTS: Final = ("pending", "running", "succeeded", "failed", "terminating", "unknown")


def describe(
    out: Console, job: VolcanoJob, events: Sequence[JsonObject] | None, now: float, *, waits: str = ""
) -> None:
    """Print it. `events` None: they may not be read; `now` is in seconds since the epoch; `waits` says what its
    PodGroup waits for."""
    print_facts(out, _facts(job, now, waits))
    print_section(out, TASK_HEADER, task_rows(job))
    if job.status.conditions:
        print_section(out, CONDITION_HEADER, condition_rows(job, now))
    print_events(out, events, now)


def print_facts(out: Console, facts: Sequence[tuple[str, str | Text]]) -> None:
    """A line for each name and value."""
    width = max(len(name) for name, _ in facts) + 3
    for name, value in facts:
        out.print(Text.assemble((f"{name}:".ljust(width), "bold"), value), soft_wrap=True)


def print_section(out: Console, header: Sequence[str], rows: Sequence[Cells]) -> None:
    """A table after a blank line."""
    out.print()
    Listing(out, header, _NUMBERS).print(rows)


def print_events(out: Console, events: Sequence[JsonObject] | None, now: float) -> None:
    """The events of an object, or why there are none; arguments as those of `describe`."""
    if events:
        print_section(out, EVENT_HEADER, event_rows(events, now))
    else:
        out.print("\nEvents: none" if events is not None else "\nEvents: you are not allowed to list them")


def _facts(job: VolcanoJob, now: float, waits: str) -> list[tuple[str, str | Text]]:
    """What the job says line by line; what it does not say is left out."""
    spec, status, metadata = job.spec, job.status, job.metadata
    facts = {
        "Name": metadata.name,
        "Namespace": metadata.namespace,
        "Labels": ", ".join(f"{key}={value}" for key, value in sorted(metadata.labels.items())),
        "Queue": spec.queue,
        "Scheduler": spec.scheduler_name,
        "Priority class": spec.priority_class_name,
        "Plugins": ", ".join(sorted(spec.plugins)),
        "Age": age_of(metadata.creation_timestamp, now),
    }
    phase = phase_text(status.state.phase)
    if status.state.reason:
        phase.append(f" ({status.state.reason})")
    counts = ", ".join(f"{getattr(status, name)} {name}" for name in _COUNTS if getattr(status, name))
    none = "none yet" if status.phase in BEFORE_PODS else "none"
    more = {
        "Message": status.state.message,
        "Waits": waits,
        "Pods": f"{counts or none}; {job.replicas} wanted, {spec.min_available or status.min_available} needed",
        "Retries": f"{status.retry_count} of {spec.max_retry}",
        "Ran for": status.running_duration,
    }
    return [
        *((name, cell(text)) for name, text in facts.items() if text),
        ("Phase", phase),
        *((name, cell(text)) for name, text in more.items() if text),
    ]
