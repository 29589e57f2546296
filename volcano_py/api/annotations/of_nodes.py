"""The annotations and labels of nodes whose values have a form, each with its reader."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from volcano_py.api import names
from volcano_py.api.annotations.gpu_index import checked_indexes
from volcano_py.api.annotations.reading import Annotation, Place, Unreadable
from volcano_py.api.annotations.vgpu import Card, read_register
from volcano_py.api.go_values import parse_bool
from volcano_py.api.objects import ObjectMeta
from volcano_py.api.quantity import LARGEST, parse_quantity


def _plain_amount(text: str) -> int:
    """A number without a unit, 0 or more; rounded down and capped as what nodes offer is."""
    value = parse_quantity(text)
    if value < 0 or not text[-1:].isdigit():
        raise ValueError(text)
    return min(int(value), LARGEST)


def _amount(key: str, fix: str) -> Annotation[int]:
    return Annotation(key, _plain_amount, fix, meanwhile="nothing is added")


OVERSUBSCRIPTION: Final = Annotation(
    names.OVERSUBSCRIPTION_LABEL,
    parse_bool,
    "write true or false",
    otherwise=False,
    meanwhile="it counts as false",
    places=(Place.LABEL,),
)
VGPU_REGISTER: Final[Annotation[tuple[Card, ...]]] = Annotation(
    names.VGPU_REGISTER,
    read_register,
    "write six fields for each card, each UUID once, such as GPU-1a,10,40960,NVIDIA-A100-SXM4-40GB,true,hami-core:",
    meanwhile="the node offers no parts of GPUs",
)
GPU_UNHEALTHY: Final = Annotation(
    names.GPU_UNHEALTHY,
    checked_indexes,
    "write the numbers of GPUs from 0 on with commas between them, such as 0,2",
    meanwhile="only what is such a number counts",
)
_AMOUNTS: Final[Mapping[str, Annotation[int]]] = MappingProxyType(
    {
        "cpu": _amount(names.OVERSUBSCRIPTION_CPU, "write millicores without a unit, such as 1500"),
        "memory": _amount(names.OVERSUBSCRIPTION_MEMORY, "write bytes without a unit, such as 1073741824"),
    }
)


def oversubscribed(metadata: ObjectMeta) -> Mapping[str, int]:
    """Resource → what a node agent says can be used on top of the node's allocatable, in millicores or bytes."""
    if not OVERSUBSCRIPTION.value(metadata.annotations, metadata.labels):
        return {}
    found = {resource: each.value(metadata.annotations) for resource, each in _AMOUNTS.items()}
    return {resource: amount for resource, amount in found.items() if amount}


def unreadable_of_node(metadata: ObjectMeta) -> tuple[Unreadable, ...]:
    """What of a node's annotations and labels cannot be read; amounts count where the label turns them on."""
    switch = OVERSUBSCRIPTION.read(metadata.annotations, metadata.labels)
    found = [each.unreadable(metadata.annotations) for each in (VGPU_REGISTER, GPU_UNHEALTHY)]
    if isinstance(switch, Unreadable):
        found.append(switch)
    elif switch:
        found += [each.unreadable(metadata.annotations) for each in _AMOUNTS.values()]
    return tuple(each for each in found if each is not None)
