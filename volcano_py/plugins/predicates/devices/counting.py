"""Counters that devices share: what is left of them, and how many devices that still suffices for.

What is left follows from which devices are in use, so nothing of it is kept. Counters belong to their pool, that is to
a driver and a name; a device in use counts once, however many claims it is in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.predicates.devices.places import NETWORK
from volcano_py.plugins.predicates.devices.use import Free
from volcano_py.state.devices.counters import Amounts, Counters, joined
from volcano_py.state.devices.picture import DevicePicture
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.table.table import Rows

_UNBOUNDED: Final = np.iinfo(np.int64).max


class Counting:
    """The counters of all pools.

    Attributes:
        whole: as one.
    """

    def __init__(self, pools: Sequence[tuple[int, Counters]], size: int) -> None:
        """`size` is the number of devices, `pools` are as in the picture."""
        self._pools = sorted(pools, key=lambda each: each[0])
        self._firsts = np.array([first for first, _ in self._pools], dtype=np.intp)
        self._ends = self._firsts + np.array([len(pool.like) for _, pool in self._pools], dtype=np.intp)
        self.whole = joined(self._pools, size)

    @property
    def nbytes(self) -> int:
        return sum(getattr(self.whole, name).nbytes for name in self.whole.__struct_fields__)

    def affordable(self, free: Free) -> Mask:
        """[D] the free devices for which enough is left of the counters that they consume."""
        if not self._pools:
            return free.devices
        return affordable(self.whole, free, self.whole.left(free.used))

    def spanning(self, node: Rows) -> Mask:
        """[D] devices that share counters with devices of other nodes. `node` [D] as in `Places`."""
        whole, found = self.whole, np.zeros(len(node), dtype=np.bool_)
        low, high = np.full(len(whole.value), _UNBOUNDED), np.full(len(whole.value), NETWORK)
        np.minimum.at(low, whole.counter, node[whole.device])
        np.maximum.at(high, whole.counter, node[whole.device])
        found[whole.device[(low != high)[whole.counter]]] = True
        return found

    def budget(self, seen: Rows, free: Free) -> Budget:
        """For the devices at these positions."""
        return Budget([_Part(first, counters, free) for first, counters in self._pools_of(seen)], free)

    def only(self, devices: Rows) -> tuple[Rows, Counters]:
        """The devices at these positions, and all others of pools with counters that they are in; what they consume, by
        the place in that."""
        chosen = self._pools_of(devices)
        whole = [np.arange(first, first + len(pool.like)) for first, pool in chosen]
        found = np.concatenate([np.setdiff1d(devices, np.concatenate(whole)) if whole else devices, *whole])
        starts = len(found) - np.cumsum([len(pool.like) for _, pool in chosen][::-1])[::-1]
        return found, joined([(at, pool) for at, (_, pool) in zip(starts.tolist(), chosen, strict=True)], len(found))

    def _pools_of(self, devices: Rows) -> list[tuple[int, Counters]]:
        """Those with counters of these devices, each with the position of its first device."""
        at = np.searchsorted(self._firsts, devices, side="right") - 1
        found = np.unique(at[(at >= 0) & (devices < self._ends[at])]) if self._pools else at[:0]
        return [self._pools[each] for each in found.tolist()]


def counting(index: NodeIndex, picture: DevicePicture) -> Counting:
    """That of the picture, made once for each of its versions."""
    key = ("counters of devices", str(picture.version))
    return index.kept.keep(key, lambda: Counting(picture.counters, len(picture.devices)))


class _Part:
    """Of one pool, the first of whose devices is at the position `first`."""

    def __init__(self, first: int, counters: Counters, free: Free) -> None:
        self.first, self.end = first, first + len(counters.like)
        self.counters = counters
        self.free = Free(free.devices[first : self.end], free.used[first : self.end], free.left)
        self.left = counters.left(self.free.used)
        self._costs: dict[int, list[tuple[int, int]]] = {}

    def costs(self, device: int) -> list[tuple[int, int]]:
        """Counters that the device consumes, and how much."""
        found = self._costs.get(device)
        if found is None:
            at = slice(*np.searchsorted(self.counters.device, [device - self.first, device - self.first + 1]).tolist())
            counters, amounts = self.counters.counter[at].tolist(), self.counters.amount[at].tolist()
            found = self._costs[device] = list(zip(counters, amounts, strict=True))
        return found


class Budget:
    """What is left of the counters of some pools, and of the capacity of shared devices. A search takes of it for
    devices, and gives back."""

    def __init__(self, parts: Sequence[_Part], free: Free) -> None:
        self._parts, self._free = parts, free
        self._left: list[list[int]] = [part.left.tolist() for part in parts]
        self._taken: Counter[int] = Counter()
        """Of each column of shared devices."""
        self._uses: Counter[int] = Counter()
        """Of shared devices."""

    def affordable(self) -> Mask:
        """[D] the free devices for which enough is left of counters, as long as nothing is taken."""
        found = self._free.devices.copy() if self._parts else self._free.devices
        for part in self._parts:
            found[part.first : part.end] = affordable(part.counters, part.free, part.left)
        return found

    def most(self, devices: Rows) -> int:
        """How many of these devices can be used together at most, as long as nothing is taken."""
        count = len(devices)
        for part in self._parts:
            candidates = np.zeros(part.end - part.first, dtype=np.bool_)
            candidates[devices[(part.first <= devices) & (devices < part.end)] - part.first] = True
            candidates &= consuming(part.counters, part.free)
            together = can_be_used_together(part.counters, candidates, part.left)
            count += int(together.most.sum()) - int(np.count_nonzero(candidates))
        return count

    def is_free(self, device: int) -> bool:
        return bool(self._free.devices[device])

    def has(self, takings: Sequence[tuple[int, int]]) -> bool:
        """Whether so much is left of a shared device, as long as nothing is taken."""
        return all(self._free.left[column] >= amount for column, amount in takings)

    def share(self, device: int, takings: Sequence[tuple[int, int]]) -> bool:
        """Take so much of a shared device, by columns; False if it is not there."""
        left = self._free.left
        if any(left[column] - self._taken[column] < amount for column, amount in takings):
            return False
        if not self._free.used[device] and not self._uses[device] and not self.take(device):
            return False
        self._taken.update(dict(takings))
        self._uses[device] += 1
        return True

    def give_back_share(self, device: int, takings: Sequence[tuple[int, int]]) -> None:
        """What was taken of a shared device."""
        self._taken.subtract(dict(takings))
        self._uses[device] -= 1
        if not self._free.used[device] and not self._uses[device]:
            self.give_back(device)

    def take(self, device: int) -> bool:
        """Take the counters that the device consumes; False if they are not there."""
        for part, left in zip(self._parts, self._left, strict=True):
            if part.first <= device < part.end:
                costs = part.costs(device)
                if any(left[counter] < amount for counter, amount in costs):
                    return False
                for counter, amount in costs:
                    left[counter] -= amount
        return True

    def give_back(self, device: int) -> None:
        """The counters that were taken for the device."""
        for part, left in zip(self._parts, self._left, strict=True):
            if part.first <= device < part.end:
                for counter, amount in part.costs(device):
                    left[counter] += amount


def affordable(counters: Counters, free: Free, left: Amounts) -> Mask:
    """[D] the free devices for which enough is left [C]. Shared ones that are in use consume nothing more."""
    found = free.devices.copy()
    found[counters.device[counters.amount > left[counters.counter]]] = False
    return found | (free.devices & free.used)


def consuming(counters: Counters, free: Free) -> Mask:
    """[D] devices that consume counters once they are given."""
    found: Mask = (counters.like > 0) & ~free.used
    return found


class Together(msgspec.Struct, frozen=True, eq=False):
    """How many devices of a selection can be used at once, by the counter set that they consume of. A device that
    consumes of two belongs to the first.

    Attributes:
        most: [S] at most.
        is_exact: [S] any so many of them can.
    """

    most: NDArray[np.int64]
    is_exact: Mask


def can_be_used_together(counters: Counters, candidates: Mask, left: Amounts) -> Together:
    """Of the candidates [D], each of which alone can be used; `left` [C].

    A counter that each of them consumes bounds their number. The bound is exact if they consume the same of it, and
    there is enough for all of them of every other counter: such as of the slots of a card, of which each part has its
    own.
    """
    chosen = candidates[counters.device]
    device, counter, amount = counters.device[chosen], counters.counter[chosen], counters.amount[chosen]
    sets, size = counters.counter_set[counter], set_count(counters)
    begins = np.diff(device, prepend=-1) != 0
    home = sets[begins][np.cumsum(begins) - 1]
    count = np.bincount(sets[begins], minlength=size)
    own, users = (np.bincount(each, minlength=len(left)) for each in (counter[sets == home], counter))
    total, least, greatest = np.zeros_like(left), np.full_like(left, _UNBOUNDED), np.zeros_like(left)
    np.add.at(total, counter, amount)
    np.minimum.at(least, counter, amount)
    np.maximum.at(greatest, counter, amount)
    of_all = (own > 0) & (own == count[counters.counter_set])
    bounds = of_all & (least > 0)
    most = count.copy()
    np.minimum.at(most, counters.counter_set[bounds], left[bounds] // least[bounds])
    is_clear = (total <= left) | (bounds & (least == greatest) & (users == own))
    is_exact = np.ones(size, dtype=np.bool_)
    is_exact[counters.counter_set[~is_clear]] = False
    is_exact[home[~is_clear[counter]]] = False
    return Together(most, is_exact)


def set_count(counters: Counters) -> int:
    """S"""
    return int(counters.counter_set.max(initial=-1)) + 1
