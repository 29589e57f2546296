"""What is ignored of a PodGroup: annotations and labels that cannot be read, and fields without effect."""

from __future__ import annotations

from collections.abc import Iterator

from volcano_py.api.annotations.known import unreadable_of_pod_group
from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.objects import PodGroup
from volcano_py.api.wording.resource_names import misnamed_of_pod_group


def ignored_of_pod_group(group: PodGroup) -> tuple[Unreadable, ...]:
    """All that can be seen without other objects."""
    return (*unreadable_of_pod_group(group.metadata), *_minimums_of_roles(group), *misnamed_of_pod_group(group))


def unknown_priority_class(name: str) -> Unreadable:
    """What is said of a PodGroup whose PriorityClass does not exist."""
    fix = "create this PriorityClass, or name one that exists"
    return Unreadable("spec.priorityClassName", name, fix, "it counts as absent")


def _minimums_of_roles(group: PodGroup) -> Iterator[Unreadable]:
    """Where minMember is below their sum. A Volcano Job with such a `minAvailable` means it: without `minAvailable` of
    their own, its tasks have their replicas as minimums."""
    spec, owner = group.spec, group.metadata.controller
    needed = sum(minimum for minimum in spec.min_task_member.values() if minimum > 0)
    if needed > spec.min_member and (owner is None or not owner.is_volcano_job):
        fix = f"write {needed} or more, the sum of spec.minTaskMember, or remove that field"
        yield Unreadable("spec.minMember", spec.min_member, fix, "the minimums of roles are ignored")
