"""The GPUs of a node that pods may share by their numbers, from its capacity."""

from __future__ import annotations

from typing import Final

from volcano_py.api.annotations.gpu_index import cards_by_number, read_indexes
from volcano_py.api.annotations.vgpu import Card
from volcano_py.api.bounds import CARDS
from volcano_py.api.names import GPU_MEMORY, GPU_NUMBER, GPU_UNHEALTHY
from volcano_py.api.objects import Node
from volcano_py.api.quantity import Rounding
from volcano_py.api.wording.explain import invalid_field
from volcano_py.state.infos import read_amounts

_NAMES: Final[tuple[str, ...]] = (GPU_NUMBER, GPU_MEMORY)


def gpus_of(node: Node) -> tuple[tuple[Card, ...], list[str]]:
    """The GPUs, and what is wrong with the capacity."""
    status = node.status
    # (nodes in manifests may have nothing but allocatable)
    field, amounts = ("capacity", status.capacity) if status.capacity else ("allocatable", status.allocatable)
    if GPU_NUMBER not in amounts:
        return (), []
    path = f"status.{field}"
    units, problems = read_amounts({key: amounts[key] for key in _NAMES if key in amounts}, path, Rounding.DOWN)
    if field == "allocatable":
        problems = []  # (reported with the rest of it)
    number = units.get(GPU_NUMBER, 0)
    if number > CARDS.most:
        fix = f"at most {CARDS.most} are evaluated, and the node offers no parts of GPUs; correct what announces them"
        problems.append(invalid_field(f"{path}.{GPU_NUMBER}", number, fix))
    unhealthy = frozenset(read_indexes(node.metadata.annotations.get(GPU_UNHEALTHY, "")))
    return cards_by_number(number, units.get(GPU_MEMORY, 0), unhealthy), problems
