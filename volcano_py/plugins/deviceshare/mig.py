"""GPUs that their hardware divides into instances (MIG): which instances a model may have, and which one a pod gets.

A model has groups of instances. A GPU in use has the instances of one group: the node's device plugin divides it when
its first pod starts. An instance is called by its group and its position in it, such as `group2-3`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.annotations.vgpu import MOST_MEMORY, card_key

NONE: Final = -1
"""Where there is no instance."""
MOST_SLOTS: Final = 62
"""Instances of all groups of a model: which of them are in use has to fit in one whole number."""
_IN_IDS: Final = frozenset("[],:;")
_FORM: Final = (
    "write a list of models, each as {models: [A100-SXM4-40GB], allowedGeometries: [{group: group1, geometries: "
    "[{name: 1g.5gb, memory: 5120, count: 7}]}]}"
)


class Instances(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """So many instances of one kind, with `memory` in MB each."""

    name: str
    memory: int
    count: int


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Instances that a GPU may have at a time."""

    group: str
    geometries: tuple[Instances, ...]


class Model(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, dict=True):
    """What GPUs may have whose type contains one of `models`."""

    models: tuple[str, ...]
    allowed_geometries: tuple[Group, ...]

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The instances of all groups, in their order."""
        return tuple(
            Slot(f"{group.group}-{position}", number, memory)
            for number, group in enumerate(self.allowed_geometries)
            for position, memory in enumerate(kind.memory for kind in group.geometries for _ in range(kind.count))
        )

    @cached_property
    def keys(self) -> dict[int, int]:
        """What stands for the name of an instance in the table of what pods hold → its slot."""
        return {card_key(slot.name): number for number, slot in enumerate(self.slots)}


class Slot(msgspec.Struct, frozen=True):
    """One instance, of the group with that number."""

    name: str
    group: int
    memory: int


Models = tuple[Model, ...]


def read_models(value: Any) -> Models:
    """Raises ValueError: this is no such list."""
    try:
        models = msgspec.convert(value, Models)
    except msgspec.ValidationError as error:
        raise ValueError(f"cannot be read ({error}): {_FORM}") from error
    for model in models:
        if (fault := _fault(model)) is not None:
            raise ValueError(f"cannot be used: {fault}")
    return models


def model_of(models: Models, kind: str) -> int:
    """The number of the model of a card of that type; `NONE` if it is unknown."""
    named = (
        number for number, model in enumerate(models) if any(part.lower() in kind.lower() for part in model.models)
    )
    return next(named, NONE)


class MigShelf(msgspec.Struct, eq=False):
    """The cards [K, C] of K nodes: their models (`NONE` for those that are not divided), and which slots are in use, a
    bit for each."""

    models: Models
    model: NDArray[np.int64]
    taken: NDArray[np.int64]

    def offers(self, asked: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """[K, C] the slot that each card has for a container that asks for so many MB [K, C], `NONE` for none, and the
        MB that this one has."""
        slot, memory = np.full_like(asked, NONE), np.zeros_like(asked)
        for model, of_model in self._by_model():
            for amount in np.unique(asked[of_model]).tolist():
                at = of_model & (asked == amount)
                states, which = np.unique(self.taken[at], return_inverse=True)
                found = np.array([_next(model, taken, amount) for taken in states.tolist()])
                slot[at], memory[at] = found[which].T
        return slot, memory

    def largest(self) -> NDArray[np.int64]:
        """[K, C] MB of the largest slot that each card has for a container; 0 for none."""
        found = np.zeros_like(self.taken)
        for model, at in self._by_model():
            states, which = np.unique(self.taken[at], return_inverse=True)
            found[at] = np.array([_largest(model, taken) for taken in states.tolist()])[which]
        return found

    def _by_model(self) -> Iterator[tuple[Model, NDArray[np.bool_]]]:
        """Each model that there is, with its cards [K, C]."""
        for number in np.unique(self.model[self.model != NONE]).tolist():
            yield self.models[number], self.model == number


def bits(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """[…, S] how many pods use each slot → […] a bit for each that is in use."""
    found: NDArray[np.int64] = ((counts > 0) << np.arange(counts.shape[-1], dtype=np.int64)).sum(axis=-1)
    return found


@lru_cache(maxsize=65_536)
def _next(model: Model, taken: int, asked: int) -> tuple[int, int]:
    """The slot for a container that asks for so many MB, and what it has: in the first group that has one, the smallest
    that suffices, the first of these."""
    slots = model.slots
    fits = [number for number in _free(model, taken) if slots[number].memory >= asked]
    if not fits:
        return NONE, 0
    best = min(fits, key=lambda number: (slots[number].group, slots[number].memory, number))
    return best, slots[best].memory


def _largest(model: Model, taken: int) -> int:
    """MB of the largest slot that is free; 0 for none."""
    return max((model.slots[number].memory for number in _free(model, taken)), default=0)


def _free(model: Model, taken: int) -> list[int]:
    """Slots that are free: of all groups, or of the one in use. A card that is to have two has none for others."""
    slots = model.slots
    in_use = {slot.group for number, slot in enumerate(slots) if taken >> number & 1}
    if len(in_use) > 1:
        return []
    return [
        number for number, slot in enumerate(slots) if not taken >> number & 1 and (not in_use or slot.group in in_use)
    ]


def _fault(model: Model) -> str | None:
    groups = [group.group for group in model.allowed_geometries]
    kinds = [kind for group in model.allowed_geometries for kind in group.geometries]
    named = ", ".join(model.models) or "(none)"
    if not (all(model.models) and model.models):
        return "a model has no name: write models: [A100-SXM4-40GB]"
    if len(set(groups)) < len(groups) or any(not group or _IN_IDS & {*group} for group in groups):
        return f"groups of {named} need names that differ, without any of []:;,"
    if any(not 0 < kind.memory <= MOST_MEMORY or kind.count < 1 for kind in kinds):
        return f"instances of {named} need a memory and a count above 0"
    if not 0 < (number := sum(kind.count for kind in kinds)) <= MOST_SLOTS:
        return f"{named} has {number} instances in all groups: 1 to {MOST_SLOTS} are possible"
    return None
