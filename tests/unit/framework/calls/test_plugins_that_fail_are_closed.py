"""A plugin that raises, or answers nonsense, counts as the closed answer of its point; everything else goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from structlog.testing import capture_logs

from tests.support.sessions import Opened, gang, node, open_session, queue
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import plugin_failed
from volcano_py.framework.calls.answers import CLOSED
from volcano_py.framework.job import Job, Placement, Task
from volcano_py.framework.ordering.queue_order import queue_order
from volcano_py.framework.plugin import POINTS, Key, Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.status.queue_reports import queue_reports
from volcano_py.framework.views import Codes, NodeView, Scores
from volcano_py.framework.votes import Vote
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass


def broken_at(*points: str, **members: Any) -> type[Plugin]:
    """A plugin that raises at each of the points."""

    def fail(self: Plugin, *args: Any) -> Any:
        raise RuntimeError("out of order")

    return type("Broken", (Plugin,), {"name": "broken", **dict.fromkeys(points, fail), **members})


class Sound(Plugin):
    """Fills the ordering points alongside the broken one."""

    name = "sound"

    def job_order(self, job: Job) -> Key:
        return job.key

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        return view.rows.astype(np.float64)


def opened_with(*plugins: type[Plugin], pods: int = 2) -> Opened:
    return open_session(
        node("n1", cpu="4"),
        node("n2", cpu="4"),
        queue("q1"),
        gang("a", pods=pods, cpu="1", queue="q1"),
        gang("b", pods=pods, cpu="1", running_on=["n1"] * pods),
        tiers=[list(plugins)],
    )


def failures(opened: Opened) -> dict[str, int]:
    return opened.ssn.dispatch.failures.counts


# -- what is closed ----------------------------------------------------------------------------------------------


def test_every_extension_point_has_a_closed_answer() -> None:
    assert set(CLOSED) == set(POINTS)


def answer(opened: Opened, point: str) -> Any:
    """What the session makes of a point."""
    ssn, job = opened.ssn, opened.job("a")
    task_class = opened.task("a-0").task_class
    running = opened.running("b")
    ask: dict[str, Callable[[], Any]] = {
        "job_valid": lambda: ssn.ask.job_valid(job) is None,
        "job_enqueueable": lambda: ssn.ask.job_enqueueable(job).vote is not Vote.REJECT,
        "job_ready": lambda: ssn.ask.job_ready(job),
        "tasks_to_ready": lambda: ssn.ask.tasks_to_ready(job),
        "job_pipelined": lambda: ssn.ask.job_pipelined(job),
        "job_starving": lambda: ssn.ask.job_starving(job),
        "overused": lambda: ssn.ask.overused(job.queue),
        "allocatable": lambda: ssn.ask.allocatable(job.queue, task_class).count,
        "preemptive": lambda: ssn.ask.preemptive(job.queue, opened.rows("a-0")),
        "pre_predicate": lambda: ssn.ask.pre_predicate(task_class) is None,
        "predicate": lambda: len(ssn.placer.choose(task_class, 1).nodes),
        "preemptable": lambda: len(ssn.ask.victims("preemptable", opened.task("a-0"), running)),
        "reclaimable": lambda: len(ssn.ask.victims("reclaimable", opened.task("a-0"), running)),
    }
    return ask[point]()


@pytest.mark.parametrize(
    ("point", "closed"),
    [
        ("job_valid", False),
        ("job_enqueueable", False),
        ("job_ready", False),
        ("tasks_to_ready", 1),
        ("job_pipelined", False),
        ("job_starving", False),
        ("overused", True),
        ("allocatable", 0),
        ("preemptive", False),
        ("pre_predicate", False),
        ("predicate", 0),
        ("preemptable", 0),
        ("reclaimable", 0),
    ],
)
def test_nothing_is_let_through_on_account_of_a_plugin_that_raises(point: str, closed: Any) -> None:
    opened = opened_with(broken_at(point), Sound)
    with capture_logs() as logs:
        assert answer(opened, point) == closed
    assert failures(opened) == {"broken": 1}
    assert [(entry["plugin"], entry["point"], str(entry["exc_info"])) for entry in logs] == [
        ("broken", point, "out of order")
    ]


def test_refusals_of_a_failed_plugin_name_it() -> None:
    opened = opened_with(broken_at("job_valid", "pre_predicate", "allocatable", "job_enqueueable", "job_pipelined"))
    ssn, job, task_class = opened.ssn, opened.job("a"), opened.task("a-0").task_class
    with capture_logs():
        reported = [
            ssn.ask.job_valid(job),
            ssn.ask.pre_predicate(task_class),
            ssn.ask.allocatable(job.queue, task_class).refusal,
            ssn.ask.job_enqueueable(job).refusal,
        ]
    for refusal in reported:
        assert refusal is not None
        assert (refusal.reason, refusal.message) == (
            Reason.PLUGIN_ERROR,
            plugin_failed("broken"),
        )


def test_a_plugin_is_logged_once_a_cycle_and_counted_each_time() -> None:
    opened = opened_with(broken_at("job_ready", "overused"))
    with capture_logs() as logs:
        for _ in range(3):
            opened.ssn.ask.job_ready(opened.job("a"))
        opened.ssn.ask.overused(opened.job("a").queue)
    assert failures(opened) == {"broken": 4}
    assert len(logs) == 1


# -- orders and scores: neutral ----------------------------------------------------------------------------------


def test_orders_of_a_plugin_that_raises_count_for_nothing() -> None:
    opened = opened_with(broken_at("job_order", "queue_order", "task_order"), Sound)
    ssn = opened.ssn
    with capture_logs():
        jobs = sorted([opened.job("b"), opened.job("a")], key=ssn.ask.job_key)
        queues = sorted(ssn.queues.values(), key=ssn.ask.queue_key)
        tasks = ssn.ask.ordered_tasks(opened.rows("a-1", "a-0"))
    assert [job.key for job in jobs] == ["team/a", "team/b"]
    assert [seen.name for seen in queues] == ["default", "q1"]
    assert len(tasks) == 2


class FailsForOne(Plugin):
    """Its keys are tuples, and it raises for one queue and one job."""

    name = "fails-for-one"

    def queue_order(self, queue: QueueInfo) -> Key:
        if queue.name == "q1":
            raise KeyError(queue.name)
        return (-queue.priority, 0.5)

    def job_order(self, job: Job) -> Key:
        if job.key == "team/a":
            raise KeyError(job.key)
        return (1, "x")


def test_an_order_that_fails_for_one_element_can_still_be_sorted() -> None:
    opened = opened_with(FailsForOne)
    with capture_logs():
        for elements in (["default", "q1"], ["q1", "default"]):
            order = queue_order(opened.ssn, [opened.ssn.queues[name] for name in elements])
            assert {order.pop().name for _ in elements} == {"default", "q1"}
        jobs = sorted([opened.job("b"), opened.job("a")], key=opened.ssn.ask.job_key)
    assert {job.key for job in jobs} == {"team/a", "team/b"}


@pytest.mark.parametrize("point", ["node_order", "batch_node_order", "best_node"])
def test_scores_of_a_plugin_that_raises_count_for_nothing(point: str) -> None:
    opened = opened_with(broken_at(point), Sound)
    with capture_logs():
        choice = opened.ssn.placer.choose(opened.task("a-0").task_class, 1)
    assert [opened.ssn.snapshot.nodes[row].name for row in choice.nodes.tolist()] == ["n2"]
    assert failures(opened)["broken"] >= 1


# -- answers that make no sense ----------------------------------------------------------------------------------


class Answers(Plugin):
    """Gives the scores and predicates that it is configured with."""

    name = "answers"
    scores: Any = None
    codes: Any = None
    best: Any = None

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        found: Scores = np.zeros(len(view)) if self.scores is None else self.scores
        return found

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores | None:
        found: Scores | None = self.scores
        return found

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        found: Codes = np.zeros(len(view), dtype=np.int32) if self.codes is None else self.codes
        return found

    def best_node(self, task_class: TaskClass, view: NodeView, scores: Scores) -> int | None:
        found: int | None = self.best
        return found


@pytest.mark.parametrize(
    ("field", "value", "node_name"),
    [
        pytest.param("scores", np.array([np.nan, 1.0]), "n2", id="a score that is not a number"),
        pytest.param("scores", np.array([np.inf, 1.0]), "n2", id="a score that is infinite"),
        pytest.param("scores", np.zeros(7), "n2", id="too many scores"),
        pytest.param("scores", 5.0, "n2", id="one score for all"),
        pytest.param("codes", np.zeros(7, dtype=np.int32), "", id="too many codes"),
        pytest.param("codes", [0, 0], "", id="codes that are no array"),
        pytest.param("codes", np.array([False, True]), "", id="codes that are a mask"),
        pytest.param("best", 2, "n2", id="a best node that is none"),
        pytest.param("best", -1, "n2", id="a negative best node"),
        pytest.param("best", "n1", "n2", id="a best node by name"),
    ],
)
def test_nonsense_is_as_good_as_an_exception(field: str, value: Any, node_name: str) -> None:
    opened = opened_with(type("Faulty", (Answers,), {field: value}), Sound)
    with capture_logs():
        choice = opened.ssn.placer.choose(opened.task("a-0").task_class, 2)
    placed = [opened.ssn.snapshot.nodes[row].name for row in choice.nodes.tolist()]
    assert placed[:1] == ([node_name] if node_name else [])
    assert failures(opened)["answers"] >= 1


@pytest.mark.parametrize("code", [99, -1])
def test_an_unregistered_code_refuses_the_node_as_the_plugins_mistake(code: int) -> None:
    opened = opened_with(type("Faulty", (Answers,), {"codes": np.full(2, code, dtype=np.int32)}))
    task_class = opened.task("a-0").task_class
    assert not len(opened.ssn.placer.choose(task_class, 1).nodes)
    assert opened.ssn.placer.misfit(task_class).counts == {plugin_failed(): 2}


def test_a_mask_of_the_wrong_length_gives_up_no_pod() -> None:
    class Wide(Plugin):
        name = "wide"

        def preemptable(self, preemptor: Task, candidates: Rows) -> Any:
            return np.ones(len(candidates) + 1, dtype=np.bool_)

    opened = opened_with(Wide)
    with capture_logs():
        assert opened.victims("preemptable", "a-0", opened.running("b")) == []
    assert failures(opened) == {"wide": 1}


# -- the life of a plugin ----------------------------------------------------------------------------------------


def test_a_plugin_that_cannot_be_created_is_closed_as_a_whole() -> None:
    class Stillborn(Plugin):
        name = "stillborn"

        def __init__(self, arguments: Any, flags: Any) -> None:
            raise RuntimeError("no")

        def job_ready(self, job: Job) -> bool:
            return True

    with capture_logs():
        opened = _open_failing(Stillborn, Sound)
        assert not opened.ssn.ask.job_ready(opened.job("a"))
        assert [job.key for job in sorted(opened.ssn.all_jobs(), key=opened.ssn.ask.job_key)] == ["team/a", "team/b"]


@pytest.mark.parametrize("hook", ["on_session_open", "on_session_close"])
def test_a_plugin_that_fails_at_opening_or_closing_is_closed_as_a_whole(hook: str) -> None:
    ready = {"job_ready": lambda _self, _job: True}
    with capture_logs():
        opened = _open_failing(broken_at(hook, **ready), Sound)
        opened.ssn.dispatch.life("on_session_close", opened.ssn)
        assert not opened.ssn.ask.job_ready(opened.job("a"))
    assert "broken" in opened.ssn.dispatch.failures.closed


@pytest.mark.parametrize("point", ["on_allocate", "on_deallocate", "job_enqueued"])
def test_a_plugin_whose_books_may_be_wrong_is_closed_as_a_whole(point: str) -> None:
    opened = opened_with(broken_at(point, job_ready=lambda _self, _job: True))
    assert opened.ssn.ask.job_ready(opened.job("a"))
    with capture_logs():
        opened.place("a", {"a-0": "n1"}).discard()
        opened.ssn.ask.job_enqueued(opened.job("a"))
    assert not opened.ssn.ask.job_ready(opened.job("a"))
    assert failures(opened) == {"broken": 1}, "it is not asked any more"
    assert opened.ssn.ledger.drift() == 0


def test_an_unknown_reach_counts_as_the_widest() -> None:
    class Unsure(Plugin):
        name = "unsure"

        def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
            return np.zeros(len(view), dtype=np.int32)

        def predicate_reach(self, task_class: TaskClass) -> Reach:
            raise RuntimeError("who knows")

        def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
            return np.zeros(len(view))

        def batch_node_order_reach(self, task_class: TaskClass) -> Reach:
            raise RuntimeError("who knows")

    opened = opened_with(Unsure)
    with capture_logs():
        assert len(opened.ssn.placer.choose(opened.task("a-0").task_class, 2).nodes) == 1
    assert failures(opened) == {"unsure": 2}


@pytest.mark.parametrize(
    "reported",
    [
        pytest.param(None, id="an exception"),
        pytest.param({"q1": {"no-such-field": 1}}, id="an unknown field"),
        pytest.param({"nowhere": {"share": 1.0}}, id="an unknown queue"),
        pytest.param(["q1"], id="no mapping"),
    ],
)
def test_what_a_plugin_reports_about_queues_cannot_break_the_report(reported: Any) -> None:
    class Talker(Plugin):
        name = "talker"

        def describe_queues(self) -> Mapping[str, Mapping[str, Any]]:
            if reported is None:
                raise RuntimeError("speechless")
            found: Mapping[str, Mapping[str, Any]] = reported
            return found

    opened = opened_with(Talker)
    with capture_logs():
        reports = queue_reports(opened.ssn)
    assert set(reports) == {"default", "q1"}
    assert reports["default"].allocated["cpu"] == 2000


def test_what_a_plugin_reports_about_queues_completes_the_report() -> None:
    class Talker(Plugin):
        name = "talker"

        def describe_queues(self) -> Mapping[str, Mapping[str, Any]]:
            return {"q1": {"share": 0.5, "overused": True}}

    report = queue_reports(opened_with(Talker).ssn)["q1"]
    assert (report.share, report.overused, report.weight) == (0.5, True, 1)


def test_a_plugin_named_twice_keeps_one_set_of_books() -> None:
    class Counter(Plugin):
        name = "counter"

        def on_session_open(self, ssn: Session) -> None:
            self.placed = self.asked = 0

        def on_allocate(self, placement: Placement) -> None:
            self.placed += placement.count

        def job_ready(self, job: Job) -> bool:
            self.asked += 1
            return True

    opened = open_session(node("n1"), gang("a", cpu="1"), tiers=[[Counter], [Counter]])
    opened.place("a", {"a-0": "n1"})
    opened.ssn.ask.job_ready(opened.job("a"))
    counter = opened.plugin(Counter)
    assert (counter.placed, counter.asked) == (1, 2), "notified once, asked in each tier"


def _open_failing(*plugins: type[Plugin]) -> Opened:
    """A session some of whose plugins fail before it is open."""
    return open_session(
        node("n1", cpu="4"),
        gang("a", pods=2, cpu="1"),
        gang("b", pods=1, cpu="1"),
        tiers=[list(plugins)],
        sound=False,
    )
