"""The devices of all pools, kept as slices come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np

from volcano_py.api.devices.claims import Allocation
from volcano_py.state.devices.claims import DeviceKey
from volcano_py.state.devices.counters import Counters
from volcano_py.state.devices.device import Device
from volcano_py.state.devices.picture import PoolFault
from volcano_py.state.devices.shares import NO_SHARES, Shares, read_consumed
from volcano_py.state.devices.slices import Pool, PoolKey, Slice, read_pool


class Pools:
    """Pools are read again when one of their slices has changed, and not before they are looked at.

    Attributes:
        version: another number whenever devices or faults have changed; 0 while there was none.
        devices: in the order in which they are tried.
        faults: of pools that are left out, by driver and pool.
        counters: of pools that have some, each with the position of its first device.
        shares: capacity of devices that are shared.
    """

    def __init__(self) -> None:
        self._slices: dict[PoolKey, dict[str, Slice]] = {}
        self._pools: dict[PoolKey, Pool] = {}
        self._stale: set[PoolKey] = set()
        self._positions: dict[DeviceKey, int] = {}
        self.version = 0
        self.devices: tuple[Device, ...] = ()
        self.faults: tuple[PoolFault, ...] = ()
        self.counters: tuple[tuple[int, Counters], ...] = ()
        self.shares = NO_SHARES

    def put(self, old: Slice | None, new: Slice | None) -> None:
        """A slice has come, changed or gone."""
        if old is not None:
            del self._slices[old.pool][old.name]
            self._stale.add(old.pool)
        if new is not None:
            self._slices.setdefault(new.pool, {})[new.name] = new
            self._stale.add(new.pool)

    def settle(self) -> bool:
        """Read the pools whose slices have changed; returns whether devices or faults are others now."""
        differ = [self._read(key) for key in self._stale]
        self._stale.clear()
        if not any(differ):
            return False
        ordered = [self._pools[key] for key in sorted(self._pools)]
        first, last = ([pool for pool in ordered if pool.is_last is late] for late in (False, True))
        self.devices = tuple(device for pool in (*first, *last) for device in pool.devices)
        self.counters = tuple(_counters([*first, *last]))
        self.shares = Shares(self.devices)
        self.faults = tuple(pool.fault for pool in ordered if pool.fault is not None)
        self._positions = {device.key: position for position, device in enumerate(self.devices)}
        self.version += 1
        return True

    def position(self, device: DeviceKey) -> int | None:
        """Where the device is in `devices`; None if it is not."""
        return self._positions.get(device)

    def is_shared(self, device: DeviceKey) -> bool:
        position = self.position(device)
        return position is not None and position in self.shares

    def taken(self, allocation: Allocation | None) -> dict[int, int]:
        """What a claim takes by this allocation of devices that are shared: of each column of `shares`."""
        taken: Counter[int] = Counter()
        for result in () if allocation is None else allocation.devices.results:
            position = self.position((result.driver, result.pool, result.device))
            if position is None or position not in self.shares or result.admin_access:
                continue
            if result.share_id is None:
                taken.update(self.shares.whole(position))
            else:
                taken.update(self.shares.taken(position, read_consumed(result.driver, result.consumed_capacity)))
        return taken

    def have_counters_for(self, devices: Collection[DeviceKey], is_held: Callable[[DeviceKey], bool]) -> bool:
        """Whether what these devices consume is left by the devices that are held."""
        return all(self._has_counters_for(devices, is_held, pool) for pool in {device[:2] for device in devices})

    def _has_counters_for(
        self, devices: Collection[DeviceKey], is_held: Callable[[DeviceKey], bool], key: PoolKey
    ) -> bool:
        pool = self._pools.get(key)
        if pool is None or pool.counters is None:
            return True
        keys = [device.key for device in pool.devices]
        wanted = np.array([device in devices for device in keys], dtype=np.bool_)
        held = np.array([is_held(device) for device in keys], dtype=np.bool_)
        concerned = pool.counters.counter[wanted[pool.counters.device]]
        return bool((pool.counters.left(wanted | held)[concerned] >= 0).all())

    def _read(self, key: PoolKey) -> bool:
        """Read one pool; returns whether it says something else now."""
        known, pool = self._pools.get(key), read_pool(key, self._slices[key].values())
        if pool is None:
            del self._slices[key]
            return self._pools.pop(key, None) is not None
        if pool.says_the_same_as(known):
            return False
        self._pools[key] = pool
        return True


def _counters(pools: Sequence[Pool]) -> Iterator[tuple[int, Counters]]:
    """With the positions of their first devices, if the pools come in this order."""
    first = 0
    for pool in pools:
        if pool.counters is not None:
            yield first, pool.counters
        first += len(pool.devices)
