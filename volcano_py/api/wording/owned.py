"""What people call a PodGroup. One that a controller creates has a UID in its name, so its owner says more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from volcano_py.api.names import GENERATED_GROUP_PREFIX
from volcano_py.api.objects import OwnerReference


def telling_owner(key: str, owner: OwnerReference | None) -> OwnerReference | None:
    """The controlling owner of the PodGroup `key` (namespace/name), if the PodGroup is known by it: generated ones
    are, and those of Volcano Jobs."""
    if owner is None or not owner.name:
        return None
    is_generated = key.rpartition("/")[2].startswith(GENERATED_GROUP_PREFIX)
    return owner if is_generated or owner.is_volcano_job else None


def called(key: str, owner: OwnerReference | None) -> str:
    """`default/web-5d8f (ReplicaSet)`, or the key where that says as much."""
    known_by = telling_owner(key, owner)
    return key if known_by is None else f"{key.partition('/')[0]}/{known_by.name} ({known_by.kind})"


def all_called(owners: Mapping[str, OwnerReference | None]) -> dict[str, str]:
    """PodGroup → what people call it, each by another name: `default/web (Job, PodGroup web-0d3a)` where several are
    `default/web (Job)`. `owners`: PodGroup (namespace/name) → its controlling owner."""
    names = {key: called(key, owner) for key, owner in owners.items()}
    counts = Counter(names.values())
    return {
        key: name if counts[name] == 1 else f"{name.removesuffix(')')}, PodGroup {key.rpartition('/')[2]})"
        for key, name in names.items()
    }


def as_argument(owner: OwnerReference | None) -> str:
    """`ReplicaSet/web-5d8f`, as kubectl takes it; "" without an owner."""
    return "" if owner is None else f"{owner.kind}/{owner.name}"
