"""The devices that there are, and who has them: the picture that a cycle gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.devices.claims import ClaimConfig
from volcano_py.state.devices.counters import Amounts, Counters
from volcano_py.state.devices.device import Device
from volcano_py.state.devices.needs import Ask
from volcano_py.state.devices.shares import NO_SHARES, Shares


class PoolFault(msgspec.Struct, frozen=True):
    """A pool from which nothing is given: slices are missing (`is_incomplete`), or it contradicts itself; `why` for
    people. `nodes`: names of the nodes that its slices are for; empty for pools of the network."""

    driver: str
    pool: str
    is_incomplete: bool
    why: str
    nodes: frozenset[str] = frozenset()

    @property
    def message(self) -> str:
        """`pool n1 of gpu.example.com: 1 of its 2 ResourceSlices are published`."""
        return f"pool {self.pool} of {self.driver}: {self.why}"


class ClaimInfo(msgspec.Struct, frozen=True, eq=False):
    """What of a claim matters when devices are chosen for it, or a pod is added to its users.

    Attributes:
        users: UIDs of those for which it is reserved, or is about to be.
        devices: positions in `DevicePicture.devices` of what it has, or is about to get, each once; without those to
            which it has admin access only.
        taken: of devices that are shared, what it takes, by columns of `DevicePicture.shares`.
        is_given: it has its devices, or is about to get them.
        is_left: all pods for which it is reserved are gone; it gives its devices back in a moment.
        config: of the claim itself, for its allocation.
        name: its own; "" while it is being created.
    """

    uid: str
    users: frozenset[str] = frozenset()
    devices: tuple[int, ...] = ()
    is_given: bool = False
    is_left: bool = False
    config: tuple[ClaimConfig, ...] = ()
    taken: Mapping[int, int] = msgspec.field(default_factory=dict)
    name: str = ""


class DevicePicture(msgspec.Struct, frozen=True, eq=False):
    """The maker never changes any of it afterwards.

    Attributes:
        version: another number whenever `devices`, `faults` or `counters` differ.
        devices: [D] in the order in which they are tried: pools by driver and name, slices by name, devices as they
            are published.
        faults: pools that are left out.
        claims: all that there are, by namespace/name.
        held: [D] how many claims have the device, or are about to get it.
        going: [D] how many of these are about to give it back.
        class_configs: parameters for drivers that a device class adds to allocations, by its name.
        offered: by extended resource, one device of the class that offers it.
        counters: of each pool that has some, with the position of its first device.
        shares: capacity of devices that are shared.
        taken: [K] how much claims have of it, or are about to get.
        going_taken: [K] the part of that of claims that are about to give it back.
    """

    version: int = 0
    devices: tuple[Device, ...] = ()
    faults: tuple[PoolFault, ...] = ()
    claims: Mapping[str, ClaimInfo] = msgspec.field(default_factory=dict)
    class_configs: Mapping[str, tuple[dict[str, Any], ...]] = msgspec.field(default_factory=dict)
    held: NDArray[np.int32] = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    going: NDArray[np.int32] = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    offered: Mapping[str, Ask] = msgspec.field(default_factory=dict)
    counters: tuple[tuple[int, Counters], ...] = ()
    shares: Shares = NO_SHARES
    taken: Amounts = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    going_taken: Amounts = msgspec.field(default_factory=lambda: np.zeros(0, dtype=np.int64))


NO_DEVICES = DevicePicture()
