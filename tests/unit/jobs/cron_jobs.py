"""CronJobs and the Jobs they own, in few words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from volcano_py.jobs.crons.plan import CronJob
from volcano_py.jobs.model import VolcanoJob


def at(time: str) -> datetime:
    """A time of 2 March 2026 such as `09:30` or `09:30:15`, in UTC."""
    return datetime.fromisoformat(f"2026-03-02T{time}").replace(tzinfo=UTC)


def cron_job(schedule: str = "0 * * * *", *, last: str = "", active: tuple[str, ...] = (), **spec: Any) -> CronJob:
    """A CronJob made at 06:30. `last`: when the last Job was due; `active`: names of Jobs in its status."""
    template = {"metadata": {"labels": {"app": "report"}}, "spec": {"tasks": [{"name": "work", "replicas": 1}]}}
    body: dict[str, Any] = {
        "metadata": {"name": "report", "namespace": "ns", "uid": "cron", "creationTimestamp": "2026-03-02T06:30:00Z"},
        "spec": {"schedule": schedule, "jobTemplate": template, **spec},
        "status": {"active": [{"name": name, "uid": f"uid-{name}"} for name in active]},
    }
    if last:
        body["status"]["lastScheduleTime"] = f"2026-03-02T{last}:00Z"
    return msgspec.convert(body, CronJob)


def due_name(time: str) -> str:
    """Name of the Job that is due at this time."""
    return f"report-{int(at(time).timestamp()) // 60}"


def job(
    due: str, phase: str = "Running", *, ended: str = "", took: str = "", owner: str = "cron", deleting: bool = False
) -> VolcanoJob:
    """The Job that was due at this time; `took` is its running duration."""
    name = due_name(due)
    reference = {"kind": "CronJob", "apiVersion": "batch.volcano.sh/v1alpha1", "uid": owner, "controller": True}
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": "ns",
        "uid": f"uid-{name}",
        "creationTimestamp": f"2026-03-02T{due}:01Z",
        "ownerReferences": [reference],
    }
    if deleting:
        metadata["deletionTimestamp"] = f"2026-03-02T{due}:59Z"
    state = {"phase": phase, "lastTransitionTime": f"2026-03-02T{ended or due}:30Z"}
    status = {"state": state, "runningDuration": took}
    return msgspec.convert({"metadata": metadata, "status": status}, VolcanoJob)
