"""A whole cycle: what it reports, what it keeps, and what is left when one of its actions fails."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.cycles import Cycles
from tests.support.sessions import NOW, gang, node, pod, pod_group
from volcano_py.actions.allocate import Allocate
from volcano_py.api.effects import Evict, QueueAllocated
from volcano_py.api.objects import ApiObject
from volcano_py.api.reasons import Reason
from volcano_py.framework.action import Action
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Motive
from volcano_py.plugins.gang import Gang


class Breaks(Action):
    """Places a pod, promises another, evicts a third, and fails before it commits."""

    name = "breaks"

    def execute(self, ssn: Session) -> None:
        job = next(job for job in ssn.all_jobs() if job.info.ref.name == "g")
        victim = next(job for job in ssn.all_jobs() if job.info.ref.name == "v")
        rows, victims = ssn.tasks_of(job), ssn.tasks_of(victim)
        task_class = ssn.task_class(int(rows[0]))
        statement, other = ssn.statement(), ssn.statement()
        statement.allocate(job, task_class, rows[:1], ssn.placer.choose(task_class, 1).nodes)
        other.evict(victim, ssn.task_class(int(victims[0])), victims, Motive("preempt", "for g"))
        other.pipeline(job, task_class, rows[1:2], ssn.ledger.tasks.node[victims].astype(rows.dtype))
        raise RuntimeError("half way")


def contended(**options: Any) -> Cycles:
    """Room for two of a gang of two once the victim has gone; one free place until then."""
    return Cycles(
        node("n1", cpu="2"), gang("v", cpu="1", running_on=["n1"]), gang("g", pods=2, min_member=1, cpu="1"), **options
    )


def test_what_a_failed_action_had_not_committed_is_undone_before_the_next_one() -> None:
    seen: list[int] = []

    class Looks(Action):
        name = "looks"

        def execute(self, ssn: Session) -> None:
            seen.append(int(ssn.ledger.nodes.used[0, 0]))
            seen.append(int(ssn.ledger.nodes.releasing.sum() + ssn.ledger.nodes.pipelined.sum()))
            assert ssn.ledger.drift() == 0

    cycles = contended(actions=[Breaks, Looks, Allocate])
    with capture_logs() as logs:
        report = cycles.run()
    assert [(entry["event"], entry["action"]) for entry in logs] == [("action failed", "breaks")]
    assert seen == [1000, 0]
    assert cycles.binds == {"g-0": "n1"}, "the next action goes on as if nothing had been"
    assert not any(isinstance(effect, Evict) for effect in cycles.effects)
    assert (report.binds, report.pipelined) == (1, 0)


def test_what_it_had_committed_stays() -> None:
    class CommitsAndBreaks(Action):
        name = "commits"

        def execute(self, ssn: Session) -> None:
            Allocate(None).execute(ssn)
            raise RuntimeError("after the deed")

    cycles = contended(actions=[CommitsAndBreaks])
    with capture_logs():
        report = cycles.run()
    assert cycles.binds == {"g-0": "n1"}
    assert report.binds == 1


def test_an_action_that_cannot_be_created_is_ignored() -> None:
    class Stillborn(Action):
        name = "stillborn"

        def __init__(self, arguments: Any) -> None:
            raise RuntimeError("no")

    cycles = contended(actions=[Stillborn, Allocate])
    with capture_logs() as logs:
        cycles.run()
    assert [entry["action"] for entry in logs] == ["stillborn"]
    assert cycles.binds == {"g-0": "n1"}


def test_an_action_that_would_end_the_process_ends_itself_alone() -> None:
    class Leaves(Action):
        name = "leaves"

        def execute(self, ssn: Session) -> None:
            sys.exit("enough")

    cycles = contended(actions=[Leaves, Allocate, Leaves])
    with capture_logs() as logs:
        report = cycles.run()
    assert [entry["action"] for entry in logs] == ["leaves", "leaves"]
    assert report.action_errors == {"leaves": 2}
    assert cycles.binds == {"g-0": "n1"}


def test_a_simulation_can_be_interrupted_in_the_middle_of_an_action() -> None:
    class Long(Action):
        name = "long"

        def execute(self, ssn: Session) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        contended(actions=[Long]).run()


def test_the_report_says_what_exists_and_what_was_done() -> None:
    cycles = Cycles(
        node("n1", cpu="4"),
        node("n2", cpu="4"),
        gang("runs", pods=2, cpu="1", running_on=["n1", "n1"]),
        gang("fits", pods=2, cpu="2"),
        gang("large", cpu="9"),
        pod("foreign", cpu="1", on="n1", scheduler="default-scheduler"),
    )
    report = cycles.run()
    assert (report.nodes, report.jobs, report.tasks, report.binds, report.evictions) == (2, 3, 6, 2, 0)
    assert [(job.name, job.reason, job.pending) for job in report.pending] == [("team/large", Reason.NEVER_FITS, 1)]
    assert report.unschedulable_tasks == 1
    assert report.queues["default"].allocated == {"cpu": 6000, "pods": 4}
    assert set(report.actions) == {"enqueue", "allocate", "backfill"}
    assert set(report.plugins_open) == set(report.plugins_close) == {"gang"}
    assert report.duration >= report.open_duration > 0
    assert report.plugin_errors == {}


def test_pods_that_keep_a_promised_place_are_reported() -> None:
    leaving = [pod_group("old"), pod("old-0", group="old", cpu="2", on="n1", deleting=True)]
    report = Cycles(node("n1", cpu="2"), leaving, gang("g", cpu="2")).run()
    assert report.pipelined_tasks == {"team/g-0": "n1"}
    assert report.pipelined == 1


def test_a_cycle_that_decides_nothing_runs_no_action_and_repeats_why_things_wait() -> None:
    cycles = Cycles(node("n1", cpu="1"), gang("large", cpu="9"))
    first = cycles.run()
    cycles.effects.clear()
    second = cycles.run(decide=False)
    assert second.actions == {}
    assert second.pending == first.pending
    assert (first.unschedulable_tasks, second.unschedulable_tasks) == (1, 0), "nothing was tried in vain again"
    reported = [effect for effect in cycles.effects if not isinstance(effect, QueueAllocated)]
    assert reported == [], "nothing that was reported is taken back"


def test_equal_nodes_go_by_name_in_simulations_and_by_a_seed_in_life() -> None:
    def order(seed: int | None) -> list[str]:
        cycles = Cycles([node(f"n{index}") for index in range(9)], gang("g", cpu="1"), seed=seed)
        cycles.run()
        return list(cycles.binds.values())

    assert order(None) == ["n0"]
    assert order(3) == order(3)
    assert len({order(seed)[0] for seed in range(20)}) > 1


def test_ties_go_the_same_way_whatever_nodes_have_been_there() -> None:
    """Nodes that are gone leave empty rows, which a state that begins later does not have."""

    def order(*gone: ApiObject, seed: int) -> list[str]:
        nodes = [node(f"n{index}") for index in range(9)]
        cycles = Cycles([*gone, *reversed(nodes)] if gone else nodes, gang("g", cpu="1"), seed=seed)
        for each in gone:
            cycles.state.delete("Node", each)
        cycles.run()
        return list(cycles.binds.values())

    for seed in range(20):
        assert order(node("a"), node("z"), seed=seed) == order(seed=seed)


def test_the_seed_of_a_cycle_is_reported_so_that_it_can_be_replayed() -> None:
    cycles = contended(seed=40)
    assert [cycles.run().seed, cycles.run().seed] == [41, 42]


def test_what_is_known_of_nodes_is_kept_while_they_stay() -> None:
    indexes: list[int] = []

    class Remembers(Plugin):
        name = "remembers"

        def on_session_open(self, ssn: Session) -> None:
            indexes.append(id(ssn.nodes))

    cycles = contended(plugins=[Gang, Remembers])
    cycles.run()
    cycles.state.upsert("Pod", pod("p", on="n1"))
    cycles.run()
    cycles.state.upsert("Node", node("n3"))
    cycles.run()
    assert indexes[0] == indexes[1] != indexes[2]


def test_a_session_never_touches_what_other_cycles_share() -> None:
    cycles = contended()
    snapshot = cycles.state.snapshot(NOW.timestamp())
    used, statuses = snapshot.ledger.nodes.used.copy(), snapshot.ledger.tasks.status.copy()
    cycles.scheduler.run_cycle(snapshot, cycles.configuration)
    assert cycles.binds
    assert (snapshot.ledger.nodes.used == used).all()
    assert (snapshot.ledger.tasks.status == statuses).all()
    assert cycles.state.drift() == 0
