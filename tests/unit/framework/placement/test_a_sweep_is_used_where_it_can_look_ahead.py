"""Which strategy places several tasks of a class: a sweep where plugins can look ahead, else one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.sessions import gang, node, open_session
from volcano_py.framework.domain_filters import DomainFilter, closed_filter
from volcano_py.framework.domain_scores import DomainScore
from volcano_py.framework.placement.class_state import Candidates
from volcano_py.framework.placement.evaluator import Evaluator
from volcano_py.framework.placement.strategies import Strategies
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.views import Codes, Counts, NodeView, Scores
from volcano_py.state.task_class import TaskClass


class Filters(Plugin):
    name = "filters"

    def domain_filter(self, task_class: TaskClass, view: NodeView) -> DomainFilter | None:
        return DomainFilter(np.zeros(len(view), dtype=np.intp), np.zeros(1, dtype=np.int32), closed_filter(1, 1).ahead)


class FiltersToo(Filters):
    name = "filters-too"


class DomainScores(Plugin):
    name = "domain-scores"

    def domain_order(self, task_class: TaskClass, view: NodeView) -> DomainScore | None:
        return DomainScore(np.zeros(len(view), dtype=np.intp), 1, lambda: 1 / 0)  # type: ignore[arg-type, return-value]


class BatchScores(Plugin):
    name = "batch-scores"

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
        return np.ones(len(view))


class BatchScoresOfDomains(BatchScores):
    name = "batch-scores-of-domains"

    def batch_node_order_reach(self, task_class: TaskClass) -> Reach:
        return Reach.DOMAIN


class Names(Plugin):
    name = "names"

    def best_node(self, task_class: TaskClass, view: NodeView, scores: Scores) -> int | None:
        return None


class Moves(Plugin):
    name = "moves"

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        return np.zeros(len(view), dtype=np.int32)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.ROW


class MovesWithin(Moves):
    name = "moves-within"

    def predicate_room(self, task_class: TaskClass, view: NodeView) -> Counts | None:
        return np.full(len(view), 3, dtype=np.int64)


@pytest.mark.parametrize(
    ("plugins", "strategy"),
    [
        pytest.param([], "PlainSweep", id="only the taken node changes"),
        pytest.param([BatchScores], "PlainSweep", id="until a node is full"),
        pytest.param([Names], "PlainSweep", id="no plugin names a node"),
        pytest.param([MovesWithin], "PlainSweep", id="refusals with a bound"),
        pytest.param([Moves], "OneByOne", id="refusals without a bound"),
        pytest.param([BatchScoresOfDomains], "OneByOne", id="batch scores that change for any node"),
        pytest.param([Filters], "FilteredSweep", id="one filter"),
        pytest.param([Filters, Names], "FilteredSweep", id="one filter, and no plugin names a node"),
        pytest.param([Filters, FiltersToo], "OneByOne", id="two filters"),
        pytest.param([Filters, BatchScores], "OneByOne", id="batch scores over nodes that a filter changes"),
        pytest.param([DomainScores], "DomainSweep", id="domain scores"),
        pytest.param([DomainScores, Filters], "DomainSweep", id="domain scores and one filter"),
        pytest.param([DomainScores, BatchScores], "DomainSweep", id="domain scores until a node is full"),
        pytest.param([DomainScores, Names], "OneByOne", id="a plugin may name a node by what domain scores add up to"),
    ],
)
def test_a_sweep_needs_all_that_changes_to_be_known_ahead(plugins: list[type[Plugin]], strategy: str) -> None:
    opened = open_session(node("n0", cpu="4"), node("n1", cpu="4"), gang("g", pods=4, cpu="1"), tiers=[plugins])
    evaluator, task_class = (
        Evaluator(opened.ssn, opened.ssn.dispatch),
        opened.ssn.task_class(int(opened.rows("g-0")[0])),
    )
    state = evaluator.evaluate(task_class, 0)
    offered = Candidates(state, state.room, state.filters, np.arange(2), evaluator.domain_score(task_class))
    strategies = Strategies(evaluator, np.arange(2))
    assert type(strategies.of(offered, 4)).__name__ == strategy
    assert strategies.of(offered, 1) is strategies.one_by_one
