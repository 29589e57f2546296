"""One unit of a plan is left out and the search repeated; here it is scripted what that finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import numpy as np

from tests.support.sessions import gang, node, open_session
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.planning.draft import Draft, Eviction
from volcano_py.framework.eviction.planning.replacement import replace_one
from volcano_py.framework.eviction.planning.search import Search
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.units import UnitRules
from volcano_py.framework.job import Task
from volcano_py.plugins.gang import Gang

NO_ROWS: Final = np.zeros(0, dtype=np.intp)


class Scripted:
    """A search that finds that node for the task, and evicts nothing for it."""

    def __init__(self, draft: Draft, task: Task, node: int | None) -> None:
        self._draft, self._task, self._node = draft, task, node

    def without(self, _left_out: Sequence[Eviction]) -> Scripted:
        return self

    def run(self) -> bool:
        if self._node is None:
            return False
        self._draft.promise(self._task, self._node)
        return True


class Planned:
    """A plan to evict `v` from n1 for `g`, though n2 is free."""

    def __init__(self) -> None:
        opened = open_session(
            node("n1", cpu="1"),
            node("n2", cpu="1"),
            gang("v", cpu="1", running_on=["n1"]),
            gang("g", cpu="1"),
            tiers=[[Gang]],
        )
        self.ssn = opened.ssn
        job, (row,) = opened.job("g"), opened.rows("g-0").tolist()
        self.task = Task(row, job, self.ssn.task_class(row), 0)
        self.pool = Candidates(self.ssn, UnitRules())
        self.draft = Draft(self.ssn, job, Scheme("preempt", "preemptable", lambda _task: NO_ROWS))
        self.draft.evict(self.pool.gangs.whole(opened.job("v")), self.task)
        self.draft.promise(self.task, self.ssn.nodes.rows["n1"])

    def replace_one(self, *, found: str = "") -> None:
        """`found`: the node that a search without `v` finds."""
        search = Scripted(self.draft, self.task, self.ssn.nodes.rows.get(found))
        replace_one(self.ssn, self.pool, self.draft, cast("Search", search))

    @property
    def places(self) -> list[str]:
        return [self.ssn.nodes.names[place.node] for place in self.draft.places]

    @property
    def victims(self) -> list[str]:
        return [each.unit.job.key.rpartition("/")[2] for each in self.draft.evictions]


def test_a_plan_that_needs_no_eviction_is_better_than_any_other() -> None:
    plan = Planned()
    plan.replace_one(found="n2")
    assert (plan.victims, plan.places) == ([], ["n2"])


def test_a_plan_for_which_there_is_no_other_stays() -> None:
    plan = Planned()
    plan.replace_one()
    assert (plan.victims, plan.places) == (["v"], ["n1"])
