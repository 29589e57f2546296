"""Volcano Jobs that get no pods: their status says why, and there may be no PodGroup that could."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from volcano_py.api.names import DEFAULT_QUEUE
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.refusal import Refusal
from volcano_py.jobs.status import standing_refusal
from volcano_py.ui.board.model import JobRow


def refused_rows(rows: Mapping[str, JobRow], refused: Mapping[str, VolcanoJob]) -> dict[str, JobRow]:
    """PodGroup (namespace/name) → the row that says why its job gets no pods. `rows`: those of PodGroups; of one that
    has the pods it needs, none is made."""
    found: dict[str, JobRow] = {}
    for key, job in refused.items():
        refusal, row = standing_refusal(job), rows.get(key)
        if refusal is None:
            continue
        if row is None:
            found[key] = _without_group(key, job, refusal)
        elif row.reason and row.placed + row.waiting + row.finished < row.minimum:
            found[key] = replace(row, reason=refusal.reason, message=refusal.message)
    return found


def _without_group(key: str, job: VolcanoJob, refusal: Refusal) -> JobRow:
    created = job.metadata.creation_timestamp
    return JobRow(
        key=key,
        queue=job.spec.queue or DEFAULT_QUEUE,
        state="Waiting",
        owner=f"Job {job.metadata.name}",
        minimum=job.spec.min_available,
        reason=refusal.reason,
        message=refusal.message,
        created=created.timestamp() if created is not None else 0.0,
        has_group=False,
    )
