"""What the pods name and is not there: their PodGroup, and their claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from volcano_py.api.objects import ObjectMeta, Pod, PodGroup, PodGroupSpec, Volume
from volcano_py.api.volumes import PersistentVolumeClaim, StorageClass
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
    names, changes = _without(target, partial(_missing_claim, world))
    if names:
        yield Candidate(missing_claims_remedy(names), changes)


def missing_classes(world: World, target: Target) -> Iterator[Candidate]:
    """All storage classes at once; as for claims."""
    names, changes = _without(target, partial(_missing_class, world))
    if names:
        text = (
            f"create the StorageClass{'es' * (len(names) > 1)} {', '.join(names)}, with volumes that every node can use"
        )
        yield Candidate(Remedy("claim", text), changes)


def _without(target: Target, lacks: Callable[[Pod, Volume], str]) -> tuple[list[str], tuple[Change, ...]]:
    """What the volumes of waiting pods lack, and the pods without these volumes."""
    names: dict[str, None] = {}
    changes: list[Change] = []
    for pod in target.waiting:
        missing = {volume.name: name for volume in pod.spec.volumes if (name := lacks(pod, volume))}
        if missing:
            names |= dict.fromkeys(missing.values())
            volumes = [volume for volume in pod.spec.volumes if volume.name not in missing]
            changes.append(Change("Pod", pod.metadata.key, replace(pod, spec=replace(pod.spec, volumes=volumes))))
    return list(names), tuple(changes)


def missing_claims_remedy(names: Sequence[str]) -> Remedy:
    """To create the claims of these names."""
    claims = f"{plural('PersistentVolumeClaim', len(names))} {', '.join(names)}"
    uses = "a volume" if len(names) == 1 else "volumes"
    return Remedy("claim", f"create the {claims}, with {uses} that every node can use")


def _missing_claim(world: World, pod: Pod, volume: Volume) -> str:
    """The name of the volume's claim that does not exist; "" where there is nothing to create."""
    name, found = _claim(world, pod, volume)
    return name if found is None else ""


def _missing_class(world: World, pod: Pod, volume: Volume) -> str:
    """The name of the class that the volume's claim waits for and that does not exist; "" where there is none."""
    _, found = _claim(world, pod, volume)
    name = (found.spec.storage_class_name or "") if found is not None and not found.spec.volume_name else ""
    there = world.simulation.cluster.get("StorageClass", name, StorageClass) if name else None
    return name if there is None else ""


def _claim(world: World, pod: Pod, volume: Volume) -> tuple[str, PersistentVolumeClaim | None]:
    """The name of the volume's claim, "" without one, and the claim."""
    name = volume.persistent_volume_claim.claim_name if volume.persistent_volume_claim is not None else ""
    key = f"{pod.metadata.namespace}/{name}"
    return name, world.simulation.cluster.get("PersistentVolumeClaim", key, PersistentVolumeClaim)
