"""The arguments of the nodeorder plugin: Volcano's names and defaults."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from volcano_py.config.arguments import Arguments, argument

_LARGEST: Final = 2**31 - 1
Weight = Annotated[int, Field(ge=-_LARGEST, le=_LARGEST)]


class NodeOrderArguments(Arguments):
    """Weights of the single scores, each of which is from 0 to 100; a weight of 0 switches its score off."""

    least_requested: Weight = argument("leastrequested.weight", 1, "Prefer nodes with the most free cpu and memory.")
    most_requested: Weight = argument("mostrequested.weight", 0, "Prefer nodes with the least free cpu and memory.")
    balanced_resource: Weight = argument(
        "balancedresource.weight",
        1,
        "Prefer nodes on which cpu, memory and nvidia.com/gpu would be used to the same degree.",
    )
    node_affinity: Weight = argument("nodeaffinity.weight", 2, "Weight of preferred node affinity.")
    pod_affinity: Weight = argument(
        "podaffinity.weight", 2, "Weight of preferred affinity and anti-affinity between pods."
    )
    taint_toleration: Weight = argument(
        "tainttoleration.weight", 3, "Prefer nodes with few PreferNoSchedule taints that the pod does not tolerate."
    )
    image_locality: Weight = argument("imagelocality.weight", 1, "Prefer nodes that have the pod's images already.")
    topology_spread: Weight = argument(
        "podtopologyspread.weight", 2, "Weight of `topologySpreadConstraints` with ScheduleAnyway."
    )
    spread_by_default: bool = argument(
        "podtopologyspread.systemDefaulting",
        True,
        "Spread pods without constraints of their own over nodes and zones, with ScheduleAnyway and a maxSkew of 3 and "
        "5, among the pods that their Services and their ReplicaSet, StatefulSet or ReplicationController select.",
    )
