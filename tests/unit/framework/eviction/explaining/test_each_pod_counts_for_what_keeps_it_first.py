"""What keeps pods from being evicted: each pod counts once, and what nothing keeps is named."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.explaining.protections import Protections
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.eviction.units import UnitRules
from volcano_py.framework.job import Task
from volcano_py.framework.plugin import Plugin
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows


class KeepsAllButTwo(Plugin):
    """Gives up the two pods that would go first, as a budget does."""

    name = "all-but-two"
    only_protects = True
    guards = frozenset({"preemptable"})

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        return np.arange(len(candidates)) < 2


class KeepsFirst(Plugin):
    """Keeps the pod that would go first."""

    name = "first"
    only_protects = True
    guards = frozenset({"preemptable"})

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        return np.arange(len(candidates)) > 0


class KeepsNone(Plugin):
    """Gives up whatever it is asked about."""

    name = "none"
    only_protects = True
    guards = frozenset({"preemptable"})

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        return np.ones(len(candidates), dtype=np.bool_)


def found(opened: Opened, rules: UnitRules | None = None) -> Protections:
    """For a pod of the gang `urgent`, what keeps those of the gang `batch`."""
    ssn = opened.ssn
    pool = Candidates(ssn, rules or UnitRules())
    scheme = Scheme("preempt", "preemptable", candidates=pool.in_queue)
    return Protections(ssn, pool, scheme, opened.task("urgent-0"), opened.running("batch"))


def test_a_pod_that_two_plugins_keep_counts_for_the_first() -> None:
    opened = open_session(
        node("n1"),
        gang("batch", pods=4, min_member=1, cpu="1", running_on=["n1"] * 4),
        gang("urgent", cpu="1"),
        tiers=[[KeepsAllButTwo, KeepsFirst]],
    )
    protections = found(opened)
    assert [(each.pods, each.by) for each in protections.most] == [
        (2, "by plugin all-but-two"),
        (1, "by plugin first"),
    ]
    assert opened.names(protections.free) == ["batch-2"], "of the two that go first, one is kept"


@pytest.mark.parametrize("plugins", [[KeepsAllButTwo], [KeepsAllButTwo, KeepsFirst]])
def test_the_other_pods_of_a_gang_stay_with_those_that_are_kept(plugins: list[type[Plugin]]) -> None:
    opened = open_session(
        node("n1"),
        gang("batch", pods=4, cpu="1", running_on=["n1"] * 4),
        gang("urgent", cpu="1"),
        tiers=[plugins],
    )
    protections = found(opened)
    assert [(each.pods, each.by) for each in protections.most] == [
        (4, "by plugin all-but-two, as a gang is evicted whole or not at all")
    ]
    assert not len(protections.free)


def test_the_minimum_of_a_gang_that_may_not_go_whole_counts_besides() -> None:
    opened = open_session(
        node("n1"),
        gang("batch", pods=4, cpu="1", running_on=["n1"] * 4),
        gang("urgent", cpu="1"),
        tiers=[[KeepsFirst]],
    )
    protections = found(opened, UnitRules(whole=False))
    assert [(each.pods, each.by) for each in protections.most] == [
        (3, "by the minimums of their gangs, which may not be evicted whole (allowWholeGangs: false)"),
        (1, "by plugin first"),
    ]


def running_gang() -> Opened:
    return open_session(
        node("n1"), gang("batch", pods=4, cpu="1", running_on=["n1"] * 4), gang("urgent", cpu="1"), tiers=[[KeepsNone]]
    )


def test_a_gang_stays_while_one_of_its_pods_is_being_bound() -> None:
    opened = running_gang()
    opened.ssn.ledger.relabel(opened.rows("batch-3"), TaskStatus.BINDING)
    assert [(each.pods, each.by) for each in found(opened).most] == [
        (3, "by their gangs (some of their pods are just starting)")
    ]


def test_a_gang_stays_for_a_moment_when_a_pod_of_it_could_not_be_evicted() -> None:
    opened = running_gang()
    rows = opened.rows("batch-3")
    opened.ssn.snapshot.ledger.tasks.change(rows).retry_at[rows] = opened.ssn.now + 1
    assert [(each.pods, each.by) for each in found(opened).most] == [
        (4, "by their gangs (the eviction of some of their pods has just failed)")
    ]
