"""The ledger: whichever way tasks are moved, one by one, in a batch or back, the sums are those of a recount."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.state.status import (
    ALLOCATED_STATUSES,
    FINISHED_STATUSES,
    ON_NODE_STATUSES,
    READY_STATUSES,
    SCHEDULED_STATUSES,
    VALID_STATUSES,
    TaskStatus,
)
from volcano_py.state.table.axis import CPU, MEMORY, PODS, ResourceAxis
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import NOWHERE

STATUSES = [status for status in TaskStatus if status is not TaskStatus.FREE]
REQUESTS = ([1000, 10, 1], [3000, 7, 1], [0, 0, 1])


def books(tasks: int = 6, nodes: int = 3, jobs: int = 2) -> Ledger:
    """Pending tasks of alternating jobs and classes; the last task belongs to no job."""
    ledger = Ledger(ResourceAxis())
    for _ in range(nodes):
        row = ledger.nodes.new_row()
        added = ledger.nodes.change(row)
        added.present[row], added.allocatable[row] = True, [8000, 100, 110]
    for request in REQUESTS:
        row = ledger.classes.new_row()
        asks = ledger.classes.change(row)
        asks.request[row] = request
        asks.nonzero_request[row] = [request[CPU] or 100, request[MEMORY] or 200]
    for _ in range(jobs):
        row = ledger.jobs.new_row()
        ledger.jobs.change(row).known[row] = True
    for index in range(tasks):
        row = ledger.tasks.new_row()
        task = ledger.tasks.change(row)
        task.task_class[row] = index % len(REQUESTS)
        task.job[row] = index % jobs if index < tasks - 1 else NOWHERE
        task.status[row] = TaskStatus.PENDING
        ledger.book_one(row, 1)
    return ledger


def sums(ledger: Ledger) -> dict[str, list[int]]:
    """Every sum there is."""
    nodes, jobs = ledger.nodes, ledger.jobs
    columns: dict[str, np.ndarray] = {
        "used": nodes.used[: nodes.size],
        "releasing": nodes.releasing[: nodes.size],
        "pipelined": nodes.pipelined[: nodes.size],
        "nonzero_used": nodes.nonzero_used[: nodes.size],
        "tasks": nodes.tasks[: nodes.size],
        "counts": jobs.counts[: jobs.size],
        "allocated": jobs.allocated[: jobs.size],
    }
    return {name: column.tolist() for name, column in columns.items()}


def in_rows(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.intp)


@pytest.mark.parametrize(
    ("status", "used", "releasing", "pipelined", "counted"),
    [
        (TaskStatus.PENDING, 0, 0, 0, 0),
        (TaskStatus.ALLOCATED, 1, 0, 0, 1),
        (TaskStatus.PIPELINED, 0, 0, 1, 0),
        (TaskStatus.BINDING, 1, 0, 0, 1),
        (TaskStatus.BOUND, 1, 0, 0, 1),
        (TaskStatus.RUNNING, 1, 0, 0, 1),
        (TaskStatus.RELEASING, 1, 1, 0, 0),
        (TaskStatus.SUCCEEDED, 0, 0, 0, 0),
        (TaskStatus.FAILED, 0, 0, 0, 0),
        (TaskStatus.UNKNOWN, 1, 0, 0, 0),
    ],
)
def test_what_each_status_takes_from_its_node_and_counts_for_its_job(
    status: TaskStatus, used: int, releasing: int, pipelined: int, counted: int
) -> None:
    ledger = books()
    ledger.move_one(1, status, 2)
    request = np.array(REQUESTS[1])
    assert ledger.nodes.used[2].tolist() == (used * request).tolist()
    assert ledger.nodes.releasing[2].tolist() == (releasing * request).tolist()
    assert ledger.nodes.pipelined[2].tolist() == (pipelined * request).tolist()
    assert ledger.nodes.tasks[2] == used
    assert ledger.jobs.allocated[1].tolist() == (counted * request).tolist()
    assert ledger.jobs.counts[1, status] == (1 if status is not TaskStatus.PENDING else 3 - 1)


def test_the_sets_of_statuses_are_those_of_the_rules() -> None:
    def members(mask: np.ndarray) -> set[str]:
        return {status.name for status in TaskStatus if mask[status]}

    allocated = {"BOUND", "BINDING", "RUNNING", "ALLOCATED"}
    assert members(ALLOCATED_STATUSES) == allocated
    assert members(READY_STATUSES) == allocated | {"SUCCEEDED"}
    assert members(VALID_STATUSES) == allocated | {"SUCCEEDED", "PIPELINED", "PENDING"}
    assert members(ON_NODE_STATUSES) == allocated | {"RELEASING", "UNKNOWN"}
    assert members(SCHEDULED_STATUSES) == {"RUNNING", "BOUND", "SUCCEEDED", "FAILED"}
    assert members(FINISHED_STATUSES) == {"SUCCEEDED", "FAILED"}


@pytest.mark.parametrize(("before", "after"), list(product(STATUSES, STATUSES)))
def test_moving_in_a_batch_is_moving_one_by_one(before: TaskStatus, after: TaskStatus) -> None:
    one_by_one, batch = books(), books()
    for ledger in (one_by_one, batch):
        for row in range(6):
            ledger.move_one(row, before, row % 3)
    for row in range(6):
        one_by_one.move_one(row, after, (row + 1) % 3)
    batch.move(np.arange(6), after, np.array([1, 2, 0, 1, 2, 0]))
    assert sums(batch) == sums(one_by_one)
    assert batch.drift() == one_by_one.drift() == 0


def test_several_tasks_on_one_node_in_one_batch_all_count() -> None:
    ledger = books()
    ledger.move(np.arange(6), TaskStatus.RUNNING, np.zeros(6, dtype=np.intp))
    assert ledger.nodes.used[0].tolist() == [8000, 34, 6]
    assert ledger.nodes.tasks[0] == 6
    assert ledger.drift() == 0


def test_restoring_puts_every_task_back_where_it_stood() -> None:
    ledger = books()
    ledger.move(in_rows(0, 1), TaskStatus.RUNNING, in_rows(0, 1))
    ledger.move(in_rows(2), TaskStatus.BOUND, in_rows(1))
    rows = np.arange(6)
    statuses, nodes, before = ledger.tasks.status[rows].copy(), ledger.tasks.node[rows].copy(), sums(ledger)
    ledger.move(rows, TaskStatus.RELEASING, in_rows(2, 2, 2, 2, 2, 2))
    ledger.restore(rows, statuses, nodes)
    assert sums(ledger) == before
    assert ledger.tasks.status[rows].tolist() == statuses.tolist()
    assert ledger.tasks.node[rows].tolist() == nodes.tolist()


def test_relabelling_moves_the_counts_and_nothing_else() -> None:
    moved, relabelled = books(), books()
    rows = in_rows(0, 2)  # of one job
    for ledger in (moved, relabelled):
        ledger.move(rows, TaskStatus.ALLOCATED, in_rows(1, 1))
    moved.move(rows, TaskStatus.BINDING, in_rows(1, 1))
    relabelled.relabel(rows, TaskStatus.BINDING)
    assert sums(relabelled) == sums(moved)
    assert relabelled.drift() == 0


def test_a_copy_is_independent_and_as_true() -> None:
    ledger = books()
    clone = ledger.copy()
    clone.move_one(0, TaskStatus.RUNNING, 0)
    assert ledger.tasks.status[0] == TaskStatus.PENDING
    assert clone.drift() == ledger.drift() == 0


def test_drift_is_seen_wherever_it_hides() -> None:
    for table, column in (("nodes", "used"), ("nodes", "releasing"), ("nodes", "pipelined"), ("nodes", "nonzero_used")):
        ledger = books()
        getattr(getattr(ledger, table).change(0), column)[0, 0] += 5
        assert ledger.drift() == 5, column
    for table, column in (("jobs", "counts"), ("jobs", "allocated")):
        ledger = books()
        getattr(getattr(ledger, table).change(0), column)[0, 0] -= 2
        assert ledger.drift() == 2, column
    ledger = books()
    ledger.nodes.change(1).tasks[1] += 1
    assert ledger.drift() == 1


def test_what_has_drifted_is_put_right() -> None:
    ledger, sound = books(), books()
    assert ledger.put_right() == 0
    ledger.nodes.change(0).used[0, 0] += 5
    ledger.jobs.change(1).counts[1, 0] -= 2
    ledger.nodes.change(1).tasks[1] += 1
    assert ledger.put_right() == 8
    assert ledger.drift() == 0
    assert (ledger.nodes.used[:2] == sound.nodes.used[:2]).all()


def test_whether_a_task_fits_is_a_question_of_what_it_asks_for() -> None:
    ledger = books()
    assert ledger.fits(1, 0)
    ledger.nodes.change(0).used[0] = [5000, 94, 0]
    assert not ledger.fits(1, 0), "7 of memory are asked, 6 are free"
    ledger.nodes.change(0).used[0] = [5000, 93, 0]
    assert ledger.fits(1, 0)
    ledger.nodes.change(0).used[0] = [9000, 500, 109]
    assert ledger.fits(2, 0), "the node is short of what is not asked for"
    ledger.nodes.change(0).used[0, PODS] = 110
    assert not ledger.fits(2, 0)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.sampled_from(STATUSES), st.integers(NOWHERE, 2)),
        max_size=40,
    ),
    st.integers(1, 6),
)
def test_no_sequence_of_moves_leaves_a_drift(moves: list[tuple[int, TaskStatus, int]], batch: int) -> None:
    ledger = books()
    for start in range(0, len(moves), batch):
        part = {row: (status, node) for row, status, node in moves[start : start + batch]}
        for status in {status for status, _ in part.values()}:
            rows = [row for row, (wanted, _) in part.items() if wanted is status]
            ledger.move(in_rows(*rows), status, in_rows(*[part[row][1] for row in rows]))
    assert ledger.drift() == 0
