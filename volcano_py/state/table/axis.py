"""The resource axis: which column of a table stands for which resource, and in what unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from volcano_py.api.bounds import RESOURCES
from volcano_py.state.table.units import is_counted

IntVector = NDArray[np.int64]
"""One value per resource, shape [R]."""

CPU: Final = 0
MEMORY: Final = 1
PODS: Final = 2
_FIRST: Final = ("cpu", "memory", "pods")

LARGEST_SUM: Final = 2**56
"""Cap on what queues and PodGroups speak of, many pods' worth: 64 PiB of memory, and sums of 60 of them fit."""

_UNLIMITED: Final = 2**62
UNLIMITED: Final = np.int64(_UNLIMITED)
"""A ceiling that never binds. Sums of real amounts stay below it (api/quantity.LARGEST)."""


class TooManyResourcesError(ValueError):
    """The axis is full: there would be more names than may be counted (`api/bounds.py`)."""


class ResourceAxis:
    """Ordered resource names; grows at the end only, so that a column never changes its meaning."""

    def __init__(self, names: tuple[str, ...] = _FIRST) -> None:
        self.names = names
        self._index = {name: position for position, name in enumerate(names)}

    def __len__(self) -> int:
        return len(self.names)

    def index(self, name: str) -> int | None:
        return self._index.get(name)

    def with_names(self, names: Mapping[str, object], most: int = RESOURCES.most) -> ResourceAxis:
        """An axis that has all counted `names` too (itself when it has them already).

        Raises:
            TooManyResourcesError: the axis would exceed `most`.
        """
        new = sorted(name for name in names if name not in self._index and is_counted(name))
        if not new:
            return self
        if len(self.names) + len(new) > most:
            raise TooManyResourcesError(
                f"resource {new[0]!r}: the cluster already uses {len(self.names)} resource names and at most"
                f" {most} are counted; use an existing name"
            )
        return ResourceAxis(self.names + tuple(new))

    def vector(self, units: Mapping[str, int]) -> IntVector:
        """Whole units by name as a row; names that are not on the axis are left out."""
        row = np.zeros(len(self.names), dtype=np.int64)
        for name, value in units.items():
            if (position := self._index.get(name)) is not None:
                row[position] = value
        return row

    def amounts(self, row: IntVector | list[int], *, keep_zero: bool = False) -> dict[str, int]:
        """A row as name → whole units, without zeros and without what is unlimited."""
        values: list[int] = row if isinstance(row, list) else row.tolist()
        return {
            name: int(value)
            for name, value in zip(self.names, values, strict=False)
            if value < _UNLIMITED and (value or keep_zero)
        }
