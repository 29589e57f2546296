"""Candidates stay one array until anything moves, and so the groups that rules judge by are found once."""

from __future__ import annotations

from unittest.mock import patch

from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.kinds import CandidateKinds
from volcano_py.framework.eviction.units import UnitRules
from volcano_py.framework.placement.row_groups import group_rows
from volcano_py.plugins.gang import Gang


def opened_with_two_that_run() -> Opened:
    return open_session(
        node("n1", cpu="8"),
        gang("a", pods=2, cpu="1", running_on=["n1"] * 2),
        gang("b", pods=2, cpu="2", running_on=["n1"] * 2),
        gang("p", cpu="1"),
        gang("q", cpu="2"),
        tiers=[[Gang]],
    )


def test_candidates_are_the_same_array_for_all_jobs_until_one_is_evicted() -> None:
    opened = opened_with_two_that_run()
    pool = Candidates(opened.ssn, UnitRules())
    before = pool.in_queue(opened.task("p-0"))
    assert pool.in_queue(opened.task("q-0")) is before
    assert not before.flags.writeable
    statement = opened.ssn.statement()
    row = opened.rows("a-0")
    statement.evict(opened.job("a"), opened.ssn.task_class(int(row[0])), row)
    assert sorted(pool.in_queue(opened.task("q-0")).tolist()) == sorted(set(before.tolist()) - {int(row[0])})
    statement.discard()
    assert pool.in_queue(opened.task("p-0")).tolist() == before.tolist()


def test_candidates_of_a_job_that_holds_places_are_without_its_own() -> None:
    opened = opened_with_two_that_run()
    pool = Candidates(opened.ssn, UnitRules())
    assert sorted(pool.in_queue(opened.task("a-0")).tolist()) == sorted(opened.rows("b-0", "b-1").tolist())


def test_groups_are_found_once_for_an_array_that_is_read_only() -> None:
    opened = opened_with_two_that_run()
    fixed = opened.rows("a-0", "a-1", "b-0", "b-1")
    of = opened.ssn.shared(CandidateKinds).of
    with patch("volcano_py.framework.eviction.kinds.group_rows", side_effect=group_rows) as grouped:
        loose = of(fixed, "task_class")
        of(fixed, "task_class")
        assert grouped.call_count == 2, "it might have been changed in between"
        fixed.setflags(write=False)
        kept = of(fixed, "task_class")
        assert of(fixed, "task_class") == kept
        assert grouped.call_count == 3
        of(fixed, "job")
        assert grouped.call_count == 4
    assert loose[0].tolist() == kept[0].tolist() == [0, 0, 1, 1]
    assert kept[1].tolist() == [0, 2]
