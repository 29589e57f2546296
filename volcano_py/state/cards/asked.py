"""What a pod asks of GPUs that it shares with others, and which GPUs it wants.

Which cards it gets has to be chosen: the sums that a node offers say little. With HAMi's device plugin, each container
asks for itself; with Volcano's older one, the pod asks as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Final

import msgspec

from volcano_py.api import names
from volcano_py.api.bounds import CARDS
from volcano_py.api.objects import Container, Pod
from volcano_py.api.quantity import LARGEST, QuantityError, parse_quantity, to_units


class Sharing(StrEnum):
    """How a pod shares GPUs, by what it asks for. A cluster does it in one of these ways."""

    VGPU = "vgpu"
    GPU_MEMORY = "gpu-memory"
    GPU_NUMBER = "gpu-number"


RESOURCES: Final[Mapping[Sharing, frozenset[str]]] = MappingProxyType(
    {
        Sharing.VGPU: frozenset({names.VGPU_NUMBER, names.VGPU_MEMORY, names.VGPU_CORES}),
        Sharing.GPU_MEMORY: frozenset({names.GPU_MEMORY}),
        Sharing.GPU_NUMBER: frozenset({names.GPU_NUMBER}),
    }
)
PARTS_OF_CARDS: Final = frozenset({"volcano.sh/vgpu-memory-percentage"}).union(*RESOURCES.values())
"""Resources of Volcano's device plugins."""
WHOLE: Final = 100
"""Percent of the cores of a card. Who asks for all of them is alone on it."""
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
    """What a pod asks for. `resources` are the names that it asks something of; only containers that ask count. A pod
    that asks as a whole counts as one container.

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
    sharing: Sharing = Sharing.VGPU

    @property
    def cards(self) -> int:
        """How many devices all containers get together, at most."""
        return sum(min(container.cards, CARDS.most) for container in self.containers)

    @property
    def wishes(self) -> tuple[object, ...]:
        """Which cards will do, whatever is free."""
        return self.mode, self.uuids, self.no_uuids, self.kinds, self.no_kinds

    @property
    def wished_by(self) -> list[str]:
        """The annotations that say so."""
        return [key for key, wish in zip(_WISHES, self.wishes, strict=False) if wish]


def cards_asked(pod: Pod) -> CardsAsked | None:
    """None for a pod that asks for no part of a card, as most."""
    resources = {
        name
        for container in (*pod.spec.containers, *pod.spec.init_containers)
        for amounts in (container.resources.limits, container.resources.requests)
        for name in PARTS_OF_CARDS.intersection(amounts)
        if _amount(container, name)
    }
    if not resources:
        return None
    listed, ways = tuple(sorted(resources)), _ways(resources)
    if ways and ways[0] is not Sharing.VGPU:
        return CardsAsked(resources=listed, containers=_asks_as_a_whole(pod, ways[0]), sharing=ways[0])
    annotations = pod.metadata.annotations
    return CardsAsked(
        resources=listed,
        # (init containers ask for none)
        containers=tuple(asks for asks in map(_asks, pod.spec.containers) if asks.cards),
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


def cards_fault(pod: Pod, asked: CardsAsked) -> str | None:
    """What is wrong with what the pod asks for, or with these annotations."""
    if len(_ways(asked.resources)) > 1:
        return f"asks for {' and '.join(asked.resources)}: a cluster shares GPUs in one of these ways; ask for one"
    if (cores := max((container.cores for container in asked.containers), default=0)) > WHOLE:
        return (
            f"asks for {cores} {names.VGPU_CORES}: these are percent of the cores of each GPU; ask for at most "
            f"{WHOLE}, and for more GPUs by {names.VGPU_NUMBER}"
        )
    for key in _WISHES:
        if (length := len(pod.metadata.annotations.get(key, ""))) > LONGEST_WISH:
            return f"annotation {key} has {length} characters: at most {LONGEST_WISH} are evaluated; leave some out"
    return None


def _asks(container: Container) -> ContainerAsks:
    memory, cores = _amount(container, names.VGPU_MEMORY) or 0, _amount(container, names.VGPU_CORES) or 0
    cards = _amount(container, names.VGPU_NUMBER)
    return ContainerAsks(min(memory, 1) if cards is None else cards, memory, cores)


def _ways(resources: Iterable[str]) -> list[Sharing]:
    return [each for each, of_it in RESOURCES.items() if not of_it.isdisjoint(resources)]


def _asks_as_a_whole(pod: Pod, sharing: Sharing) -> tuple[ContainerAsks, ...]:
    """A part of one card, or so many cards that no other pod uses: what all containers ask for, or one that runs
    before them."""
    (name,) = RESOURCES[sharing]
    before = [_amount(container, name) or 0 for container in pod.spec.init_containers]
    amount = max(sum(_amount(container, name) or 0 for container in pod.spec.containers), *before, 0)
    if not amount:
        return ()
    return (ContainerAsks(1, amount, 0) if sharing is Sharing.GPU_MEMORY else ContainerAsks(amount, 0, WHOLE),)


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
