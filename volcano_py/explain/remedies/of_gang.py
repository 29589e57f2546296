"""Fewer pods at once, smaller pods, the pods that are missing, and no more minResources than pods ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from msgspec.structs import replace

from volcano_py.api.objects import Pod, PodGroup, ResourceList, ResourceRequirements
from volcano_py.api.quantity import Rounding
from volcano_py.api.volumes import PersistentVolumeClaim
from volcano_py.api.wording.amounts import amount, amounts
from volcano_py.api.wording.summarize import counted
from volcano_py.cluster.manifests import VOLCANO_JOB
from volcano_py.explain.asked import asked, asks
from volcano_py.explain.model import Remedy
from volcano_py.explain.remedies.candidate import Candidate, helps
from volcano_py.explain.remedies.of_missing import missing_claims_remedy
from volcano_py.explain.remedies.owners import owner_of
from volcano_py.explain.remedies.sizes import first_that, sizes_below
from volcano_py.explain.target import Target, refused_job
from volcano_py.explain.world import Change, World
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.names import PVC_ERROR
from volcano_py.jobs.refusal import INVALID, OTHER_SCHEDULER, Refusal, accepted
from volcano_py.state.queues.quotas import REQUESTS, quota_units, resource_of
from volcano_py.state.table.units import canonical


def fewer_pods(world: World, target: Target) -> Iterator[Candidate]:
    """The largest minimum with which the gang starts."""
    group = target.found
    if group is None or group.spec.min_member <= 1 or world.placed(target.group) >= group.spec.min_member:
        return

    def with_minimum(minimum: int) -> Candidate:
        changes = [Change("PodGroup", target.group, _smaller_gang(target, group, minimum))]
        where = f"minMember of PodGroup {target.group}"
        matching = ", with minResources to match" if _has_minimum(target) else ""
        if (owner := owner_of(world, target)) is not None:  # whose controller keeps the group as it says
            where, matching = owner.minimum, ""
        for job in world.objects(VOLCANO_JOB, VolcanoJob):
            if job.owns(group.metadata):
                where, matching = f"minAvailable of Job {job.metadata.key}", ""
                spec = replace(job.spec, min_available=minimum)
                changes.append(Change(VOLCANO_JOB, job.metadata.key, replace(job, spec=spec)))
        text = f"start with fewer pods: lower {where} from {group.spec.min_member} to {minimum}{matching}"
        return Candidate(Remedy("fewer-pods", text), tuple(changes))

    sizes = range(group.spec.min_member - 1, 0, -1)
    found = first_that(sizes, lambda minimum: helps(world, target, with_minimum(minimum), need=minimum))
    if found is not None:
        yield with_minimum(found)


def smaller_pods(world: World, target: Target) -> Iterator[Candidate]:
    """For each resource, the largest request per pod with which the workload starts."""
    if not target.waiting:
        return
    first = target.waiting[0]
    if any(pod.spec.containers != first.spec.containers for pod in target.waiting) or len(first.spec.containers) != 1:
        return
    for name, request in asks(first).items():
        if name == "pods" or name not in first.spec.containers[0].resources.requests:
            continue

        def with_size(size: int, name: str = name, request: int = request) -> Candidate:
            text = (
                f"ask for less: {amount(name, size)} for each pod instead of {amount(name, request)} (recreate the pods"
                f"{', with minResources to match' if _has_minimum(target) else ''})"
            )
            return Candidate(Remedy("smaller-pods", text), tuple(_resized(target, name, canonical(name, size))))

        sizes = sizes_below(world, target, name, request)
        found = first_that(sizes, partial(_fits, world, target, with_size))
        if found is not None:
            yield with_size(found)


def missing_pods(world: World, target: Target) -> Iterator[Candidate]:
    """Copies of a pod until there are as many as the gang needs; or the pods that a Job's controller cannot create."""
    if (refused := refused_job(world, target)) is not None:
        yield _accepted(world, *refused)
        return
    missing = target.need - len(target.pods)
    if missing <= 0 or not target.pods or target.found is None or world.placed(target.group) > 0:
        return
    like = target.pods[0]
    names = [f"{like.metadata.name}-more-{number}" for number in range(missing)]
    copies = tuple(
        replace(like, metadata=replace(like.metadata, name=name, uid=f"{like.metadata.uid}-{name}")) for name in names
    )
    owner = owner_of(world, target)
    text = owner.to_create(missing, target.need) if owner is not None else ""
    text = text or f"create the {counted(missing, 'pod')} that the gang lacks, each as large as {like.metadata.name}"
    yield Candidate(Remedy("missing-pods", text), tuple(Change("Pod", copy.metadata.key, copy) for copy in copies))


def lower_minimum(world: World, target: Target) -> Iterator[Candidate]:  # noqa: ARG001
    """minResources of what the pods that must start together ask for, where they are more than that."""
    group = target.found
    if group is None or group.spec.min_resources is None or len(target.pods) < group.spec.min_member:
        return
    enough = _written(asked(target.pods[: max(group.spec.min_member, 1)]), group.spec.min_resources)
    before = quota_units(group.spec.min_resources, Rounding.UP)
    now = quota_units(enough, Rounding.UP)
    less = {resource_of(name): value for name, value in now.items() if value < before.get(name, 0)}
    if less:
        text = f"lower minResources of PodGroup {target.group} to what its pods ask for: {amounts(less)}"
        lowered = replace(group, spec=replace(group.spec, min_resources=enough))
        yield Candidate(Remedy("min-resources", text), (Change("PodGroup", target.group, lowered),))


def _accepted(world: World, job: VolcanoJob, refusal: Refusal) -> Candidate:
    """What is wrong with the Job, or with what it creates, is corrected."""
    if refusal.reason == PVC_ERROR:
        return _with_claims(world, job)
    if refusal.reason == OTHER_SCHEDULER:
        own = min(world.rules.scheduler_names)
        text = f"create Job {job.metadata.key} again with schedulerName {own}"
        tried = replace(accepted(job), spec=replace(job.spec, scheduler_name=own))
        return Candidate(Remedy("scheduler", text), (Change(VOLCANO_JOB, job.metadata.key, tried),))
    if refusal.reason == INVALID:
        text = f"correct Job {job.metadata.key}: its pods are created as soon as it is valid"
    else:
        text = (
            f"correct what the API server refuses of Job {job.metadata.key}: its controller tries again, and its pods "
            "start when they are accepted"
        )
    return Candidate(Remedy("missing-pods", text), (Change(VOLCANO_JOB, job.metadata.key, accepted(job)),))


def _with_claims(world: World, job: VolcanoJob) -> Candidate:
    """The claims that the Job waits for. Which nodes can use their volumes is not known, so none is used."""
    claims = (claim.metadata for claim in world.objects("PersistentVolumeClaim", PersistentVolumeClaim))
    there = {"", *(claim.name for claim in claims if claim.namespace == job.metadata.namespace)}
    volumes = [each for each in job.spec.volumes if each.volume_claim_name in there]
    missing = dict.fromkeys(each.volume_claim_name for each in job.spec.volumes if each.volume_claim_name not in there)
    tried = replace(job, spec=replace(job.spec, volumes=volumes))
    return Candidate(missing_claims_remedy(tuple(missing)), (Change(VOLCANO_JOB, job.metadata.key, accepted(tried)),))


def _fits(world: World, target: Target, with_size: Callable[[int], Candidate], size: int) -> bool:
    return helps(world, target, with_size(size))


def _smaller_gang(target: Target, group: PodGroup, minimum: int) -> PodGroup:
    least = group.spec.min_resources
    if least is not None:
        least = _written(asked(target.pods[:minimum]), least)
    return replace(group, spec=replace(group.spec, min_member=minimum, min_resources=least, min_task_member={}))


def _has_minimum(target: Target) -> bool:
    return target.found is not None and target.found.spec.min_resources is not None


def _written(asked_for: dict[str, int], like: ResourceList) -> ResourceList:
    requests = {name: name.removeprefix(REQUESTS) for name in like}
    return {name: canonical(of, asked_for[of]) for name, of in requests.items() if of in asked_for}


def _resized(target: Target, name: str, size: str) -> Iterator[Change]:
    smaller: list[Pod] = []
    for pod in target.pods:
        new = pod
        if not pod.spec.node_name:
            container = pod.spec.containers[0]
            requests = {**container.resources.requests, name: size}
            resources = ResourceRequirements(requests=requests, limits={})
            new = replace(pod, spec=replace(pod.spec, containers=[replace(container, resources=resources)]))
            yield Change("Pod", pod.metadata.key, new)
        smaller.append(new)
    group = target.found
    if group is not None and group.spec.min_resources is not None:
        least = _written(asked(smaller[: max(group.spec.min_member, 1)]), group.spec.min_resources)
        yield Change("PodGroup", target.group, replace(group, spec=replace(group.spec, min_resources=least)))
