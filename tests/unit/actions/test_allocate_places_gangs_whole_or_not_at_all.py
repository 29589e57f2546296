"""allocate: gangs, turns, what is left, and the reason of each job. Numbered rows are those of the behaviour tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.sessions import binding_failed, gang, node, pod, pod_group, queue
from tests.unit.actions.acting import act, phase, reported
from tests.unit.state.watched import with_status
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.reasons import Reason
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Key, Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, NodeView
from volcano_py.framework.votes import PLENTY, Room
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.priority import Priority
from volcano_py.state.infos import QueueInfo
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import Refusal, TaskClass


class Limited(Plugin):
    """Queues take a number of millicores and no more."""

    name = "limited"
    limit = 2000

    def on_session_open(self, ssn: Session) -> None:
        self.ssn = ssn

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        held = sum(int(job.allocated[0]) for job in self.ssn.all_jobs() if job.queue is queue)
        asked = int(task_class.request[0])
        room = (self.limit - held) // asked if asked else PLENTY.count
        return Room(max(room, 0), Refusal(Reason.OVER_CAPABILITY, f"queue {queue.name} is full"))


# -- gangs -------------------------------------------------------------------------------------------------------


def test_row_1_a_gang_that_does_not_fit_leaves_nothing_behind() -> None:
    opened = act(node("n1", cpu="2"), gang("g", pods=3, cpu="1"))
    assert opened.binds == {}
    assert opened.job("g").pending_tasks == 3
    assert not opened.ssn.ledger.nodes.used.any()
    assert sorted(reported(opened, "g").values()) == ["Schedulable", "Schedulable", "Unschedulable"]


def test_row_2_a_gang_that_is_complete_once_a_pod_is_gone_keeps_its_places_for_the_cycle() -> None:
    leaving = [pod_group("old"), pod("old-0", group="old", cpu="1", on="n1", deleting=True)]
    opened = act(node("n1", cpu="3"), leaving, gang("g", pods=3, cpu="1"), gang("later", cpu="1"))
    assert opened.binds == {}
    job = opened.job("g")
    assert (job.count(TaskStatus.ALLOCATED), job.waiting) == (2, 1)
    assert opened.job("later").pending_tasks == 1, "what is held is not given to others"


def test_a_gang_that_fits_is_bound_whole() -> None:
    opened = act(node("n1", cpu="2"), node("n2", cpu="1"), gang("g", pods=3, cpu="1"))
    assert sorted(opened.binds.values()) == ["n1", "n1", "n2"]
    assert phase(opened, "g") is Phase.INQUEUE


def test_row_3_an_elastic_job_places_its_minimum_and_then_one_task_a_turn() -> None:
    opened = act(node("n1", cpu="2"), gang("g", pods=3, min_member=1, cpu="1"))
    assert len(opened.binds) == 2
    assert list(reported(opened, "g").values()) == ["Unschedulable"]


def test_row_4_a_gang_with_too_few_pods_is_admitted_and_left_alone() -> None:
    opened = act(node("n1"), gang("g", pods=2, min_member=3, cpu="1", group_phase="Pending"))
    assert phase(opened, "g") is Phase.INQUEUE
    assert opened.binds == {}
    note = opened.ssn.findings.notes[opened.job("g").row]
    assert (note.reason, note.message) == (
        Reason.NOT_ENOUGH_TASKS,
        "PodGroup team/g: 2 pods of this scheduler exist, minMember is 3: create 1 more or lower minMember",
    )


def test_row_6_queues_of_equal_share_take_turns_the_older_first() -> None:
    class Served(Plugin):
        """The queue that holds less goes first."""

        name = "served"

        def on_session_open(self, ssn: Session) -> None:
            self.ssn = ssn

        def queue_order(self, queue: QueueInfo) -> Key:
            return sum(int(job.allocated[0]) for job in self.ssn.all_jobs() if job.queue is queue)

    opened = act(
        node("n1", cpu="3"),
        queue("a", age=10),
        queue("b"),
        gang("ja", pods=3, min_member=1, cpu="1", queue="a"),
        gang("jb", pods=3, min_member=1, cpu="1", queue="b"),
        tiers=[[Gang, Served]],
    )
    assert (opened.job("ja").ready, opened.job("jb").ready) == (2, 1)


def test_row_7_a_queue_that_is_overused_at_its_turn_is_dropped_and_its_jobs_get_a_reason() -> None:
    class Greedy(Plugin):
        name = "greedy"

        def overused(self, queue: QueueInfo) -> bool:
            return queue.name == "a"

    opened = act(
        node("n1"),
        queue("a"),
        gang("ja", cpu="1", queue="a"),
        gang("jb", cpu="1"),
        tiers=[[Gang, Greedy]],
    )
    assert opened.binds == {"jb-0": "n1"}
    assert opened.ssn.findings.notes[opened.job("ja").row].reason is Reason.OVER_DESERVED


def test_row_16_smaller_pods_behind_one_that_exceeds_the_queue_are_still_tried() -> None:
    members = [pod("g-w-0", group="g", cpu="3"), pod("g-w-1", group="g", cpu="1"), pod("g-w-2", group="g", cpu="1")]
    opened = act(node("n1", cpu="8"), pod_group("g", min_member=1), members, tiers=[[Gang, Limited]])
    assert set(opened.binds) == {"g-w-1", "g-w-2"}
    assert opened.ssn.findings.notes[opened.job("g").row].message == "queue default is full"


def test_a_batch_ends_where_the_queue_does() -> None:
    opened = act(node("n1", cpu="8"), gang("g", pods=4, min_member=1, cpu="1"), tiers=[[Gang, Limited]])
    assert len(opened.binds) == 2


def test_a_gang_larger_than_its_queue_leaves_nothing_behind() -> None:
    opened = act(node("n1", cpu="8"), gang("g", pods=3, cpu="1"), tiers=[[Gang, Limited]])
    assert opened.binds == {}
    assert not opened.ssn.ledger.nodes.used.any()


def test_a_stuck_gang_does_not_hold_up_those_behind_it() -> None:
    opened = act(node("n1", cpu="2"), gang("large", pods=3, cpu="1", age=50), gang("small", pods=2, cpu="1"))
    assert set(opened.binds) == {"small-0", "small-1"}


def test_without_a_gang_plugin_pods_are_bound_as_they_fit() -> None:
    opened = act(node("n1", cpu="2"), gang("g", pods=3, cpu="1"), tiers=[[]])
    assert len(opened.binds) == 2


# -- which jobs it takes -----------------------------------------------------------------------------------------------


def test_a_pending_job_waits_for_enqueue_where_that_is_configured() -> None:
    objects = [node("n1"), *gang("g", cpu="1", group_phase="Pending")]
    assert act(objects, actions=[Allocate, Enqueue]).binds == {}
    assert act(objects, actions=[Enqueue, Allocate]).binds == {"g-0": "n1"}


def test_without_enqueue_allocate_lets_jobs_in_itself() -> None:
    opened = act(node("n1"), gang("g", cpu="1", group_phase="Pending"), actions=[Allocate])
    assert opened.binds == {"g-0": "n1"}
    assert phase(opened, "g") is Phase.INQUEUE


def test_without_enqueue_jobs_enter_though_their_pods_do_not_exist_yet() -> None:
    """Whoever creates the pods waits for that."""
    opened = act(pod_group("g", min_member=2, phase="Pending"), pod_group("h", phase=""), actions=[Allocate])
    assert (phase(opened, "g"), phase(opened, "h")) == (Phase.INQUEUE, Phase.INQUEUE)


def test_gated_pods_of_a_job_wait_and_the_others_go() -> None:
    opened = act(
        node("n1"),
        pod_group("g", min_member=1),
        pod("open", group="g", cpu="1"),
        pod("gated", group="g", cpu="1", gates=["wait"]),
    )
    assert opened.binds == {"open": "n1"}


def test_pods_of_other_schedulers_and_without_a_group_are_not_placed() -> None:
    opened = act(
        node("n1"), pod_group("g"), pod("free", cpu="1"), pod("f", group="g", cpu="1", scheduler="default-scheduler")
    )
    assert opened.binds == {}


def test_a_pod_that_is_not_evaluated_yet_is_never_bound_and_holds_up_its_gang_only() -> None:
    broken = pod("g-1", group="g", cpu="much")
    opened = act(node("n1"), gang("g", cpu="1", min_member=2), broken, gang("other", cpu="1"))
    assert opened.binds == {"other-0": "n1"}


@pytest.mark.parametrize(("seconds", "bound"), [(0.0, {"g-0": "n1"}), (0.001, {})])
def test_a_pod_whose_binding_failed_is_left_alone_until_its_time(seconds: float, bound: dict[str, str]) -> None:
    opened = act(node("n1"), gang("g", cpu="1"), prepare=binding_failed("g-0", seconds=seconds))
    assert opened.binds == bound


# -- order -------------------------------------------------------------------------------------------------------


def test_tasks_go_in_task_order() -> None:
    members = [pod(f"g-w-{index}", group="g", cpu="1", priority=index) for index in range(3)]
    opened = act(node("n1", cpu="2"), pod_group("g", min_member=1), members, tiers=[[Gang, Priority]])
    assert set(opened.binds) == {"g-w-1", "g-w-2"}


def bound_in_part(**options: Any) -> list[Any]:
    """A gang of three of which one runs."""
    return gang("part", pods=3, cpu="1", running_on=["n1"], **options)


def test_a_gang_that_is_bound_in_part_goes_before_everything_else() -> None:
    opened = act(node("n1", cpu="4"), gang("first", pods=2, cpu="1", age=500), bound_in_part())
    assert set(opened.binds) == {"part-1", "part-2"}


def test_what_such_a_gang_has_beyond_its_minimum_takes_its_turn_like_others() -> None:
    opened = act(
        node("n1", cpu="8"),
        gang("part", pods=4, min_member=2, cpu="1", running_on=["n1"]),
        gang("other", cpu="1"),
    )
    assert set(opened.binds) == {"part-1", "part-2", "part-3", "other-0"}


def test_a_gang_that_is_bound_in_part_and_cannot_be_completed_leaves_the_rest_to_others() -> None:
    opened = act(node("n1", cpu="2"), gang("other", cpu="1"), bound_in_part())
    assert set(opened.binds) == {"other-0"}


# -- roles -------------------------------------------------------------------------------------------------------


def with_roles(**minimums: int) -> list[Any]:
    """A job of two workers and two drivers of 1 and 4 cpu."""
    group = pod_group("g", min_member=sum(minimums.values()), min_task_member=minimums)
    workers = [pod(f"g-worker-{index}", group="g", cpu="1", role="worker") for index in range(2)]
    drivers = [pod(f"g-driver-{index}", group="g", cpu="4", role="driver") for index in range(2)]
    return [group, *workers, *drivers]


@pytest.mark.parametrize(
    ("cpu", "bound"),
    [
        pytest.param("6", {"g-driver-0": "n1", "g-worker-0": "n1", "g-worker-1": "n1"}, id="one driver, two workers"),
        pytest.param("5", {}, id="a worker too few"),
        pytest.param("2", {}, id="no driver"),
    ],
)
def test_every_role_has_its_minimum_before_anything_is_bound(cpu: str, bound: dict[str, str]) -> None:
    assert act(node("n1", cpu=cpu), with_roles(driver=1, worker=2)).binds == bound


def test_a_role_that_failed_once_is_not_tried_again_in_this_turn() -> None:
    asked: list[int] = []

    class NoDrivers(Plugin):
        name = "no-drivers"

        def on_session_open(self, ssn: Session) -> None:
            self.code = ssn.refusal(Reason.NODES_REFUSE, "no drivers here")

        def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
            asked.append(int(task_class.request[0]))
            refused = task_class.request[0] >= 4000
            return np.full(len(view), self.code if refused else 0, dtype=np.int32)

    different = [
        pod_group("g", min_member=1),
        pod("g-driver-0", group="g", cpu="4", role="driver"),
        pod("g-driver-1", group="g", cpu="5", role="driver"),
        pod("g-worker-2", group="g", cpu="1", role="worker"),
    ]
    opened = act(node("n1", cpu="8"), different, tiers=[[Gang, NoDrivers]])
    assert opened.binds == {"g-worker-2": "n1"}
    assert sorted(set(asked)) == [1000, 4000], "the driver of 5 cpu was not looked at"


def test_a_rigid_gang_stops_at_its_first_misfit() -> None:
    asked: list[int] = []

    class Counting(Plugin):
        name = "counting"

        def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
            asked.append(int(task_class.request[0]))
            return np.zeros(len(view), dtype=np.int32)

    members = [pod("g-w-0", group="g", cpu="9"), pod("g-w-1", group="g", cpu="1")]
    opened = act(node("n1", cpu="8"), pod_group("g", min_member=2), members, tiers=[[Gang, Counting]])
    assert opened.binds == {}
    assert asked == [9000]


# -- tasks that ask for nothing ----------------------------------------------------------------------------------


def test_row_5_a_task_that_asks_for_nothing_counts_and_is_bound_with_its_gang() -> None:
    members = [pod("g-w-0", group="g"), pod("g-w-1", group="g", cpu="1")]
    opened = act(node("n1"), pod_group("g", min_member=2), members)
    assert opened.binds == {"g-w-0": "n1", "g-w-1": "n1"}


def test_nothing_is_bound_when_a_member_that_asks_for_nothing_finds_no_place() -> None:
    """The node takes one more pod."""
    members = [pod("g-w-0", group="g"), pod("g-w-1", group="g", cpu="1")]
    opened = act(node("n1", pods="1"), pod_group("g", min_member=2), members)
    assert opened.binds == {}
    assert not opened.ssn.ledger.nodes.used.any(), "and nothing is held"


def test_members_that_ask_for_nothing_are_never_left_behind_by_backfill() -> None:
    members = [pod(f"g-w-{index}", group="g") for index in range(3)]
    assert act(node("n1", pods="2"), pod_group("g", min_member=3), members).binds == {}
    assert len(act(node("n1", pods="3"), pod_group("g", min_member=3), members).binds) == 3


def test_a_member_that_asks_for_nothing_and_waits_after_a_failed_binding_is_waited_for() -> None:
    """It counts as ready, but it is not placed now; so the gang is not whole."""
    members = [pod("g-w-0", group="g"), pod("g-w-1", group="g", cpu="1")]
    opened = act(node("n1"), pod_group("g", min_member=2), members, prepare=binding_failed("g-w-0", seconds=5))
    assert opened.binds == {}


def test_roles_count_members_that_ask_for_nothing_only_once_they_have_a_place() -> None:
    members = [pod("g-d-0", group="g", role="driver"), pod("g-w-0", group="g", cpu="1", role="worker")]
    group = pod_group("g", min_member=2, min_task_member={"driver": 1, "worker": 1})
    assert act(node("n1", pods="1"), group, members).binds == {}
    assert len(act(node("n1", pods="2"), group, members).binds) == 2


def test_a_gang_waits_for_a_place_of_its_member_that_asks_for_nothing_while_one_is_being_released() -> None:
    leaving = pod("old", on="n1", deleting=True)
    members = [pod("g-w-0", group="g"), pod("g-w-1", group="g", cpu="1")]
    opened = act(node("n1", cpu="1", pods="2"), leaving, pod_group("g", min_member=2), members, gang("x", cpu="1"))
    assert opened.binds == {}
    job = opened.job("g")
    assert (job.count(TaskStatus.ALLOCATED), job.waiting) == (1, 1)


# -- nominated nodes ---------------------------------------------------------------------------------------------


def nominated(member: Any, node_name: str) -> Any:
    return with_status(member, nominated_node_name=node_name)


def test_row_17_the_node_that_a_pod_was_promised_is_tried_first() -> None:
    opened = act(
        [node("n1"), node("n2"), node("n3")],
        pod_group("g", min_member=1),
        nominated(pod("g-0", group="g", cpu="1"), "n3"),
    )
    assert opened.binds == {"g-0": "n3"}


@pytest.mark.parametrize("promised", ["n3", "gone"])
def test_when_the_promised_node_will_not_do_all_are_tried(promised: str) -> None:
    opened = act(
        [node("n1"), node("n3", cpu="0")],
        pod_group("g", min_member=1),
        nominated(pod("g-0", group="g", cpu="1"), promised),
    )
    assert opened.binds == {"g-0": "n1"}


def test_each_pod_of_a_gang_gets_the_node_it_was_promised() -> None:
    promised = {"g-w-0": "n4", "g-w-1": "", "g-w-2": "n2", "g-w-3": "n3"}
    opened = act(
        [node(f"n{index}") for index in range(1, 5)],
        pod_group("g", min_member=4),
        [nominated(pod(name, group="g", cpu="1"), at) for name, at in promised.items()],
    )
    assert opened.binds == {"g-w-0": "n4", "g-w-1": "n1", "g-w-2": "n2", "g-w-3": "n3"}


# -- orders of the whole -----------------------------------------------------------------------------------------


def test_jobs_of_a_queue_go_in_job_order() -> None:
    class ByName(Plugin):
        name = "by-name"

        def job_order(self, job: Job) -> Key:
            return job.key

    opened = act(
        node("n1", cpu="2"), gang("b", cpu="1"), gang("c", cpu="1"), gang("a", cpu="1"), tiers=[[Gang, ByName]]
    )
    assert set(opened.binds) == {"a-0", "b-0"}


def test_a_predicate_over_the_whole_cluster_is_asked_after_each_placement() -> None:
    class NoTwoAlike(Plugin):
        """At most one pod in the whole cluster."""

        name = "no-two-alike"

        def on_session_open(self, ssn: Session) -> None:
            self.nodes = ssn.ledger.nodes

        def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
            return np.full(len(view), min(int(self.nodes.tasks.sum()), 1), dtype=np.int32)

        def predicate_reach(self, task_class: TaskClass) -> Reach:
            return Reach.DOMAIN

    opened = act(node("n1"), gang("g", pods=3, min_member=1, cpu="1"), tiers=[[Gang, NoTwoAlike]])
    assert len(opened.binds) == 1
