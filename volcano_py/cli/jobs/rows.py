"""Jobs, their tasks and their events as rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.names import DEFAULT_QUEUE
from volcano_py.cli.printing.listing import Cells, age_text, phase_text
from volcano_py.cli.printing.one_line import plain
from volcano_py.jobs.model import JobPhase, JobState, VolcanoJob
from volcano_py.jobs.refusal import refusal_of

NUMBERS: Final = ("REPLICAS", "MIN", "PENDING", "RUNNING", "SUCCEEDED", "FAILED", "UNKNOWN", "RETRIES")
HEADER: Final = ("NAMESPACE", "NAME", "PHASE", "QUEUE", *NUMBERS, "AGE", "WHY IT WAITS")
SPARE: Final = ("UNKNOWN", "RETRIES", "MIN", "PENDING", "NAMESPACE", "SUCCEEDED", "QUEUE", "REPLICAS")
"""What a narrow terminal does without, the first one first."""
PHASE_COLUMN: Final = HEADER.index("PHASE")
TASK_HEADER: Final = ("TASK", "REPLICAS", "MIN", "PODS")
CONDITION_HEADER: Final = ("WAS", "SINCE")
EVENT_HEADER: Final = ("EVENT", "REASON", "AGE", "TIMES", "MESSAGE")


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which jobs are listed; empty fields choose all."""

    queue: str = ""
    scheduler: str = ""
    part_of_name: str = ""

    def __call__(self, found: JsonObject) -> bool:
        spec = found.get("spec", {})
        return (
            self.queue in ("", spec.get("queue", ""))
            and self.scheduler in ("", spec.get("schedulerName", ""))
            and self.part_of_name in found["metadata"]["name"]
        )


def names_no_queue(found: JsonObject) -> bool:
    """Whether the job's queue may come from its namespace: the CRD fills in `default` where none is named."""
    return (found.get("spec") or {}).get("queue", "") in ("", DEFAULT_QUEUE)


def job_row(found: JsonObject, now: float, waits: str = "") -> Cells:
    """The cells below `HEADER`; `waits` says what its PodGroup waits for. Without that, a pending job may itself say
    what is wrong. Where the API server refuses its pods, that says more than that its PodGroup waits for them.

    Raises:
        msgspec.ValidationError: it cannot be read.
    """
    job = msgspec.convert(found, VolcanoJob)
    status = job.status
    own = status.state.message if status.state.phase == JobPhase.PENDING else ""
    counts = (status.pending, status.running, status.succeeded, status.failed, status.unknown, status.retry_count)
    return (
        cell(job.metadata.namespace),
        cell(job.metadata.name),
        phase_text(status.state.phase),
        cell(job.spec.queue),
        cell(job.replicas),
        cell(job.spec.min_available or status.min_available),
        *(cell(count) for count in counts),
        age_of(job.metadata.creation_timestamp, now),
        cell(_refused(status.state) or waits or own),
    )


def _refused(state: JobState) -> str:
    refusal = refusal_of(state)
    return "" if refusal is None else f"{refusal.reason}: {refusal.message}"


def task_rows(job: VolcanoJob) -> list[Cells]:
    """Each task with its pods by phase, such as `3 Running, 1 Pending`."""
    names = (task.name or f"default{index}" for index, task in enumerate(job.spec.tasks))
    return [
        (cell(name), cell(task.replicas), cell(task.minimum), cell(_phases(job, name)))
        for name, task in zip(names, job.spec.tasks, strict=True)
    ]


def _phases(job: VolcanoJob, task: str) -> str:
    counted = job.status.task_status_count.get(task)
    counts = counted.phase if counted else {}
    return ", ".join(f"{counts[phase]} {phase}" for phase in sorted(counts) if counts[phase])


def condition_rows(job: VolcanoJob, now: float) -> list[Cells]:
    """The phases that the job has been in, the latest last."""
    return [(phase_text(each.status), age_of(each.last_transition_time, now)) for each in job.status.conditions]


def event_rows(events: Iterable[JsonObject], now: float) -> list[Cells]:
    """The oldest first."""
    rows = sorted(((_last_seen(event), event) for event in events), key=lambda each: each[0].timestamp())
    return [
        (
            cell(event.get("type", "")),
            cell(event.get("reason", "")),
            age_of(seen, now),
            cell((event.get("series") or {}).get("count") or event.get("count") or 1),
            cell(event.get("message", "")),
        )
        for seen, event in rows
    ]


def _last_seen(event: JsonObject) -> datetime:
    """Old and new events have their times in different places."""
    text = (
        (event.get("series") or {}).get("lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or event["metadata"]["creationTimestamp"]
    )
    return msgspec.convert(text, datetime)


def cell(value: object) -> str:
    """One line; `-` for nothing."""
    return plain(str(value)) or "-"


def age_of(moment: datetime | None, now: float) -> str:
    """How long ago that was; `now` is in seconds since the epoch."""
    return age_text(None if moment is None else max(timedelta(), datetime.fromtimestamp(now, UTC) - moment))
