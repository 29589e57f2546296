"""A wider part of the network for a job that is kept together in it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.explain.model import Remedy
from volcano_py.explain.nodes import domains_of
from volcano_py.explain.remedies.candidate import Candidate
from volcano_py.explain.remedies.owners import owner_of
from volcano_py.explain.target import Target
from volcano_py.explain.world import Change, World
from volcano_py.jobs.model import VolcanoJob


def wider_domain(world: World, target: Target) -> Iterator[Candidate]:
    """The narrowest tier beyond its limit in which there is room for as many pods as it needs."""
    group = target.found
    if group is None or not group.spec.network_topology or owner_of(world, target) is not None:
        return
    wider = (each for each in domains_of(world, target) if not each.allowed and each.room >= each.needed)
    domain = next(wider, None)
    if domain is None:
        return
    limit = {"mode": "hard", "highestTierAllowed": domain.tier}
    changes = [Change("PodGroup", target.group, replace(group, spec=replace(group.spec, network_topology=limit)))]
    where, again = f"PodGroup {target.group}", ""
    for job in world.objects(VOLCANO_JOB, VolcanoJob):
        if job.owns(group.metadata):  # whose PodGroup has the limit that the Job was created with
            where, again = f"Job {job.metadata.key}", "recreate it with "
            changes.append(
                Change(VOLCANO_JOB, job.metadata.key, replace(job, spec=replace(job.spec, network_topology=limit)))
            )
    name = domain.tier_name or ("" if domain.name else "the whole cluster")
    tier = f"{domain.tier} ({name})" if name else str(domain.tier)
    before = group.spec.network_topology.get("highestTierName")
    instead = f" instead of highestTierName {before}" if before else ""
    text = f"let {where} spread wider: {again}networkTopology.highestTierAllowed {tier}{instead}"
    yield Candidate(Remedy("wider-domain", text), tuple(changes))
