"""The remedies that help, cheapest first: each has made the workload start on the changed copy."""

from __future__ import annotations

from typing import Final

from volcano_py.explain.remedies.candidate import Candidate, helps
from volcano_py.explain.remedies.of_cluster import cordoned_nodes, higher_priority, more_nodes, other_actions
from volcano_py.explain.remedies.of_gang import fewer_pods, lower_minimum, missing_pods, smaller_pods
from volcano_py.explain.remedies.of_jobs import jobs_that_end
from volcano_py.explain.remedies.of_missing import missing_claims, missing_classes, missing_group
from volcano_py.explain.remedies.of_network import wider_domain
from volcano_py.explain.remedies.of_queue import larger_quotas, other_queues
from volcano_py.explain.remedies.of_terms import other_terms
from volcano_py.explain.remedies.of_volcano_jobs import minimum_within_replicas, smaller_templates
from volcano_py.explain.target import Target, refused_job
from volcano_py.explain.world import World

_SORTS: Final = (
    missing_group,
    missing_claims,
    missing_classes,
    other_terms,
    wider_domain,
    missing_pods,
    lower_minimum,
    fewer_pods,
    minimum_within_replicas,
    smaller_pods,
    smaller_templates,
    other_queues,
    larger_quotas,
    cordoned_nodes,
    more_nodes,
    jobs_that_end,
    higher_priority,
    other_actions,
)
_FINDS_ITS_SIZE: Final = frozenset(
    {
        fewer_pods,
        minimum_within_replicas,
        smaller_pods,
        smaller_templates,
        cordoned_nodes,
        more_nodes,
        jobs_that_end,
    }
)
"""These try each of their candidates to find the size that is just enough."""


def verified(world: World, target: Target) -> list[Candidate]:
    """What helps; empty when nothing of this does."""
    found: list[Candidate] = []
    if not target.pods and target.found is None and refused_job(world, target) is None:
        return found
    world.tries_left = world.affordable(least=16, most=1000)
    for sort in _SORTS:
        kinds: set[str] = set()
        for candidate in sort(world, target):
            if sort is other_queues and candidate.remedy.kind in kinds:
                continue  # a raise of one queue is enough
            if sort in _FINDS_ITS_SIZE or helps(world, target, candidate):
                kinds.add(candidate.remedy.kind)
                found.append(candidate)
    return found
