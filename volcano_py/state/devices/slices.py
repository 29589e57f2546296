"""From ResourceSlices to the devices of their pool.

Only the slices of the highest generation count, and a pool gives nothing until all of them are there: a driver that
publishes many devices replaces one slice after the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from volcano_py.api.devices.slices import CounterConsumption, CounterSet, DeviceAttribute, ResourceSlice, SliceDevice
from volcano_py.api.objects import NodeSelector
from volcano_py.api.quantity import QuantityError, parse_quantity
from volcano_py.state.devices import wording
from volcano_py.state.devices.counters import Counters, read_counters
from volcano_py.state.devices.device import Device, Value, Version, read_policy
from volcano_py.state.devices.picture import PoolFault

PoolKey = tuple[str, str]
"""Driver, and name of the pool."""


class Content(msgspec.Struct, frozen=True):
    """What a slice says of devices."""

    node: str
    nodes: NodeSelector | None
    selects_by_device: bool
    devices: list[SliceDevice]
    shared_counters: list[CounterSet]


class Slice(msgspec.Struct, frozen=True):
    """A ResourceSlice. `count` is how many slices its pool has in this `generation`."""

    name: str
    pool: PoolKey
    generation: int
    count: int
    content: Content


class Pool(msgspec.Struct, frozen=True, eq=False):
    """What the slices of a pool come to. `counters` is None if no device consumes any. `is_last`: it is tried after all
    pools that are not."""

    contents: tuple[Content, ...]
    devices: tuple[Device, ...] = ()
    counters: Counters | None = None
    fault: PoolFault | None = None
    is_last: bool = False

    def says_the_same_as(self, other: Pool | None) -> bool:
        """Whether nobody can tell them apart: another generation may publish what the one before it did."""
        return other is not None and (self.contents, self.fault) == (other.contents, other.fault)


def read_slice(obj: ResourceSlice) -> Slice:
    spec = obj.spec
    return Slice(
        name=obj.metadata.name,
        pool=obj.pool_key,
        generation=spec.pool.generation,
        count=spec.pool.resource_slice_count,
        content=Content(
            node=spec.node_name,
            nodes=spec.node_selector,
            selects_by_device=spec.per_device_node_selection,
            devices=spec.devices,
            shared_counters=spec.shared_counters,
        ),
    )


def read_pool(key: PoolKey, slices: Iterable[Slice]) -> Pool | None:
    """The pool of these slices, which come in any order; None for none."""
    every = sorted(slices, key=lambda each: each.name)
    if not every:
        return None
    newest = max(each.generation for each in every)
    current = [each for each in every if each.generation == newest]
    contents = tuple(each.content for each in current)
    if any(each.count != len(current) for each in current):
        lack = wording.incomplete(len(current), max(each.count for each in current))
        return Pool(contents, fault=_fault(key, contents, lack, is_incomplete=True))
    if (fault := _contradiction(contents)) is not None:
        return Pool(contents, fault=_fault(key, contents, fault, is_incomplete=False))
    try:
        counters = _counters(contents)
        devices = tuple(_device(key, content, each) for content in contents for each in content.devices)
    except QuantityError as error:
        return Pool(contents, fault=_fault(key, contents, wording.amount_unreadable(error), is_incomplete=False))
    is_last = any(each.binding_conditions for content in contents for each in content.devices)
    return Pool(contents, devices, counters, is_last=is_last)


def _counters(contents: Sequence[Content]) -> Counters | None:
    devices = [device for content in contents for device in content.devices]
    if not any(device.consumes_counters for device in devices):
        return None
    return read_counters([each for content in contents for each in content.shared_counters], devices)


def _fault(key: PoolKey, contents: Sequence[Content], why: str, *, is_incomplete: bool) -> PoolFault:
    nodes = frozenset(content.node for content in contents)
    return PoolFault(*key, is_incomplete, why, frozenset() if "" in nodes else nodes)


def _contradiction(contents: Sequence[Content]) -> str | None:
    """Why the slices cannot all be right, None if they can."""
    devices = [device for content in contents for device in content.devices]
    if (twice := _twice(device.name for device in devices)) is not None:
        return wording.device_twice(twice)
    counter_sets = [each for content in contents for each in content.shared_counters]
    if (twice := _twice(each.name for each in counter_sets)) is not None:
        return wording.counter_set_twice(twice)
    counters = {each.name: each.counters for each in counter_sets}
    for device in devices:
        for consumed in device.consumes_counters:
            if (missing := _missing(consumed, counters)) is not None:
                return wording.counters_missing(device.name, missing)
    return None


def _twice(names: Iterable[str]) -> str | None:
    """The first name that occurs more than once."""
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _missing(consumed: CounterConsumption, counters: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The counter set, or the counter in it, that a device consumes of and that is not there."""
    name = consumed.counter_set
    if name not in counters:
        return name
    return next((f"{name}/{each}" for each in consumed.counters if each not in counters[name]), None)


def _device(key: PoolKey, content: Content, device: SliceDevice) -> Device:
    """Raises QuantityError."""
    driver, pool = key
    for each in device.capacity.values():
        parse_quantity(each.value)
    published = {name: name for name in device.capacity} if device.allow_multiple_allocations else {}
    policies = {name: each.request_policy for name, each in device.capacity.items()}
    return Device(
        driver=driver,
        pool=pool,
        name=device.name,
        attributes=dict(_qualified(driver, _values(device.attributes))),
        capacity=dict(_qualified(driver, {name: str(each.value) for name, each in device.capacity.items()})),
        taints=tuple(device.taints),
        node=content.node,
        nodes=content.nodes,
        binds_to_node=device.binds_to_node,
        is_shared=device.allow_multiple_allocations,
        published=dict(_qualified(driver, published)),
        policies={name: read_policy(each) for name, each in _qualified(driver, policies) if each},
        unusable=_unusable(content, device),
    )


def _values(attributes: Mapping[str, DeviceAttribute]) -> dict[str, Value]:
    """Without those of a type that is not known: whoever asks for one finds that it is missing."""
    values = ((name, _value(each)) for name, each in attributes.items())
    return {name: value for name, value in values if value is not None}


def _value(given: DeviceAttribute) -> Value | None:
    if given.version is not None:
        return Version(given.version)
    return next((each for each in (given.bool_, given.int_, given.string) if each is not None), None)


def _qualified(driver: str, by_name: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """By `domain/name`. Of two spellings of one name the one that has a domain holds."""
    yield from ((f"{driver}/{name}", value) for name, value in by_name.items() if "/" not in name)
    yield from ((name, value) for name, value in by_name.items() if "/" in name)


_FEATURES: Final = (("binding_conditions", wording.HAS_CONDITIONS),)
"""Fields of devices that are not evaluated."""


def _unusable(content: Content, device: SliceDevice) -> str:
    """Why the device is given to nobody, "" for most."""
    if content.selects_by_device:
        return wording.SELECTS_NODES
    return next((why for field, why in _FEATURES if getattr(device, field)), "")
