"""What the pods name and is not there: their PodGroup, and their claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from volcano_py.api.objects import ObjectMeta, Pod, PodGroup, PodGroupSpec, Volume
from volcano_py.api.volumes import PersistentVolumeClaim
from volcano_py.api.wording.summarize import plural
from volcano_py.explain.model import Remedy
from volcano_py.explain.remedies.candidate import Candidate
from volcano_py.explain.target import Target
from volcano_py.explain.world import Change, World


def missing_group(world: World, target: Target) -> Iterator[Candidate]:  # noqa: ARG001
    """The PodGroup, in the default queue, for all pods that name it."""
    if target.found is not None or not (target.group and target.pods):
        return
    namespace, _, name = target.group.partition("/")
    metadata = ObjectMeta(namespace=namespace, name=name, uid=f"podgroup-{target.group}")
    group = PodGroup(metadata=metadata, spec=PodGroupSpec(min_member=len(target.pods)))
    text = f"create the PodGroup {target.group}, with a minMember of {len(target.pods)}"
    yield Candidate(Remedy("group", text), (Change("PodGroup", target.group, group),))


def missing_claims(world: World, target: Target) -> Iterator[Candidate]:
    """All claims at once. Where their volumes could be used is not known, so the pods are tried without them."""
    names: dict[str, None] = {}
    changes: list[Change] = []
    for pod in target.waiting:
        missing = {volume.name: claim for volume in pod.spec.volumes if (claim := _missing(world, pod, volume))}
        if missing:
            names |= dict.fromkeys(missing.values())
            volumes = [volume for volume in pod.spec.volumes if volume.name not in missing]
            changes.append(Change("Pod", pod.metadata.key, replace(pod, spec=replace(pod.spec, volumes=volumes))))
    if names:
        yield Candidate(missing_claims_remedy(list(names)), tuple(changes))


def missing_claims_remedy(names: Sequence[str]) -> Remedy:
    """To create the claims of these names."""
    claims = f"{plural('PersistentVolumeClaim', len(names))} {', '.join(names)}"
    uses = "a volume" if len(names) == 1 else "volumes"
    return Remedy("claim", f"create the {claims}, with {uses} that every node can use")


def _missing(world: World, pod: Pod, volume: Volume) -> str:
    """The name of the volume's claim that does not exist; "" where there is nothing to create."""
    name = volume.persistent_volume_claim.claim_name if volume.persistent_volume_claim is not None else ""
    key = f"{pod.metadata.namespace}/{name}"
    found = world.simulation.cluster.get("PersistentVolumeClaim", key, PersistentVolumeClaim)
    return name if found is None else ""
