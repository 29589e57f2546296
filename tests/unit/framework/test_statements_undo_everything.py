"""A statement takes effect in the session at once. Discarded it leaves no trace; committed its effects are emitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sessions import Opened, gang, node, open_session, pod, pod_group
from volcano_py.api.effects import Bind, Evict
from volcano_py.framework.job import Placement
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Motive, Statement
from volcano_py.state.status import TaskStatus


class Books(Plugin):
    """Adds up placements, as plugins that own shares do, and remembers the calls."""

    name = "books"

    def on_session_open(self, ssn: Session) -> None:
        self.held = ssn.ledger.jobs.allocated.copy()
        self.calls: list[tuple[str, str, int]] = []

    def on_allocate(self, placement: Placement) -> None:
        self.held[placement.job.row] += placement.request
        self.calls.append(("allocate", placement.job.key, placement.count))

    def on_deallocate(self, placement: Placement) -> None:
        self.held[placement.job.row] -= placement.request
        self.calls.append(("deallocate", placement.job.key, placement.count))


def opened() -> Opened:
    return open_session(
        node("n1", cpu="8"),
        node("n2", cpu="8"),
        gang("waits", pods=4, cpu="1"),
        gang("runs", pods=3, cpu="2", running_on=["n1", "n1", "n2"]),
        pod_group("bound"),
        pod("bound-0", group="bound", cpu="1", on="n2", phase="Pending"),
        pod_group("light", min_member=2),
        [pod(f"light-{index}", group="light") for index in range(2)],
        tiers=[[Books]],
    )


def image(opened: Opened) -> dict[str, Any]:
    """Every number of the session, bit for bit."""
    ledger = opened.ssn.ledger
    columns = {
        f"{table}.{name}": getattr(getattr(ledger, table), name).tobytes()
        for table in ("nodes", "tasks", "jobs", "classes")
        for name in getattr(ledger, table).columns
    }
    return {
        **columns,
        "books": opened.plugin(Books).held.tobytes(),
        "light": opened.job("light").best_effort_pending,
    }


def do_something(opened: Opened, statement: Statement) -> None:
    opened.place("waits", {"waits-0": "n1", "waits-1": "n2"}, statement)
    opened.evict("runs-0", "bound-0", statement=statement)
    opened.pipeline("waits", {"waits-2": "n1"}, statement)
    opened.place("light", {"light-0": "n1"}, statement)


def test_what_is_discarded_leaves_no_trace() -> None:
    session = opened()
    before = image(session)
    statement = session.ssn.statement()
    do_something(session, statement)
    assert image(session) != before
    assert session.ssn.ledger.drift() == 0
    statement.discard()
    assert image(session) == before
    assert session.effects == []


def test_a_rollback_undoes_what_came_after_its_mark() -> None:
    session = opened()
    statement = session.place("waits", {"waits-0": "n1"})
    half, mark = image(session), statement.checkpoint()
    session.place("waits", {"waits-1": "n2", "waits-2": "n2"}, statement)
    session.evict("runs-1", statement=statement)
    statement.rollback(mark)
    assert image(session) == half
    assert len(statement) == 1
    statement.commit()
    assert session.binds == {"waits-0": "n1"}


def test_a_victim_goes_back_to_the_status_it_had() -> None:
    session = opened()
    session.evict("runs-0", "bound-0").discard()
    statuses = [TaskStatus(session.ssn.ledger.tasks.status[row]) for row in session.rows("runs-0", "bound-0")]
    assert statuses == [TaskStatus.RUNNING, TaskStatus.BOUND]


def test_one_operation_can_be_taken_back_alone_whatever_came_after() -> None:
    session = opened()
    statement, job = session.ssn.statement(), session.job("runs")
    first, second = (session.rows(name) for name in ("runs-0", "runs-1"))
    taken = statement.evict(job, session.ssn.task_class(int(first[0])), first, Motive("preempt", ""))
    with_first = image(session)
    kept = statement.evict(job, session.ssn.task_class(int(second[0])), second, Motive("preempt", ""))
    session.pipeline("waits", {"waits-2": "n1"}, statement)
    statement.take_back(kept)
    statement.rollback(1)
    assert image(session) == with_first
    statement.take_back(taken)
    statement.commit()
    assert session.evictions == []


def test_plugins_get_every_placement_and_its_undo_last_first() -> None:
    session = opened()
    statement = session.ssn.statement()
    do_something(session, statement)
    done = list(session.plugin(Books).calls)
    statement.discard()
    undone = session.plugin(Books).calls[len(done) :]
    opposite = {"allocate": "deallocate", "deallocate": "allocate"}
    assert undone == [(opposite[what], job, number) for what, job, number in reversed(done)]


def test_what_is_committed_is_reported_at_once_and_as_a_whole() -> None:
    session = opened()
    reported: list[list[str]] = []
    session.ssn.statements.emit = lambda effects: reported.append([type(effect).__name__ for effect in effects])
    statement = session.ssn.statement()
    do_something(session, statement)
    assert reported == []
    statement.commit()
    assert reported == [["Bind", "Bind", "Evict", "Evict", "Bind"]], "a promised place is not an effect"


def test_effects_name_pods_by_uid_and_their_job() -> None:
    session = opened()
    statement = session.place("waits", {"waits-1": "n2"})
    session.evict("runs-0", statement=statement)
    statement.commit()
    bind, evict = session.effects
    assert isinstance(bind, Bind)
    assert (bind.pod.key, bind.pod.uid, bind.node, bind.job) == ("team/waits-1", "pod-team-waits-1", "n2", "team/waits")
    assert isinstance(evict, Evict)
    assert (evict.pod.key, evict.action, evict.message) == ("team/runs-0", "preempt", "test")
    assert evict.group is not None
    assert evict.group.key == "team/runs"


def test_a_committed_statement_holds_nothing_to_undo() -> None:
    session = opened()
    statement = session.place("waits", {"waits-0": "n1"})
    statement.commit()
    after = image(session)
    statement.discard()
    statement.commit()
    assert image(session) == after
    assert len(session.effects) == 1
    assert session.job("waits").count(TaskStatus.BINDING) == 1


def test_a_statement_that_is_left_open_keeps_its_places() -> None:
    session = opened()
    session.pipeline("waits", {"waits-0": "n1"})
    assert session.job("waits").waiting == 1
    assert session.ssn.ledger.nodes.pipelined[session.node_row("n1")].any()
    assert session.effects == []


def test_a_place_that_was_given_back_is_remembered_for_the_explanation() -> None:
    session = opened()
    session.place("waits", {"waits-0": "n1", "waits-1": "n2"}).discard()
    named = {
        session.ssn.task_info(row).ref.name: session.ssn.snapshot.nodes[at].name
        for row, at in session.ssn.findings.tentative.items()
    }
    assert named == {"waits-0": "n1", "waits-1": "n2"}


STEPS = st.lists(
    st.tuples(st.sampled_from(["allocate", "pipeline", "evict", "rollback"]), st.integers(0, 11), st.integers(0, 1)),
    max_size=14,
)


@settings(max_examples=60)
@given(STEPS)
def test_whatever_is_done_can_be_undone(steps: list[tuple[str, int, int]]) -> None:
    session = opened()
    statement = session.ssn.statement()
    marks = [(statement.checkpoint(), image(session))]
    nodes = ["n1", "n2"]
    for what, which, where in steps:
        if what == "rollback":
            mark, then = marks[which % len(marks)]
            statement.rollback(mark)
            assert image(session) == then
            marks = [kept for kept in marks if kept[0] <= mark]
            continue
        status = {"evict": (TaskStatus.RUNNING, TaskStatus.BOUND)}.get(what, (TaskStatus.PENDING,))
        tasks = session.ssn.ledger.tasks
        rows = np.flatnonzero(np.isin(tasks.status, status))
        if not len(rows):
            continue
        name = session.ssn.task_info(int(rows[which % len(rows)])).ref.name
        job = name.rpartition("-")[0]
        if what == "evict":
            session.evict(name, statement=statement)
        elif what == "allocate":
            session.place(job, {name: nodes[where]}, statement)
        else:
            session.pipeline(job, {name: nodes[where]}, statement)
        assert session.ssn.ledger.drift() == 0
        marks.append((statement.checkpoint(), image(session)))
    statement.discard()
    assert image(session) == marks[0][1]


@pytest.mark.parametrize("kind", ["allocate", "pipeline"])
def test_tasks_that_ask_for_nothing_leave_and_rejoin_the_waiting(kind: str) -> None:
    session = opened()
    job = session.job("light")
    assert job.best_effort_pending == 2
    put = session.place if kind == "allocate" else session.pipeline
    statement = put("light", {"light-0": "n1"})
    assert job.best_effort_pending == 1
    statement.discard()
    assert job.best_effort_pending == 2
