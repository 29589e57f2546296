"""`networkTopology` of PodGroups, Jobs and their parts: what cannot be, and what can but is hardly meant."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from volcano_py.admission.violation import Violation
from volcano_py.api.objects import PodGroupSpec
from volcano_py.jobs.model import JobSpec

Topology = Mapping[str, Any]
"""`networkTopology` as it came."""


def topology_violations(field: str, topology: Any) -> Iterator[Violation]:
    """`highestTierAllowed` and `highestTierName` say the same thing in two ways."""
    if not isinstance(topology, Mapping):
        return
    allowed, name = topology.get("highestTierAllowed"), topology.get("highestTierName")
    if allowed is not None and name:
        yield Violation(
            field=f"{field}.highestTierName",
            value=str(name),
            rule=f"is set together with highestTierAllowed, {allowed}",
            fix="keep one of them",
        )
    if isinstance(allowed, int) and allowed < 0:
        rule, fix = "is negative", "write 0 or more"
        yield Violation(field=f"{field}.highestTierAllowed", value=str(allowed), rule=rule, fix=fix)


def group_warnings(spec: PodGroupSpec) -> Iterator[str]:
    """What is probably not meant in a PodGroup."""
    yield from _no_limit("spec.networkTopology", spec.network_topology)
    parts = [
        (f"spec.subGroupPolicy[{number}].networkTopology", policy.get("networkTopology"))
        for number, policy in enumerate(spec.sub_group_policy)
    ]
    yield from _parts("spec.networkTopology", spec.network_topology, parts)
    for number, policy in enumerate(spec.sub_group_policy):
        if not policy.get("matchLabelKeys"):
            yield (
                f"spec.subGroupPolicy[{number}].matchLabelKeys is empty, so the policy divides no pods; "
                f"name the labels that its sub-groups differ in"
            )


def job_warnings(spec: JobSpec) -> Iterator[str]:
    """What is probably not meant in a Job."""
    yield from _no_limit("spec.networkTopology", spec.network_topology)
    parts = [
        (f"spec.tasks[{number}].partitionPolicy.networkTopology", task.partition_policy.network_topology)
        for number, task in enumerate(spec.tasks)
        if task.partition_policy is not None
    ]
    yield from _parts("spec.networkTopology", spec.network_topology, parts)


def _parts(whole: str, of_whole: Any, parts: Iterable[tuple[str, Any]]) -> Iterator[str]:
    limit = _hard_tier(of_whole)
    for field, topology in parts:
        yield from _no_limit(field, topology)
        tier = _hard_tier(topology)
        if limit is not None and tier is not None and tier > limit:
            yield (
                f"{field}.highestTierAllowed is {tier}, above {limit} of {whole}, which holds for all pods together; "
                f"lower it to {limit} or less"
            )


def _no_limit(field: str, topology: Any) -> Iterator[str]:
    if not isinstance(topology, Mapping) or not _is_hard(topology):
        return
    if topology.get("highestTierAllowed") is None and not topology.get("highestTierName"):
        yield f"{field} is hard and names no tier, so it limits nothing; set highestTierAllowed or highestTierName"


def _hard_tier(topology: Any) -> int | None:
    """The tier that hard topology is limited to by number."""
    tier = topology.get("highestTierAllowed") if isinstance(topology, Mapping) and _is_hard(topology) else None
    return tier if isinstance(tier, int) else None


def _is_hard(topology: Topology) -> bool:
    return str(topology.get("mode", "hard")) == "hard"
