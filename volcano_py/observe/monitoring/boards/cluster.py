"""The cluster at a glance: does the scheduler work, what waits and why, what is used, and by which namespaces."""

from __future__ import annotations

from typing import Final

from volcano_py.observe.monitoring.boards.common import (
    AMBER,
    CLUSTER_UID,
    NAMESPACE,
    QUEUES_UID,
    RESOURCE,
    RESOURCE_CHOSEN,
    all_waiting,
    configuration,
    evictions,
    leads,
    longest_wait,
    of_leaves,
    of_queues,
    placements,
    waiting,
    waiting_by_reason,
)
from volcano_py.observe.monitoring.panels import Dashboard, Panel, Row, Shape, Step, Target, Unit
from volcano_py.observe.monitoring.queries import else_zero, gauge, increase

_PHASES: Final = ("Pending", "Inqueue", "Running", "Unknown", "Completed")
_ROOT: Final = {"queue": "root", "quantity": "real_capability"}


def _stat(title: str, text: str, query: str, unit: Unit = Unit.COUNT, *steps: Step) -> Panel:
    return Panel(
        title=title, text=text, shape=Shape.STAT, unit=unit, targets=(Target(query),), steps=steps, width=4, height=4
    )


_NOW: Final = Row(
    "Now",
    (
        leads(),
        configuration(),
        _stat("PodGroups that wait", "All that do not run, with any reason.", all_waiting("pending_pod_groups")),
        _stat("Pods that wait", "The pods of these PodGroups.", all_waiting("pending_pods")),
        _stat(
            "Longest wait",
            "Since the oldest PodGroup that waits was created. The dashboard of waits shows its queue and its reason.",
            longest_wait(),
            Unit.SECONDS,
            Step(4 * 3600, AMBER),
        ),
        _stat(
            "Evictions in an hour",
            "Pods that were evicted for others within the last hour.",
            increase("evictions_total", where={"outcome": "done"}, window="1h"),
        ),
    ),
)
_WAITS: Final = Row(
    "What waits, and why",
    (
        waiting_by_reason(),
        Panel(
            title="PodGroups that wait, by queue",
            text="The ten queues with most of them. Click on one for what it holds and deserves. (not found): the "
            "queue that the PodGroup names does not exist.",
            targets=(Target(f"topk(10, {waiting('queue')})", "{{queue}}"),),
            stacked=True,
            leads_to=QUEUES_UID,
        ),
        placements(),
        evictions(),
    ),
)
_USE: Final = Row(
    "What is used",
    (
        Panel(
            title="Used part of the cluster, by resource",
            text="What the pods of all queues hold, divided by what nodes have.",
            unit=Unit.SHARE,
            targets=(
                Target(
                    else_zero(
                        f"sum by (resource) ({of_leaves(of_queues('allocated', {}, by='resource'))}) "
                        f"/ on (resource) {gauge('queue_resources', ('resource',), _ROOT)}",
                        resource="none is used",
                    ),
                    "{{resource}}",
                ),
            ),
        ),
        Panel(
            title="$resource: used and asked for",
            text="What pods hold, what they hold and ask for, and what nodes have (cores, bytes or a count). If more "
            "is asked for than there is, some wait.",
            targets=(
                Target(else_zero(f"sum({of_leaves(of_queues('allocated', RESOURCE_CHOSEN))})"), "used"),
                Target(else_zero(f"sum({of_leaves(of_queues('request', RESOURCE_CHOSEN))})"), "asked for"),
                Target(else_zero(gauge("queue_resources", (), {**_ROOT, **RESOURCE_CHOSEN})), "in the cluster"),
            ),
        ),
        Panel(
            title="PodGroups by phase",
            text="Pending: not admitted to their queue. Inqueue: admitted, not yet running. Unknown: some pods run, "
            "too few for the gang.",
            targets=tuple(
                Target(f"sum({gauge(f'queue_pod_group_{phase.lower()}_count', ('queue_name',))})", phase)
                for phase in _PHASES
            ),
            stacked=True,
        ),
        Panel(
            title="Size of the cluster",
            text="What the last cycle saw.",
            targets=tuple(
                Target(gauge(f"snapshot_{what}"), name)
                for what, name in (("nodes", "nodes"), ("tasks", "pods"), ("jobs", "PodGroups"))
            ),
        ),
    ),
)
_WHO: Final = Row(
    "Who uses it",
    (
        Panel(
            title="Share of each namespace",
            text="The largest part of the cluster that the namespace holds of any resource.",
            unit=Unit.SHARE,
            targets=(
                Target(
                    else_zero(
                        gauge("namespace_share", ("namespace_name",), {"namespace_name": "=~$namespace"}),
                        namespace_name="none",
                    ),
                    "{{namespace_name}}",
                ),
            ),
            stacked=True,
        ),
        Panel(
            title="Jobs in the network, by tier",
            text="PodGroups with networkTopology, by the tier of the smallest HyperNode that holds all of their pods: "
            "the lower, the nearer.",
            targets=(
                Target(
                    else_zero(gauge("network_jobs", ("tier", "tier_name")), tier="none"), "tier {{tier}} {{tier_name}}"
                ),
            ),
            stacked=True,
        ),
    ),
)

CLUSTER: Final = Dashboard(
    uid=CLUSTER_UID,
    title="volcano-py / Cluster",
    text="What the scheduler sees: what waits and why, what is used and by which namespaces.",
    variables=(NAMESPACE, RESOURCE),
    rows=(_NOW, _WAITS, _USE, _WHO),
)
