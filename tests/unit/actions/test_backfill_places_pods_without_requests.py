"""backfill: tasks without requests, which need a pod's place on a node and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.sessions import gang, node, pod, pod_group, queue
from tests.unit.actions.acting import act, reported
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.backfill import Backfill
from volcano_py.api.reasons import Reason
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, NodeView
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.proportion import Proportion
from volcano_py.state.infos import QueueInfo
from volcano_py.state.task_class import Refusal, TaskClass


def best_effort(name: str, pods: int, **options: Any) -> Any:
    return gang(name, pods=pods, min_member=1, **options)


def test_tasks_without_requests_fill_up_full_nodes() -> None:
    opened = act(node("n1", cpu="1"), gang("g", cpu="1", running_on=["n1"]), best_effort("l", 2))
    assert opened.binds == {"l-0": "n1", "l-1": "n1"}


def test_tasks_with_requests_are_left_alone() -> None:
    assert act(node("n1"), gang("g", cpu="1"), actions=[Backfill]).binds == {}


def test_a_pods_place_is_needed() -> None:
    opened = act(node("n1", pods="1"), best_effort("l", 2))
    assert len(opened.binds) == 1
    assert list(reported(opened, "l").values()) == ["Unschedulable"]


def test_no_share_is_asked_for() -> None:
    class Stingy(Plugin):
        name = "stingy"

        def overused(self, queue: QueueInfo) -> bool:
            return True

    assert len(act(node("n1"), best_effort("l", 2), tiers=[[Gang, Stingy]]).binds) == 2


def test_predicates_hold_and_are_reported() -> None:
    class Refuses(Plugin):
        name = "refuses"

        def on_session_open(self, ssn: Session) -> None:
            self.code = ssn.refusal(Reason.NODES_REFUSE, "not here")

        def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
            return np.full(len(view), self.code, dtype=np.int32)

    opened = act(node("n1"), best_effort("l", 1), tiers=[[Gang, Refuses]])
    assert opened.binds == {}
    job = opened.job("l")
    (error,) = opened.ssn.findings.fit_errors[job.row].values()
    assert error.counts == {"not here": 1}


def test_a_refusal_before_the_nodes_is_reported_for_all_of_them() -> None:
    class Refuses(Plugin):
        name = "refuses"

        def pre_predicate(self, task_class: TaskClass) -> Refusal:
            return Refusal(Reason.REFUSED_BY_PLUGIN, "not at all")

    opened = act(node("n1"), node("n2"), best_effort("l", 1), tiers=[[Gang, Refuses]])
    (error,) = opened.ssn.findings.fit_errors[opened.job("l").row].values()
    assert (error.nodes, error.counts) == (2, {"not at all": 2})


def test_jobs_that_were_not_admitted_or_are_invalid_wait() -> None:
    opened = act(
        node("n1"),
        best_effort("pending", 1, group_phase="Pending"),
        gang("short", pods=1, min_member=2),
        actions=[Backfill],
    )
    assert opened.binds == {}


def test_gated_tasks_wait() -> None:
    assert act(node("n1"), pod_group("g"), pod("g-0", group="g", gates=["wait"])).binds == {}


def test_queues_and_jobs_go_in_order() -> None:
    opened = act(
        node("n1", pods="2"),
        queue("old", age=10),
        queue("young"),
        best_effort("a", 1, queue="young"),
        best_effort("b", 1, queue="old"),
        best_effort("c", 1, queue="old", age=5),
    )
    assert set(opened.binds) == {"b-0", "c-0"}


def test_a_place_that_is_only_being_released_is_not_taken() -> None:
    opened = act(
        node("n1", pods="1"), pod("old", on="n1", deleting=True), best_effort("l", 1), actions=[Allocate, Backfill]
    )
    assert opened.binds == {}


def test_an_incomplete_gang_gives_back_what_backfill_placed() -> None:
    members = [pod("g-w-0", group="g"), pod("g-w-1", group="g", cpu="9")]
    opened = act(node("n1", cpu="1"), pod_group("g", min_member=2), members)
    assert opened.binds == {}
    assert not opened.ssn.ledger.nodes.used.any()


def test_a_gang_that_lacks_more_than_that_is_not_looked_at() -> None:
    """Otherwise each of its members would get the message that it had a place."""
    members = [pod("g-w-0", group="g"), pod("g-w-1", group="g", cpu="9")]
    opened = act(node("n1", cpu="1"), pod_group("g", min_member=2), members, actions=[Backfill])
    assert opened.ssn.findings.tentative == {}


def test_queues_of_a_tree_go_in_the_order_of_their_branches() -> None:
    """One pod's place is left: busy, the older queue, holds something, quiet nothing."""
    opened = act(
        node("n1", cpu="4", pods="2"),
        queue("busy", age=10),
        queue("quiet"),
        gang("g", cpu="1", queue="busy", running_on=["n1"]),
        best_effort("b", 1, queue="busy"),
        best_effort("q", 1, queue="quiet"),
        tiers=[[Gang], [(Proportion, {"enableHierarchy": True})]],
    )
    assert opened.binds == {"q-0": "n1"}
