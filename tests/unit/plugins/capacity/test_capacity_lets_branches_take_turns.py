"""Whose turn it is: priority, then branch by branch the smaller share of what is deserved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.support.book_keeping import Step, do_and_undo, held, steps
from tests.support.queues.queue_trees import allocate, cpus, jobs, next_queue, opened, queue, reported
from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.actions.allocate import Allocate
from volcano_py.plugins.capacity import Capacity
from volcano_py.state.queues.queue_tree import lay


def shares(session: Opened, *queues: str) -> dict[str, float]:
    facts = reported(session)
    return {name: facts[name]["share"] for name in queues}


# -- the order ----------------------------------------------------------------------------------------------------


def test_the_branch_with_the_smaller_part_of_what_it_deserves_is_next() -> None:
    """b holds more cpus, but less of its own."""
    session = opened(queue("a", deserved=10), queue("b", deserved=100), jobs("ja", "a", 2), jobs("jb", "b", 10))
    assert next_queue(session, "a", "b") == "b"


def test_queues_of_two_branches_are_compared_where_they_part() -> None:
    """a1 holds nothing, but its branch does; among themselves a1 is before a2."""
    session = opened(
        queue("a", deserved=20), queue("a1", "a", deserved=10), queue("a2", "a", deserved=10), queue("b", deserved=20),
        jobs("two", "a2", 6), jobs("jb", "b", 5),
    )  # fmt: skip
    assert shares(session, "a", "a1", "b") == {"a": 0.3, "a1": 0.0, "b": 0.25}
    assert next_queue(session, "a1", "b") == "b"
    assert next_queue(session, "a1", "a2") == "a1"


def test_leaves_of_different_depth_are_compared_branch_by_branch() -> None:
    session = opened(
        queue("a", deserved=10), queue("x", "a", deserved=10), queue("x1", "x", deserved=10), queue("b", deserved=10),
        jobs("jb", "b", 1),
    )  # fmt: skip
    assert next_queue(session, "b", "x1") == "x1"


def test_priority_goes_before_shares() -> None:
    session = opened(
        queue("a", deserved=20), queue("a1", "a", deserved=10, priority=5), queue("b", deserved=20),
        jobs("one", "a1", 9),
    )  # fmt: skip
    assert next_queue(session, "a1", "b") == "a1"


@pytest.mark.parametrize("hierarchy", [True, False])
def test_of_equal_shares_those_that_deserve_something_go_first_then_the_older(hierarchy: bool) -> None:
    session = opened(
        queue("nothing", age=9), queue("young", deserved=5), queue("old", deserved=5, age=5),
        jobs("y", "young", 5), jobs("o", "old", 5), hierarchy=hierarchy,
    )  # fmt: skip
    assert shares(session, "nothing", "young", "old") == {"nothing": 1.0, "young": 1.0, "old": 1.0}
    turns = ["old", "young", "nothing"]
    for first, *rest in (turns, turns[1:]):
        assert next_queue(session, *rest, first) == first


def test_a_queue_beyond_what_it_deserves_goes_after_one_that_deserves_nothing() -> None:
    session = opened(queue("nothing"), queue("beyond", deserved=2), jobs("j", "beyond", 3))
    assert next_queue(session, "beyond", "nothing") == "nothing"


def test_side_by_side_shares_follow_what_is_placed() -> None:
    session = opened(
        queue("a", deserved=10, age=1), queue("b", deserved=10), jobs("ja", "a", 4, running=2),
        jobs("jb", "b", 4, running=1), hierarchy=False,
    )  # fmt: skip
    assert next_queue(session, "a", "b") == "b"
    session.place("jb", {"jb-1": "n1", "jb-2": "n1"})
    assert next_queue(session, "a", "b") == "a"


# -- what comes of it ---------------------------------------------------------------------------------------------


def test_branches_get_what_they_deserve_however_many_queues_they_have() -> None:
    session = opened(
        queue("a", deserved=12),
        *(queue(f"a{n}", "a", deserved=4) for n in range(3)),
        queue("b", deserved=12),
        *(jobs(f"j{n}", f"a{n}", 20, running=0) for n in range(3)),
        jobs("jb", "b", 40, running=0),
        cpu=24,
    )
    assert allocate(session) == {"root": 24, "a": 12, "a0": 4, "a1": 4, "a2": 4, "b": 12}


def test_what_is_left_over_is_shared_in_proportion_to_what_is_deserved() -> None:
    session = opened(
        queue("a", deserved=6), queue("b", deserved=2), jobs("ja", "a", 40, running=0), jobs("jb", "b", 40, running=0),
        cpu=32,
    )  # fmt: skip
    assert allocate(session) == {"root": 32, "a": 24, "b": 8}


def test_a_queue_without_work_leaves_its_part_to_its_siblings_and_they_to_their_cousins() -> None:
    session = opened(
        queue("a", deserved=10), queue("a1", "a", deserved=5), queue("a2", "a", deserved=5), queue("b", deserved=10),
        jobs("one", "a1", 40, running=0), jobs("jb", "b", 3, running=0), cpu=20,
    )  # fmt: skip
    assert allocate(session) == {"root": 20, "a": 17, "a1": 17, "b": 3}


# -- the books ----------------------------------------------------------------------------------------------------

QUEUES = {"a": "", "a1": "a", "a2": "a", "b": ""}
JOBS = {"one": "a1", "two": "a2", "three": "b"}


def busy() -> Opened:
    def job(name: str, cpu: str, memory: str) -> list[Any]:
        return gang(name, pods=5, min_member=1, queue=JOBS[name], running_on=["n1", "n2"], cpu=cpu, memory=memory)

    return open_session(
        node("n1", cpu="32"),
        node("n2", cpu="32"),
        *(queue(name, parent, deserved={"cpu": "8", "memory": "9Gi"}, guarantee=4) for name, parent in QUEUES.items()),
        job("one", "2", "3Gi"),
        job("two", "1", "1Gi"),
        job("three", "700m", "5Gi"),
        tiers=[[(Capacity, {"enableHierarchy": True})]],
        actions=[Allocate],
    )


def books(session: Opened) -> dict[str, tuple[list[int], list[int], float]]:
    """Queue → held, kept and share, as the plugin has them."""
    accounts = session.plugin(Capacity)._accounts.by_row
    return {account.name: (account.held.copy(), account.kept.copy(), account.share) for account in accounts}


def expected(session: Opened) -> dict[str, tuple[list[int], list[int], float]]:
    """The same from the tasks, from the leaves up."""
    ssn, tree = session.ssn, lay(QUEUES | {"default": ""})
    found: dict[str, tuple[list[int], list[int], float]] = {}
    sums = {name: np.zeros(len(ssn.axis), dtype=np.int64) for name in tree.order}
    needs = {name: np.zeros(len(ssn.axis), dtype=np.int64) for name in tree.order}
    for job, name in JOBS.items():
        sums[name] += held(session, job)
        needs[name] += held(session, job)
    for name in reversed(tree.order):
        for child in tree.children.get(name, ()):
            sums[name] += sums[child]
            needs[name] += np.maximum(needs[child], ssn.queues[child].guarantee)
        facts = reported(session).get(name, {"deserved": {"cpu": 16_000, "memory": 18 * 2**30}})
        parts = [sums[name][dim] / facts["deserved"][ssn.axis.names[dim]] for dim in (0, 1) if facts["deserved"]]
        found[name] = sums[name].tolist(), (needs[name] - sums[name]).tolist(), max(parts, default=1.0)
    return found


@given(steps(JOBS, most=20))
def test_sums_of_all_queues_follow_the_tasks_and_a_discard_restores_them(steps: list[Step]) -> None:
    session = busy()
    for _ in do_and_undo(session, steps, books):
        assert books(session) == expected(session)


def test_sums_reported_at_the_end_are_those_of_the_tree() -> None:
    session = opened(
        queue("a"), queue("a1", "a"), queue("a2", "a"), jobs("one", "a1", 5, running=2), jobs("two", "a2", 3, running=0)
    )
    assert cpus(session, "allocated") == {"root": 2, "a": 2, "a1": 2}
    assert cpus(session, "request") == {"root": 8, "a": 8, "a1": 5, "a2": 3}
