"""Waits of jobs: what waits now and why, and how long those have waited that were placed."""

from __future__ import annotations

from typing import Final

from volcano_py.api.reasons import Rank, Reason
from volcano_py.observe.monitoring.boards.common import (
    AMBER,
    CHOSEN,
    QUEUE,
    QUEUES_UID,
    WAITS_UID,
    at_most,
    evictions,
    longest_wait,
    placements,
    waiting_by_reason,
)
from volcano_py.observe.monitoring.panels import Dashboard, Panel, Row, Shape, Step, Target, Unit
from volcano_py.observe.monitoring.queries import buckets, else_zero, gauge

LASTING: Final = tuple(reason.value for reason in Reason if reason.rank in (Rank.MISCONFIGURED, Rank.NEVER_FITS))
"""Reasons that do not end by themselves."""

_LASTING_HERE: Final = {**CHOSEN, "reason": f"=~{'|'.join(LASTING)}"}
# Long enough that there are some in most of them: an average over no jobs is no line.
_HOUR: Final = "1h"
_SHARES: Final = ((0.5, "half"), (0.9, "90 %"), (0.99, "99 %"))

_NOW: Final = Row(
    "What waits now",
    (
        Panel(
            title="By queue and reason",
            text="`volcano-py explain podgroup NAME` says more about one of them, and what would help.",
            shape=Shape.TABLE,
            keys=("queue", "reason"),
            targets=(
                Target(
                    else_zero(gauge("pending_pod_groups", ("queue", "reason"), CHOSEN), queue="none", reason="none"),
                    "PodGroups",
                ),
                Target(
                    else_zero(gauge("pending_pods", ("queue", "reason"), CHOSEN), queue="none", reason="none"), "pods"
                ),
                Target(longest_wait(("queue", "reason"), CHOSEN), "longest wait", Unit.SECONDS),
            ),
            width=16,
        ),
        Panel(
            title="Will not start by themselves",
            text="PodGroups with a mistake, or larger than any node: they wait until their owner changes them.",
            shape=Shape.STAT,
            targets=(Target(else_zero(f"sum({gauge('pending_pod_groups', ('queue', 'reason'), _LASTING_HERE)})")),),
            steps=(Step(1, AMBER),),
            width=8,
        ),
        waiting_by_reason(CHOSEN),
        Panel(
            title="Longest wait, by queue",
            text="Since the oldest PodGroup that waits in the queue was created. A line that rises for hours is a gang "
            "that others overtake, or that can never start.",
            unit=Unit.SECONDS,
            targets=(Target(longest_wait(("queue",), CHOSEN), "{{queue}}"),),
            leads_to=QUEUES_UID,
        ),
    ),
)
_PLACED: Final = Row(
    "How long those waited that were placed (all queues)",
    (
        Panel(
            title="Waits of gangs",
            text="From the creation of a PodGroup until pods of it are placed. What still waits is not in it.",
            shape=Shape.HEATMAP,
            unit=Unit.SECONDS,
            targets=(Target(buckets("job_scheduling_duration_seconds")),),
        ),
        Panel(
            title="Waits of gangs in the last hour",
            text="What half of them, nine of ten, and all but one of a hundred did not exceed. No line: none was "
            "placed.",
            unit=Unit.SECONDS,
            targets=tuple(
                Target(at_most(share, "job_scheduling_duration_seconds", window=_HOUR), name) for share, name in _SHARES
            ),
        ),
        Panel(
            title="From a pod's creation to each stage: 90 % in the last hour",
            text="Watched: the scheduler has seen the pod. Assumed: it has a place. Bound: the API server knows. A gap "
            "between the last two is the API server's.",
            unit=Unit.SECONDS,
            targets=(Target(at_most(0.9, "task_scheduling_duration_seconds", ("stage",), window=_HOUR), "{{stage}}"),),
        ),
        Panel(
            title="From a Job to its pods in the last hour",
            text="How long the job controller takes until a pod of a Volcano Job exists. 0: none was created.",
            unit=Unit.SECONDS,
            targets=tuple(
                Target(at_most(share, "controller_job_to_pod_creation_duration_seconds", window=_HOUR), name)
                for share, name in _SHARES
            ),
        ),
    ),
)
_FLOW: Final = Row("What is placed, what is evicted", (placements(), evictions()))

WAITS: Final = Dashboard(
    uid=WAITS_UID,
    title="volcano-py / Job waits",
    text="What waits and why, and how long gangs waited until they were placed.",
    variables=(QUEUE,),
    rows=(_NOW, _PLACED, _FLOW),
)
