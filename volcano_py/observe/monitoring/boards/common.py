"""What several dashboards ask for."""

from __future__ import annotations

from typing import Final

from volcano_py.observe.monitoring.panels import Panel, Shape, Step, Target, Unit, Variable
from volcano_py.observe.monitoring.queries import WINDOW, Filter, else_zero, gauge, increase, quantile, rate

# The uids are part of the links between dashboards.
CLUSTER_UID: Final = "volcano-py-cluster"
QUEUES_UID: Final = "volcano-py-queues"
WAITS_UID: Final = "volcano-py-waits"
SCHEDULER_UID: Final = "volcano-py-scheduler"

QUEUE: Final = Variable("queue", "Queue", "volcano_queue_info", "queue")
NAMESPACE: Final = Variable("namespace", "Namespace", "volcano_namespace_share", "namespace_name")
RESOURCE: Final = Variable("resource", "Resource", "volcano_queue_resources", "resource", many=False, default="cpu")

CHOSEN: Final[Filter] = {"queue": "=~$queue"}
CHOSEN_BY_NAME: Final[Filter] = {"queue_name": "=~$queue"}
"""The same for Volcano's metrics."""
RESOURCE_CHOSEN: Final[Filter] = {"resource": "$resource"}

AMBER: Final = "orange"
RED: Final = "red"
GREEN: Final = "green"
BLUE: Final = "blue"

_PARENTS: Final = f'label_replace({gauge("queue_info", ("parent",))}, "queue", "$1", "parent", "(.+)")'


def waiting(by: str, where: Filter | None = None, *, metric: str = "pending_pod_groups") -> str:
    """PodGroups that wait by one label; 0 where there are none."""
    found = f"sum by ({by}) ({gauge(metric, ('queue', 'reason'), where)})"
    return else_zero(found, **{by: "none"})


def all_waiting(metric: str) -> str:
    """All that wait, as one number."""
    return else_zero(f"sum({gauge(metric, ('queue', 'reason'))})")


def longest_wait(by: tuple[str, ...] = (), where: Filter | None = None) -> str:
    """Seconds since the oldest that waits was created; 0 where nothing waits."""
    labels = dict.fromkeys(by, "none")
    return else_zero(f"time() - {gauge('pending_oldest_timestamp_seconds', by, where, over='min')}", **labels)


def of_queues(quantity: str, where: Filter, by: str = "queue") -> str:
    """An amount of each queue; a queue without one has no sample."""
    return gauge("queue_resources", (by,) if by == "queue" else ("queue", by), {"quantity": quantity, **where})


def at_most(share: float, metric: str, by: tuple[str, ...] = (), window: str = WINDOW) -> str:
    """What this share of durations did not exceed; 0 where there were none."""
    return else_zero(f"{quantile(share, metric, by, window=window)} >= 0", **dict.fromkeys(by, "none"))


def or_nothing(query: str, where: Filter = CHOSEN) -> str:
    """`query` by queue, and 0 for the queues that have no sample."""
    return f"{query} or on (queue) (0 * {gauge('queue_info', ('queue',), where)})"


def of_leaves(query: str) -> str:
    """`query` by queue without queues that have queues below them: with some plugins their amounts include those."""
    return f"{query} unless on (queue) {_PARENTS}"


def by_queue(query: str) -> str:
    """One of Volcano's metrics, whose label is `queue_name`, with the label that ours have."""
    return f'max by (queue) (label_replace({query}, "queue", "$1", "queue_name", "(.*)"))'


def leads() -> Panel:
    return Panel(
        title="Replicas that lead",
        text="One of them schedules, the others follow. 0: no pod is scheduled; look at the Lease and at the log of "
        "the replicas. With the overlay split-accounts there are 2: scheduler and controllers have a Lease each.",
        shape=Shape.STAT,
        targets=(Target(else_zero(gauge("leader", over="sum"))),),
        steps=(Step(1, GREEN),),
        words=((0, "none", RED),),
        width=4,
        height=4,
    )


def configuration() -> Panel:
    return Panel(
        title="Configuration",
        text="Whether the newest text of the ConfigMap is in force. If it was rejected, the last good one is; an event "
        "on the ConfigMap and `volcano-py config check --live` say what is wrong.",
        shape=Shape.STAT,
        targets=(Target(gauge("config_valid", over="min")),),
        words=((0, "rejected", RED), (1, "in force", GREEN)),
        width=4,
        height=4,
    )


def placements() -> Panel:
    return Panel(
        title="Pods: bound, not placed, failed",
        text="Attempts by result. `unschedulable` counts each pod that a cycle could not place, again and again; "
        "`error` are bindings that failed. A backlog that nothing unblocks is not tried again, so 0 with a backlog is "
        "normal.",
        unit=Unit.PER_SECOND,
        targets=(Target(rate("schedule_attempts_total", ("result",)), "{{result}}"),),
    )


def evictions() -> Panel:
    return Panel(
        title="Evictions by action",
        text="Pods that were evicted for others in the time of one point: preempt and gangpreempt within a queue, "
        "reclaim and gangreclaim for other queues, shuffle by a plugin's choice. `volcano-py explain` says for which "
        "pods.",
        targets=(Target(increase("evictions_total", ("action",), {"outcome": "done"}), "{{action}}"),),
        stacked=True,
    )


def waiting_by_reason(where: Filter | None = None, *, width: int = 12) -> Panel:
    return Panel(
        title="PodGroups that wait, by reason",
        text="Each has one reason; docs/reference/reasons.md says what they mean. NodesRefuse: nodes are full or "
        "unfit. OverCapability, OverDeserved: the queue is at its limit. NeverFits and the reasons of misconfiguration "
        "do not end by themselves.",
        targets=(Target(waiting("reason", where), "{{reason}}"),),
        stacked=True,
        width=width,
    )
