"""Labels, taints and images of all nodes as columns, so that a selector is evaluated once per distinct value.

Built once per `nodes_version` and shared by the cycles in which nodes stay as they are; columns appear when first
asked for. What else follows from the nodes alone may be kept with them, see `Kept`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.api.objects import Taint
from volcano_py.api.quantity import LARGEST
from volcano_py.state.infos import NodeInfo

ABSENT = -1
_NO_KEY: Final = ""  # no label has this key

# Users who may create pods can ask for new selectors without end. At 10,000 nodes this holds some 6,000 masks.
_MOST_KEPT: Final = 64 * 1024 * 1024  # bytes
# What an entry costs in addition to the result and the text of its key, roughly.
_ENTRY: Final = 256  # bytes
# Cycles, those that decide; what waits is looked at in each of them. Most pods with selectors of their own are gone
# long before the memory is full, which in a small cluster would take a hundred thousand of them.
_UNUSED_FOR: Final = 100


class Sized(Protocol):
    """A result that knows how much memory it takes, such as an array."""

    @property
    def nbytes(self) -> int: ...


K = TypeVar("K", bound=Sized)
ScalarT = TypeVar("ScalarT", bound=np.generic)
Key = tuple[str | bytes, ...]
"""What the result is, then what it depends on."""


class _Result(msgspec.Struct, eq=False):
    """`used`: the number of the last cycle that did."""

    value: Sized
    size: int
    used: int


class Kept:
    """Results worth keeping while nodes stay as they are, up to a number of bytes; the longest unused go first. What no
    cycle has used for long goes, too.

    A result is found again by its key alone, so the key says everything other than the nodes that the result depends
    on.
    """

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._bytes = 0
        self._cycle = 0
        self._results: OrderedDict[Key, _Result] = OrderedDict()

    def __len__(self) -> int:
        return len(self._results)

    def next_cycle(self) -> None:
        """Another cycle begins that decides."""
        self._cycle += 1
        while self._results and next(iter(self._results.values())).used < self._cycle - _UNUSED_FOR:
            self._drop_oldest()

    def keep(self, key: Key, make: Callable[[], K]) -> K:
        """The result kept under `key`, made first if there is none. It must not be changed afterwards."""
        found = self._results.get(key)
        if found is not None:
            found.used = self._cycle
            self._results.move_to_end(key)
            return cast("K", found.value)
        made = make()
        size = made.nbytes + sum(map(len, key)) + _ENTRY
        self._results[key] = _Result(made, size, self._cycle)
        self._bytes += size
        while self._bytes > self._most and len(self._results) > 1:
            self._drop_oldest()
        return made

    def forget(self, key: Key) -> None:
        """Drop what is kept under `key`."""
        dropped = self._results.pop(key, None)
        if dropped is not None:
            self._bytes -= dropped.size

    def _drop_oldest(self) -> None:
        _, dropped = self._results.popitem(last=False)
        self._bytes -= dropped.size


class LabelColumn:
    """One label key: `codes` [N] point into `values`, ABSENT where a node lacks the label."""

    def __init__(self, nodes: Sequence[NodeInfo], key: str) -> None:
        slots: dict[str, int] = {}
        codes = [ABSENT] * len(nodes)
        for row, node in enumerate(nodes):
            value = node.labels.get(key)
            if value is not None:
                codes[row] = slots.setdefault(value, len(slots))
        self.codes: NDArray[np.int32] = np.array(codes, dtype=np.int32)
        self.values: list[str] = list(slots)
        self.distinct: bool = sum(code != ABSENT for code in codes) == len(slots)
        """Whether no two nodes have the same value, as with `kubernetes.io/hostname`."""
        self._slots = slots

    @property
    def present(self) -> NDArray[np.bool_]:
        """[N] nodes that have the label, with any value."""
        mask: NDArray[np.bool_] = self.codes != ABSENT
        return mask

    def among(self, values: Iterable[str]) -> NDArray[np.bool_]:
        """[N] nodes that have the label with one of the values."""
        wanted = np.zeros(len(self.values), dtype=np.bool_)
        for value in values:
            if (slot := self._slots.get(value)) is not None:
                wanted[slot] = True
        return self.where(wanted)

    def where(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """[N] nodes whose value is marked in `wanted` [number of values]; nodes without the label are not."""
        if not len(wanted):
            return np.zeros(len(self.codes), dtype=np.bool_)
        found: NDArray[np.bool_] = wanted[self.codes] & (self.codes != ABSENT)
        return found

    def per_node(self, answers: NDArray[ScalarT]) -> NDArray[ScalarT]:
        """[N] each node's answer; `answers` has one for each value, then that of nodes without the label."""
        found: NDArray[ScalarT] = answers[self.codes]  # ABSENT is -1, and so points to the last
        return found


class NodeIndex:
    """Columns over the node rows of one snapshot."""

    def __init__(self, nodes: Sequence[NodeInfo], version: int) -> None:
        self.nodes = nodes
        self.version = version
        self.kept = Kept()
        self._labels: dict[str, LabelColumn] = {}
        self._label_keys: frozenset[str] | None = None
        distinct: dict[tuple[Taint, ...], int] = {}
        self.taint_codes: NDArray[np.int32] = np.array(
            [distinct.setdefault(node.taints, len(distinct)) for node in nodes], dtype=np.int32
        )
        """[N] which of `taint_sets` a node has."""
        self.taint_sets: list[tuple[Taint, ...]] = list(distinct)
        self.taint_effects: frozenset[str] = frozenset(taint.effect for taints in distinct for taint in taints)
        self.unschedulable: NDArray[np.bool_] = np.array([node.unschedulable for node in nodes], dtype=np.bool_)
        self.names: NDArray[np.object_] = np.array([node.name for node in nodes], dtype=np.object_)
        self.name_rank: NDArray[np.int64] = np.empty(len(nodes), dtype=np.int64)
        self.name_rank[np.argsort(self.names, kind="stable")] = np.arange(len(nodes))
        self.rows: dict[str, int] = {node.name: row for row, node in enumerate(nodes) if node.name}

    def label(self, key: str) -> LabelColumn:
        """The column of a label key. Keys that no node has share one, so that asking for many costs nothing."""
        column = self._labels.get(key)
        if column is None:
            if self._label_keys is None:
                self._label_keys = frozenset().union(*(node.labels for node in self.nodes))
            if key not in self._label_keys:
                key = _NO_KEY
            column = self._labels.get(key) or LabelColumn(self.nodes, key)
            self._labels[key] = column
        return column

    def image_sizes(self, image: str) -> NDArray[np.int64]:
        """[N] bytes of the image on each node, 0 where it is absent; absurd sizes are cut off, so that sums fit."""

        def read() -> NDArray[np.int64]:
            sizes = np.array([node.images.get(image, 0) for node in self.nodes], dtype=np.int64)
            return np.clip(sizes, 0, LARGEST)

        return self.kept.keep(("image", image), read)
