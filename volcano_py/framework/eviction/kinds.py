"""Candidates grouped by columns of the task table: rules that go by those alone judge one pod of each group.

A full cluster may have hundreds of jobs that wait, all different, and each asks about the same candidates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from volcano_py.framework.placement.row_groups import Numbers, group_rows
from volcano_py.state.table.table import Rows

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

# Arrays of candidates whose groups are kept: those of so many queues.
_MOST_KEPT: Final = 64


class CandidateKinds:
    """See the module. One for all plugins of a cycle (`Session.shared`)."""

    def __init__(self, ssn: Session) -> None:
        self._tasks = ssn.ledger.tasks
        self._known: dict[tuple[int, tuple[str, ...]], tuple[Rows, Numbers, Rows]] = {}

    def of(self, candidates: Rows, *columns: str) -> tuple[Numbers, Rows]:
        """[K] the group of each candidate, and [G] the place of the first of each group. The columns must be of those
        that stay as they are while a pod runs. Kept for arrays that cannot be written to, as `Candidates` gives."""
        key = id(candidates), columns
        known = self._known.get(key)
        if known is not None and known[0] is candidates:
            return known[1], known[2]
        places, firsts = group_rows([getattr(self._tasks, column)[candidates] for column in columns])
        if not candidates.flags.writeable:
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            self._known[key] = candidates, places, firsts
        return places, firsts
