"""All domain filters of one class of tasks."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.calls.dispatch import Call
from volcano_py.framework.domain_filters import DomainFilter
from volcano_py.framework.views import FITS, Codes, Counts, NodeView
from volcano_py.state.task_class import TaskClass


class DomainFilters:
    """All domain filters of one class at this moment; `codes` [N] has the first refusal of each node."""

    def __init__(self, calls: list[Call], task_class: TaskClass, view: NodeView) -> None:
        self._filters: list[tuple[Call, DomainFilter]] = []
        self.codes: Codes = np.zeros(len(view), dtype=np.int32)
        for call in calls:
            domain_filter: DomainFilter | None = call(task_class, view)
            if domain_filter is not None:
                self._filters.append((call, domain_filter))
                self.codes = np.where(self.codes == FITS, domain_filter.codes.take(domain_filter.groups), self.codes)

    def __len__(self) -> int:
        return len(self._filters)

    @property
    def sole(self) -> tuple[Call, DomainFilter] | None:
        """The filter and the call it came from, when there is exactly one."""
        return self._filters[0] if len(self._filters) == 1 else None

    def open_room(self, room: Counts) -> Counts:
        """[N] the room of open nodes, 0 for closed ones."""
        return np.where(self.codes == FITS, room, 0)

    def refuse(self, codes: Codes) -> Codes:
        """[N] `codes`, with the filters' refusals where they have none."""
        return np.where(codes == FITS, self.codes, codes)
