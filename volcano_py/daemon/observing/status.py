"""What /status shows: at a glance, whether this replica leads, the configuration in force, and its last cycle."""

from __future__ import annotations

from typing import Any

from volcano_py.api.report import CycleReport
from volcano_py.config import SchedulerConfiguration


def configuration_status(configuration: SchedulerConfiguration | None, rejected: str) -> dict[str, Any]:
    """The one in force, and what is wrong with the one that was read last, if that is another."""
    if configuration is None:
        return {"digest": None, "actions": [], "plugins": [], "rejected": rejected}
    return {
        "digest": configuration.digest,
        "actions": list(configuration.actions),
        "plugins": [entry.name for entry in configuration.plugins()],
        "rejected": rejected,
    }


def cycle_status(last: CycleReport | None) -> dict[str, Any] | None:
    """The last cycle, None before the first."""
    if last is None:
        return None
    return {
        "number": last.number,
        "seconds": last.duration,
        "binds": last.binds,
        "pending": [
            {"podGroup": job.name, "queue": job.queue, "reason": job.reason, "message": job.message}
            for job in last.pending
        ],
    }
