"""What a pod asks of GPUs that it shares with others, container by container, and which GPUs it wants.

Which cards it gets has to be chosen: the sums that a node offers say little.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

import msgspec

from volcano_py.api import names
from volcano_py.api.bounds import CARDS
from volcano_py.api.objects import Container, Pod
from volcano_py.api.quantity import LARGEST, QuantityError, parse_quantity, to_units

VGPU: Final = frozenset({names.VGPU_NUMBER, names.VGPU_MEMORY, names.VGPU_CORES})
PARTS_OF_CARDS: Final = VGPU | {
    "volcano.sh/gpu-memory",
    "volcano.sh/gpu-number",
    "volcano.sh/vgpu-memory-percentage",
}
"""Resources of Volcano's device plugins."""
_WISHES: Final = (
    names.VGPU_MODE,
    names.VGPU_USE_UUID,
    names.VGPU_NO_USE_UUID,
    names.VGPU_USE_TYPE,
    names.VGPU_NO_USE_TYPE,
    names.VGPU_GROUP_POLICY,
)
_WISH_SET: Final = frozenset(_WISHES)
LONGEST_WISH: Final = 16_384
"""Characters of one of these annotations: some 400 UUIDs."""
_SPREAD: Final = "spread"


class ContainerAsks(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a container asks for: `cards`, and of each of them `memory` in MB (0: all of it) and `cores` in percent."""

    cards: int
    memory: int
    cores: int


class CardsAsked(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """What a pod asks for. `resources` are the names that it asks something of; only containers that ask count.

    Lists of UUIDs hold whole ones; those of types hold parts of them, in lower case. An empty `uuids` or `kinds` allows
    all. With `apart`, no two pods of its PodGroup are to be on one card.
    """

    resources: tuple[str, ...]
    containers: tuple[ContainerAsks, ...] = ()
    mode: str = ""
    uuids: tuple[str, ...] = ()
    no_uuids: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    no_kinds: tuple[str, ...] = ()
    apart: bool = False

    @property
    def cards(self) -> int:
        """How many devices all containers get together, at most."""
        return sum(min(container.cards, CARDS.most) for container in self.containers)

    @property
    def wishes(self) -> tuple[object, ...]:
        """Which cards will do, whatever is free."""
        return self.mode, self.uuids, self.no_uuids, self.kinds, self.no_kinds


def cards_asked(pod: Pod) -> CardsAsked | None:
    """None for a pod that asks for no part of a card, as most. Init containers ask for none."""
    containers = pod.spec.containers
    resources = {
        name
        for container in (*containers, *pod.spec.init_containers)
        for amounts in (container.resources.limits, container.resources.requests)
        for name in PARTS_OF_CARDS.intersection(amounts)
    }
    if not resources:
        return None
    annotations = pod.metadata.annotations
    return CardsAsked(
        resources=tuple(sorted(resources)),
        containers=tuple(asks for asks in map(_asks, containers) if asks.cards),
        mode=annotations.get(names.VGPU_MODE, ""),
        uuids=_listed(annotations, names.VGPU_USE_UUID),
        no_uuids=_listed(annotations, names.VGPU_NO_USE_UUID),
        kinds=_listed(annotations, names.VGPU_USE_TYPE, lower=True),
        no_kinds=_listed(annotations, names.VGPU_NO_USE_TYPE, lower=True),
        apart=annotations.get(names.VGPU_GROUP_POLICY, "") == _SPREAD,
    )


def wishes_of(annotations: Mapping[str, str]) -> tuple[str | None, ...]:
    """The annotations that `cards_asked` reads, as written; most pods have none."""
    if _WISH_SET.isdisjoint(annotations):
        return ()
    return tuple(annotations.get(key) for key in _WISHES)


def wish_fault(pod: Pod) -> str | None:
    """What is wrong with these annotations of a pod that asks for cards."""
    for key in _WISHES:
        if (length := len(pod.metadata.annotations.get(key, ""))) > LONGEST_WISH:
            return f"annotation {key} has {length} characters: at most {LONGEST_WISH} are evaluated; leave some out"
    return None


def _asks(container: Container) -> ContainerAsks:
    memory, cores = _amount(container, names.VGPU_MEMORY) or 0, _amount(container, names.VGPU_CORES) or 0
    cards = _amount(container, names.VGPU_NUMBER)
    return ContainerAsks(min(memory, 1) if cards is None else cards, memory, cores)


def _amount(container: Container, name: str) -> int | None:
    """A limit, else a request; None if there is neither. What cannot be read is reported elsewhere."""
    resources = container.resources
    text = resources.limits.get(name, resources.requests.get(name))
    if text is None:
        return None
    try:
        return min(to_units(max(parse_quantity(text), Fraction(0))), LARGEST)
    except QuantityError:
        return 0


def _listed(annotations: Mapping[str, str], key: str, *, lower: bool = False) -> tuple[str, ...]:
    text = annotations.get(key, "")
    found = {part.strip() for part in (text.lower() if lower else text).split(",")}
    return tuple(sorted(found - {""}))
