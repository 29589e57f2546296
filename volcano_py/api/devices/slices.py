"""Devices as drivers publish them (`resource.k8s.io/v1`, dynamic resource allocation)."""

from __future__ import annotations

import msgspec

from volcano_py.api.objects import ApiObject, Integer, NodeSelector, ObjectMeta


class DeviceTaint(ApiObject, frozen=True):
    """`effect` is NoSchedule, NoExecute or None."""

    key: str = ""
    value: str = ""
    effect: str = ""


class DeviceAttribute(ApiObject, frozen=True):
    """One of the four is set."""

    int_: Integer | None = msgspec.field(default=None, name="int")
    bool_: bool | None = msgspec.field(default=None, name="bool")
    string: str | None = None
    version: str | None = None


class ValidRange(ApiObject, frozen=True):
    """`max` None: up to the whole; `step` None: any amount."""

    min: str | int | float = "0"
    max: str | int | float | None = None
    step: str | int | float | None = None


class RequestPolicy(ApiObject, frozen=True):
    """Which amounts claims can take of a capacity: at most one of `valid_values` and `valid_range` is set."""

    default: str | int | float | None = None
    valid_values: list[str | int | float] = []
    valid_range: ValidRange | None = None


class DeviceCapacity(ApiObject, frozen=True):
    value: str | int | float = "0"
    request_policy: RequestPolicy | None = None


class Counter(ApiObject, frozen=True):
    value: str | int | float = "0"


class CounterSet(ApiObject, frozen=True):
    """What devices of a pool have in common: a card of which its parts are devices, too."""

    name: str = ""
    counters: dict[str, Counter] = {}


class CounterConsumption(ApiObject, frozen=True):
    """What a device takes of a set while it is in use."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}


class SliceDevice(ApiObject, frozen=True):
    """What is not evaluated is decoded to be recognised."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    taints: list[DeviceTaint] = []
    consumes_counters: list[CounterConsumption] = []
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    binds_to_node: bool = False
    binding_conditions: list[str] = []
    allow_multiple_allocations: bool = False


class ResourcePool(ApiObject, frozen=True):
    name: str = ""
    generation: Integer = 0
    resource_slice_count: Integer = 0


class ResourceSliceSpec(ApiObject, frozen=True):
    """One of `node_name`, `node_selector`, `all_nodes` and `per_device_node_selection` is set."""

    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str = ""
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: list[SliceDevice] = []
    shared_counters: list[CounterSet] = []


class ResourceSlice(ApiObject, frozen=True):
    """Devices that a driver publishes."""

    metadata: ObjectMeta
    spec: ResourceSliceSpec = ResourceSliceSpec()

    @property
    def pool_key(self) -> tuple[str, str]:
        """Driver and name of its pool."""
        return self.spec.driver, self.spec.pool.name
