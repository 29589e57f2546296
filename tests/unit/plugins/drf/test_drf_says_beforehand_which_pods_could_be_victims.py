"""drf: an answer for the pods of all nodes together, so that nodes without hope are not looked at one by one.

It may name a pod that is no victim, but must not leave out one that is a victim out of any selection of candidates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.queues.hierarchy import placed_queue
from tests.support.sessions import Opened, PluginChoice, gang, node, open_session
from volcano_py.actions.preempt import Preempt
from volcano_py.actions.reclaim import Reclaim
from volcano_py.framework.action import Action
from volcano_py.framework.calls.combined import CombinedAnswers
from volcano_py.framework.job import Task
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.drf.suppositions import Suppositions
from volcano_py.plugins.priority import Priority
from volcano_py.state.table.table import Rows

NAMESPACES = ("ns1", "ns2")
QUEUES = {"q1": "root/x/q1", "q2": "root/x/q2", "q3": "root/y"}
TREE = (Drf, {"enableHierarchy": True})

JOBS = st.lists(
    st.tuples(
        st.sampled_from(sorted(QUEUES)), st.sampled_from(NAMESPACES), st.integers(1, 5), st.sampled_from((1, 1, 2, 3))
    ),
    min_size=2,
    max_size=8,
)


def cluster(jobs: list[tuple[str, str, int, int]], asking: tuple[str, str, int], choice: PluginChoice) -> Opened:
    """Jobs of running pods, each (queue, namespace, pods, CPUs of a pod), and one pod that waits."""
    queue, namespace, cpu = asking
    return open_session(
        node("n1", cpu=str(max(1, sum(pods * cpus for _, _, pods, cpus in jobs)))),
        *[placed_queue(name, path, "/".join("1" for _ in path.split("/"))) for name, path in QUEUES.items()],
        *[
            gang(
                f"run{number}", namespace=spot, queue=name, pods=pods, min_member=1, cpu=str(cpus), running_on=on(pods)
            )
            for number, (name, spot, pods, cpus) in enumerate(jobs)
        ],
        gang("want", namespace=namespace, queue=queue, cpu=str(cpu)),
        tiers=[[choice]],
    )


def on(pods: int) -> list[str]:
    return ["n1"] * pods


def all_running(session: Opened, jobs: list[tuple[str, str, int, int]]) -> Rows:
    return session.running(*(f"{spot}/run{number}" for number, (_, spot, _, _) in enumerate(jobs)))


ASKING = st.tuples(st.sampled_from(sorted(QUEUES)), st.sampled_from(NAMESPACES), st.integers(1, 3))


@pytest.mark.parametrize(
    ("point", "choice"),
    [("preemptable", Drf), ("preemptable", (Drf, {"enableNamespaceOrder": True})), ("reclaimable", TREE)],
    ids=["between jobs", "between namespaces", "between queues of the tree"],
)
@given(JOBS, ASKING, st.data())
def test_no_victim_is_left_out(
    point: str, choice: PluginChoice, jobs: list[tuple[str, str, int, int]], asking: Any, data: st.DataObject
) -> None:
    session = cluster(jobs, asking, choice)
    ssn, task = session.ssn, session.task(f"{asking[1]}/want-0")
    every_row = all_running(session, jobs)
    selection = every_row[data.draw(st.lists(st.booleans(), min_size=len(every_row), max_size=len(every_row)))]
    possible = set(ssn.ask.possible_victims(point, task, every_row).tolist())
    assert set(ssn.ask.victims(point, task, selection).tolist()) <= possible
    alone = {row for row in every_row.tolist() if len(ssn.ask.victims(point, task, np.array([row], dtype=np.intp)))}
    assert possible == alone, "few kinds of jobs: no pod more than that"


@given(JOBS, ASKING, st.lists(st.integers(0, 7), max_size=6))
def test_what_is_remembered_of_jobs_of_a_kind_is_what_a_fresh_look_says(
    jobs: list[tuple[str, str, int, int]], asking: tuple[str, str, int], evicted: list[int]
) -> None:
    """While pods go one after the other, and once everything is taken back."""
    session = cluster(jobs, asking, TREE)
    ssn, task = session.ssn, session.task(f"{asking[1]}/want-0")
    statement = ssn.statement()
    for number in [*evicted, -1]:
        if number < 0:
            statement.discard()
        elif len(rows := session.running(f"{jobs[number % len(jobs)][1]}/run{number % len(jobs)}")):
            session.evict(session.ssn.task_info(int(rows[0])).key, statement=statement)
        candidates = all_running(session, jobs)
        shares = session.plugin(Drf)._tree
        fresh = Suppositions(ssn, shares._jobs, shares._tree.another(), shares._scarce())
        expected = fresh.reclaimable(task, candidates)
        assert shares.reclaimable(task, candidates).tolist() == expected.tolist()
        assert shares.possibly_reclaimable(task, candidates).tolist() == expected.tolist()


def test_of_many_kinds_of_jobs_some_are_judged_later() -> None:
    """8 CPUs against 7 with the one asked for: a pod of two would leave 6, a single one 7."""
    jobs = [("q1", "ns1", 1, 2), ("q1", "ns1", 2, 2), ("q1", "ns1", 2, 1), ("q3", "ns1", 6, 1)]
    session = cluster(jobs, ("q3", "ns1", 1), TREE)
    shares, task = session.plugin(Drf)._tree, session.task("ns1/want-0")
    suppositions, large = shares._suppositions, session.running("ns1/run0", "ns1/run1")
    loose = suppositions.reclaimable(task, large, most_judged=1)
    assert loose.tolist() == [False, True, True], "of two kinds one has been judged"
    assert not shares.reclaimable(task, large).any()
    assert not suppositions.reclaimable(task, large, most_judged=0).any(), "now both are known"
    assert shares.reclaimable(task, session.running("ns1/run2")).all()


@pytest.mark.parametrize(
    ("action", "choice", "holders"),
    [
        (Reclaim, TREE, ("q1", "q3")),
        (Preempt, Drf, ("q1", "q1")),
    ],
)
def test_no_node_is_evaluated_when_no_queue_is_owed_anything(
    action: type[Action], choice: PluginChoice, holders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten nodes of one CPU, and five pods that wait: victims are not elected node by node."""
    session = open_session(
        *(node(f"n{number}", cpu="1") for number in range(10)),
        *[placed_queue(name, path, "/".join("1" for _ in path.split("/"))) for name, path in QUEUES.items()],
        *[singles(holders[0], f"a{number}", f"n{number}") for number in range(5)],
        *[singles(holders[1], f"b{number}", f"n{number}") for number in range(5, 10)],
        *[gang(f"want{number}", queue=holders[1], cpu="1") for number in range(5)],
        tiers=[[choice, (Priority, {"enablePreemptable": False})]],
        actions=[action],
    )
    looked_at = count_elections(monkeypatch)
    action(action.arguments_type()).execute(session.ssn)
    assert session.evictions == []
    assert looked_at == []


def singles(queue: str, name: str, where: str) -> list[Any]:
    return gang(name, queue=queue, cpu="1", running_on=[where])


def count_elections(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many candidates each election had, once elections begin."""
    seen: list[int] = []
    elect = CombinedAnswers.victims

    def counted(ask: CombinedAnswers, point: str, task: Task, candidates: Rows) -> Rows:
        seen.append(len(candidates))
        return elect(ask, point, task, candidates)

    monkeypatch.setattr(CombinedAnswers, "victims", counted)
    return seen
