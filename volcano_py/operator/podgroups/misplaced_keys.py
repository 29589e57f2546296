"""Annotations and labels of a workload that are not read where they are, about its queue and its minimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from volcano_py.api.annotations.reading import Place
from volcano_py.api.names import GROUP_MIN_MEMBER, GROUP_NAME, QUEUE_NAME
from volcano_py.api.objects import ObjectMeta, OwnerReference, Pod, PodGroup
from volcano_py.api.wording.explain import cut
from volcano_py.api.wording.summarize import plural, summarize
from volcano_py.api.workloads import Workload
from volcano_py.jobs.model import VolcanoJob
from volcano_py.operator.podgroups.generated_group import INHERITING_OWNERS, GroupRules, is_generated

_LONGEST: Final = 60  # characters of what a user wrote
_MOST: Final = 5


class Marked(msgspec.Struct, frozen=True):
    """A PodGroup, its pods, and what owns them, where that could be read."""

    group: PodGroup
    pods: Sequence[Pod]
    owner: Workload | None = None
    job: VolcanoJob | None = None


def misplaced(marked: Marked, rules: GroupRules) -> tuple[str, ...]:
    """Sentences without a full stop; one for pods that have the same."""
    if is_generated(marked.group.metadata.key):
        found = _of_generated(marked, inherits=rules.inherit_owner_annotations)
    else:
        found = _of_given(marked, rules.default_queue)
    return tuple(dict.fromkeys(found))[:_MOST]


def _of_given(marked: Marked, default_queue: str) -> Iterator[str]:
    """A PodGroup that its user, or the Job's controller, has created: its spec counts."""
    group, job = marked.group, marked.job
    whose = f"Job {job.metadata.name}" if job is not None else f"PodGroup {group.metadata.name}"
    minimum = "spec.minAvailable" if job is not None else "spec.minMember"
    counts = {
        QUEUE_NAME: ("spec.queue", group.spec.queue or default_queue),
        GROUP_MIN_MEMBER: (minimum, str(group.spec.min_member)),
    }
    # (the PodGroup of a Job repeats what the Job has)
    metadata = group.metadata if job is None else job.metadata
    for key, (field, value) in counts.items():
        for of, place, text in (*_of_pods(marked.pods, key), *((whose, *each) for each in _written(metadata, key))):
            if text != value:
                yield f"{_named(place, key, text, of)} is ignored: {field} of {whose} counts, which is {value}"


def _of_generated(marked: Marked, *, inherits: bool) -> Iterator[str]:
    """A PodGroup that was created for a pod, or for what owns it."""
    controller = marked.group.metadata.controller
    owner = marked.owner.metadata if marked.owner is not None else ObjectMeta(name="")
    where = "the pod" if controller is None or controller.kind == "Pod" else "the pod template"
    of_owner = f"{controller.kind} {controller.name}" if controller is not None else ""
    names_queue = any(QUEUE_NAME in pod.metadata.annotations for pod in marked.pods)
    if not names_queue:
        for of, place, text in _of_pods(marked.pods, QUEUE_NAME):
            yield f"{_named(place, QUEUE_NAME, text, of)} is ignored: write it as an annotation of {where}"
        for place, text in _written(owner, QUEUE_NAME):
            yield f"{_named(place, QUEUE_NAME, text, of_owner)} is ignored: write it as an annotation of {where}"
    if not inherits:
        return
    minimum = str(marked.group.spec.min_member)
    for of, place, text in _of_pods(marked.pods, GROUP_MIN_MEMBER):
        if text != minimum and GROUP_MIN_MEMBER not in owner.annotations:
            fix = _where_the_minimum_belongs(controller)
            yield f"{_named(place, GROUP_MIN_MEMBER, text, of)} is ignored: {fix}"
    for place, text in _written(owner, GROUP_MIN_MEMBER):
        if place is Place.LABEL and GROUP_MIN_MEMBER not in owner.annotations:
            yield f"{_named(place, GROUP_MIN_MEMBER, text, of_owner)} is ignored: write it as an annotation"


def _where_the_minimum_belongs(controller: OwnerReference | None) -> str:
    if controller is None or (controller.group, controller.kind) not in INHERITING_OWNERS:
        return f"create a PodGroup with this minMember, and name it in the annotation {GROUP_NAME} of its pods"
    above = ", or of its Deployment" if controller.kind == "ReplicaSet" else ""
    return f"write it as an annotation of {controller.kind} {controller.name}{above}"


def _of_pods(pods: Sequence[Pod], key: str) -> Iterator[tuple[str, Place, str]]:
    """Which pods have it, where, and with which value; equal ones together."""
    found: dict[tuple[Place, str], list[str]] = {}
    for pod in pods:
        for written in _written(pod.metadata, key):
            found.setdefault(written, []).append(pod.metadata.name)
    for (place, text), names in found.items():
        yield f"{plural('pod', len(names))} {summarize(names)}", place, text


def _written(metadata: ObjectMeta, key: str) -> Iterator[tuple[Place, str]]:
    keys: Mapping[Place, Mapping[str, str]] = {Place.ANNOTATION: metadata.annotations, Place.LABEL: metadata.labels}
    return ((place, values[key]) for place, values in keys.items() if key in values)


def _named(place: Place, key: str, text: str, of: str) -> str:
    return f"{place.value} {key} ({cut(text, _LONGEST)}) of {of}"
