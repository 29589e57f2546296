"""What pods hold that other pods may have to wait for: host ports, disks, claims, and volumes of a driver or a class.

A pod that asks for such a thing goes by the pods that hold the same one, and by what storage there is of it. Things are
named a little too widely (a port on whatever address), so that what waits wakes once too often rather than too late.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from volcano_py.state.task_class import TaskClass
from volcano_py.state.volumes.needs import BoundNeed, OpenNeed, Shareable
from volcano_py.state.volumes.storage import Storage


class Thing(msgspec.Struct, frozen=True, array_like=True):
    """`kind` is a constant of this module, `name` says which of that kind."""

    kind: str
    name: str


Things = frozenset[Thing]

PORT: Final = "host port"
DISK: Final = "disk"
CLAIM: Final = "PersistentVolumeClaim"
"""One that several pods use."""
VOLUME: Final = "PersistentVolume"
"""One that is kept for a claim."""
DRIVER: Final = "CSI driver"
STORAGE_CLASS: Final = "StorageClass"
USE: Final = Thing("use of nodes", "")
"""Every pod holds some."""


def things_of(task_class: TaskClass, storage: Storage) -> Things:
    """What a pod of the class asks for, and holds once it has a place."""
    if not (task_class.host_ports or task_class.disks or task_class.volumes):
        return frozenset()
    return frozenset(_things(task_class, storage))


def _things(task_class: TaskClass, storage: Storage) -> Iterator[Thing]:
    for _, protocol, number in task_class.host_ports:
        yield Thing(PORT, f"{number}/{protocol}")
    for disk in task_class.disks:
        yield Thing(DISK, f"{disk.source} {disk.name}")
    for need in task_class.volumes:
        if isinstance(need, Shareable) and need.claim:
            yield Thing(CLAIM, need.claim)
        if isinstance(need, BoundNeed):
            yield Thing(DRIVER, need.driver)
        elif isinstance(need, OpenNeed):
            yield Thing(STORAGE_CLASS, need.storage_class)
            if need.reserved:
                yield Thing(VOLUME, need.reserved)
            if (storage_class := storage.classes.get(need.storage_class)) is not None:
                yield Thing(DRIVER, storage_class.provisioner)


def changed_between(before: Storage, after: Storage) -> Iterator[Thing]:
    """The things of which there is something else, or in another number."""
    if before is after:
        return
    for name in before.tracked ^ after.tracked:
        yield from (
            Thing(STORAGE_CLASS, each.metadata.name) for each in after.classes.values() if each.provisioner == name
        )
    for kind, one, other in (
        (STORAGE_CLASS, before.classes, after.classes),
        (STORAGE_CLASS, before.free, after.free),
        (STORAGE_CLASS, before.capacities, after.capacities),
        (VOLUME, before.kept, after.kept),
        (DRIVER, before.limits, after.limits),
    ):
        yield from (Thing(kind, name) for name in _differing(one, other))


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    return (name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
