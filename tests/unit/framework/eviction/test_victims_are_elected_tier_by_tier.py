"""The victims that plugins agree on: intersections inside a tier, the first tier with a victim, guards everywhere."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest

from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.framework.job import Task
from volcano_py.framework.plugin import Plugin
from volcano_py.state.table.table import Rows

_numbers = count(1)
PODS = ["v-0", "v-1", "v-2", "v-3"]


def gives_up(victims: str | None, *, guard: bool = False, point: str = "preemptable") -> type[Plugin]:
    """A plugin that gives up the pods with these numbers ("02"), or abstains (None)."""

    def report(self: Any, task: Task, candidates: Rows) -> Any:
        type(self).asked += 1
        if victims is None:
            return None
        names = [self.ssn.task_info(row).ref.name for row in candidates.tolist()]
        return np.array([name[-1] in victims for name in names], dtype=np.bool_)

    def opened(self: Any, ssn: Any) -> None:
        self.ssn = ssn

    guards = frozenset({point}) if guard else frozenset()
    members = {
        "name": f"gives-{next(_numbers)}",
        point: report,
        "on_session_open": opened,
        "guards": guards,
        "asked": 0,
    }
    return type("Gives", (Plugin,), members)


def opened_with(*tiers: list[Any]) -> Opened:
    return open_session(
        node("n1", cpu="8"), gang("v", pods=4, cpu="1", running_on=["n1"] * 4), gang("p", cpu="1"), tiers=list(tiers)
    )


def elected(*tiers: list[Any], point: str = "preemptable") -> str:
    """Numbers of the victims."""
    opened = opened_with(*tiers)
    victims = opened.victims(point, "p-0", opened.running("v"))
    assert not opened.ssn.dispatch.failures.counts
    return "".join(name[-1] for name in victims)


@pytest.mark.parametrize("point", ["preemptable", "reclaimable"])
@pytest.mark.parametrize(
    ("tiers", "victims"),
    [
        pytest.param([[]], "", id="no plugin gives up any"),
        pytest.param([["012"]], "012", id="one plugin"),
        pytest.param([["012", "123"]], "12", id="a tier intersects"),
        pytest.param([["01", None]], "01", id="who abstains is left out"),
        pytest.param([[None, None], ["3"]], "3", id="a tier of abstentions is passed over"),
        pytest.param([["0"], ["123"]], "0", id="the first tier with a victim hides the rest"),
        pytest.param([[""], ["12"]], "12", id="no victims are no veto: the next tier is asked"),
        pytest.param([["01", "23"], ["0"]], "0", id="an empty intersection is empty for its tier"),
        pytest.param([["01", "23", "01"]], "", id="and does not start afresh with the next plugin"),
        pytest.param([["01", "23"]], "", id="nothing left anywhere"),
    ],
)
def test_tiers(tiers: list[list[str | None]], victims: str, point: str) -> None:
    assert elected(*[[gives_up(pods, point=point) for pods in tier] for tier in tiers], point=point) == victims


@pytest.mark.parametrize(
    ("tiers", "victims"),
    [
        pytest.param([["0123"], ["!12"]], "12", id="a guard of a later tier filters the deciding one"),
        pytest.param([["!01"], ["0123"]], "01", id="a guard decides its own tier like any other"),
        pytest.param([["!"], ["0123"]], "", id="a guard that gives up none is final for all tiers"),
        pytest.param([["01"], ["!23"], ["0123"]], "23", id="a tier that the guards empty counts as empty"),
        pytest.param([["0123"], ["!123"], ["!012"]], "12", id="guards filter one after the other"),
        pytest.param([["012"], ["!~"]], "012", id="a guard may abstain"),
        pytest.param([["!~"], ["012"]], "012", id="and leaves the decision to the next tier"),
    ],
)
def test_guards(tiers: list[list[str]], victims: str) -> None:
    """`!12` is a guard that gives up 1 and 2, `!~` one that abstains."""

    def plugin(pods: str) -> type[Plugin]:
        reported = pods.removeprefix("!")
        return gives_up(None if reported == "~" else reported, guard=pods.startswith("!"))

    assert elected(*[[plugin(pods) for pods in tier] for tier in tiers]) == victims


@pytest.mark.parametrize("point", ["preemptable", "reclaimable"])
def test_a_plugin_that_only_protects_pods_names_no_victim(point: str) -> None:
    """Not alone in a tier, nor with one that abstains; with one that names victims its answer counts."""

    def spares(others: str) -> type[Plugin]:
        return type("Spares", (gives_up(others, guard=True, point=point),), {"only_protects": True})

    def names(victims: str | None) -> type[Plugin]:
        return gives_up(victims, point=point)

    assert elected([spares("0123")], point=point) == ""
    assert elected([spares("0123"), names(None)], point=point) == ""
    assert elected([spares("012"), names("123")], point=point) == "12"
    assert elected([spares("012")], [names("123")], point=point) == "12"


def test_temporary_protection_does_not_count_for_possible_victims() -> None:
    spares = type("Spares", (gives_up("1", guard=True),), {"only_protects": True, "protects_temporarily": True})
    opened = opened_with([gives_up("012"), spares])
    task, candidates = opened.task("p-0"), opened.running("v")
    now = opened.ssn.ask.victims("preemptable", task, candidates)
    in_time = opened.ssn.ask.victims("preemptable", task, candidates, in_time=True)
    assert (len(now), len(in_time)) == (1, 3)


def test_a_guard_is_not_asked_twice_about_its_own_tier() -> None:
    guard = gives_up("01", guard=True)
    assert elected([gives_up("012"), guard]) == "01"
    assert getattr(guard, "asked", None) == 1


def test_a_guard_whose_switch_is_off_protects_no_pod() -> None:
    guard = gives_up("", guard=True)
    assert elected([gives_up("01")], [(guard, {"enablePreemptable": False})]) == "01"


def test_candidates_that_no_plugin_was_asked_about_are_never_victims() -> None:
    opened = opened_with([gives_up("0123")])
    assert opened.victims("preemptable", "p-0", opened.rows("v-1", "v-3")) == ["v-1", "v-3"]
    assert opened.victims("preemptable", "p-0", opened.rows()) == []


# -- what could be a victim, before any is named ------------------------------------------------------------------


def may_give(victims: str, *, guard: bool = False) -> type[Plugin]:
    """The same for what could ever be given up; it counts how often it was asked."""

    def possible_victims(self: Any, point: str, task: Task, candidates: Rows) -> Any:
        return type(self).preemptable(self, task, candidates)

    return type("May", (gives_up(victims, guard=guard),), {"possible_victims": possible_victims})


@pytest.mark.parametrize(
    ("tiers", "possible"),
    [
        pytest.param([["012", "123"]], "12", id="a tier intersects"),
        pytest.param([["01"], ["3"]], "013", id="any tier may name them"),
        pytest.param([["01", "23"], ["3"]], "3", id="an empty intersection is that of its tier"),
    ],
)
def test_possible_victims_are_those_that_any_tier_could_name(tiers: list[list[str]], possible: str) -> None:
    opened = opened_with(*[[may_give(victims) for victims in tier] for tier in tiers])
    found = opened.ssn.ask.possible_victims("preemptable", opened.task("p-0"), opened.running("v"))
    assert "".join(opened.ssn.task_info(row).ref.name[-1] for row in found.tolist()) == possible


def test_where_the_last_guard_gives_nothing_no_other_plugin_is_asked() -> None:
    first, protects, owner = may_give("0123"), may_give("01", guard=True), may_give("", guard=True)
    opened = opened_with([first, protects], [owner])
    found = opened.ssn.ask.possible_victims("preemptable", opened.task("p-0"), opened.running("v"))
    assert len(found) == 0
    assert [getattr(each, "asked", None) for each in (first, protects, owner)] == [0, 0, 1]
