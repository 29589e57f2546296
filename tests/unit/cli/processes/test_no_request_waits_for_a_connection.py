"""Writers take turns by namespace before they send; behind them there must be no line in which all wait alike."""

from __future__ import annotations

from volcano_py.cli.processes.serving import OTHERS_IN_FLIGHT
from volcano_py.cluster.kubernetes.writing import events, evictor, volume_binder
from volcano_py.cluster.kubernetes.writing import status_writer as status
from volcano_py.cluster.kubernetes.writing.turns import Turns
from volcano_py.daemon.options import BINDS_IN_FLIGHT
from volcano_py.operator.jobs import controller as jobs
from volcano_py.operator.jobs import cron_jobs, job_flows
from volcano_py.operator.podgroups import controller as pod_groups
from volcano_py.operator.queues import commands
from volcano_py.operator.queues import controller as queues


def slots(limit: int) -> int:
    return Turns[None](limit).slots


def test_there_are_as_many_connections_as_writers_have_slots() -> None:
    limits = [
        evictor.IN_FLIGHT, status.IN_FLIGHT, events.IN_FLIGHT, volume_binder.IN_FLIGHT, commands._WORKERS,
        cron_jobs._WORKERS, job_flows._WORKERS, jobs.WORKERS, jobs.IN_FLIGHT, pod_groups.WORKERS, queues._WORKERS,
    ]  # fmt: skip
    assert sum(map(slots, limits)) + slots(BINDS_IN_FLIGHT) <= BINDS_IN_FLIGHT + OTHERS_IN_FLIGHT
