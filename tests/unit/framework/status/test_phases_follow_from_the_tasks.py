"""PodGroup phases, conditions and events, and what queues have allocated: written when they differ, and only then."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.placement.volumes import MADE, claim, storage_class, using
from tests.support.sessions import NOW, gang, node, pod, pod_group, queue
from tests.unit.framework.closed import CYCLE, Closed, closed
from tests.unit.state.watched import with_meta, with_status
from volcano_py.api.effects import Bind, Event, ObjectRef, PodGroupStatusUpdate
from volcano_py.api.objects import ApiObject, Condition, OwnerReference
from volcano_py.api.reasons import Reason
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.votes import Ballot, reject
from volcano_py.plugins.predicates import Predicates
from volcano_py.state.cluster_state import ClusterState

MISSING_ONE = (
    "NotEnoughTasks: 1/2 tasks in gang unschedulable: PodGroup team/g: 1 pod of this scheduler exists, minMember "
    "is 2: create 1 more or lower minMember"
)


def in_phase(stored: str, *pods: str, min_member: int = 2) -> list[ApiObject]:
    """A group as it is stored, with pods in phases; a phase ending in - is of a pod that is being deleted."""
    members = []
    for index, reported in enumerate(pods):
        phase = reported.rstrip("-")
        place = "" if phase == "Pending" else "n1"
        kind = "Pending" if phase == "Bound" else phase
        members.append(pod(f"g-{index}", group="g", cpu="100", on=place, phase=kind, deleting=reported.endswith("-")))
    return [pod_group("g", min_member=min_member, phase=stored), *members]


# -- phases ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "pods", "phase"),
    [
        pytest.param("", [], "Inqueue", id="new: admitted"),
        pytest.param("Pending", [], "Inqueue", id="pending: admitted"),
        pytest.param("Inqueue", [], "Inqueue", id="admitted, its pods are not created yet"),
        pytest.param("Inqueue", ["Pending", "Pending"], "Inqueue", id="admitted, and no room"),
        pytest.param("Inqueue", ["Running", "Pending"], "Unknown", id="one of two runs"),
        pytest.param("Inqueue", ["Bound", "Bound"], "Running", id="bound is scheduled"),
        pytest.param("Inqueue", ["Running", "Running"], "Running", id="running"),
        pytest.param("Running", ["Running", "Running"], "Running", id="still running"),
        pytest.param("Running", ["Running", "Succeeded"], "Running", id="one has finished"),
        pytest.param("Running", ["Succeeded", "Succeeded"], "Completed", id="all have succeeded"),
        pytest.param("Running", ["Succeeded", "Failed"], "Completed", id="a failure is an end, too"),
        pytest.param("Running", ["Succeeded", "Succeeded", "Pending"], "Running", id="a pod is still to come"),
        pytest.param("Running", ["Running", "Failed"], "Unknown", id="a failed one is scheduled, but not ready"),
        pytest.param("Running", ["Running"], "Unknown", id="a pod was lost"),
        pytest.param("Running", ["Succeeded"], "Pending", id="too few, and none runs"),
        pytest.param("Running", [], "Pending", id="all pods were lost"),
        pytest.param("Running", ["Running", "Running-"], "Running", id="one leaves: it fills the gang while it does"),
        pytest.param("Running", ["Running", "Running-", "Pending"], "Unknown", id="one leaves, its successor waits"),
        pytest.param("Unknown", ["Running", "Running"], "Running", id="complete again"),
        pytest.param("Unknown", ["Pending", "Pending"], "Pending", id="nothing of it runs any more"),
        pytest.param("Completed", ["Succeeded", "Succeeded"], "Completed", id="completed stays"),
    ],
)
def test_the_phase_of_a_gang_of_two(stored: str, pods: list[str], phase: str) -> None:
    """Each pod asks for 100 cpu, and the node has 150: one of them has room, two have not."""
    assert (closed(node("n1", cpu="150"), in_phase(stored, *pods)).phase("g") or stored) == phase


def test_a_gang_that_is_refused_entrance_stays_pending() -> None:
    class Shut(Plugin):
        name = "shut"

        def job_enqueueable(self, job: Job) -> Ballot:
            return reject(Reason.OVER_CAPABILITY, "queue default is full")

    group = pod_group("g", min_member=2, min_resources={"cpu": "1"}, phase="")
    done = closed(group, tiers=[[Shut]])
    assert done.phase("g") == "Pending"
    condition = done.conditions("g")["Unschedulable"]
    assert (condition.status, condition.reason, condition.message) == (
        "True",
        "NotEnoughResources",
        "OverCapability: 2/2 tasks in gang unschedulable: queue default is full",
    )
    assert [(job.name, job.phase, job.reason) for job in done.closing.pending] == [
        ("team/g", "Pending", Reason.OVER_CAPABILITY)
    ]


def test_counts_are_written_with_the_phase() -> None:
    done = closed(node("n1"), in_phase("Inqueue", "Running", "Running", "Succeeded", "Failed"))
    update = done.status("g")
    assert update is not None
    assert (update.phase, update.running, update.succeeded, update.failed) == ("Running", 2, 1, 1)


def test_counts_alone_are_worth_an_update() -> None:
    group, *members = in_phase("Running", "Running", "Running", "Succeeded")
    stored = with_status(group, running=3, conditions=[SCHEDULED])
    update = closed(node("n1"), stored, members).status("g")
    assert update is not None
    assert (update.phase, update.running, update.succeeded) == ("Running", 2, 1)


def test_what_was_bound_in_this_cycle_runs_from_the_next_one_on() -> None:
    done = closed(node("n1"), gang("g", pods=2, cpu="1"))
    assert sum(isinstance(effect, Bind) for effect in done.opened.effects) == 2
    assert done.phase("g") == "Inqueue"
    assert done.conditions("g")["Scheduled"].reason == "tasks in gang are ready to be scheduled"


# -- what passes by itself -----------------------------------------------------------------------------------------


def test_until_its_bindings_are_carried_out_a_status_is_provisional() -> None:
    update = closed(node("n1"), gang("g", pods=2, cpu="1")).status("g")
    assert update is not None
    assert update.provisional


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(in_phase("Inqueue", "Pending", "Pending"), id="no room"),
        pytest.param(in_phase("Inqueue", "Bound", "Bound"), id="bound before"),
        pytest.param(in_phase("Inqueue", "Bound", "Bound", "Running"), id="runs"),
        pytest.param(in_phase("Pending"), id="no pods"),
        pytest.param([pod_group("g", min_member=3, phase="Pending"), pod("g-0", group="g", cpu="1")], id="too few"),
    ],
)
def test_a_status_that_no_binding_changes_is_not(stored: list[ApiObject]) -> None:
    update = closed(node("n1", cpu="150"), stored, tiers=[[]]).status("g")
    assert update is not None
    assert not update.provisional


def test_nor_is_one_whose_bindings_wait_for_volumes_to_be_created() -> None:
    volumes = [claim("data", of=MADE), storage_class(MADE, provisioner="x")]
    member = using(pod("g-0", group="g", cpu="1"), "data")
    done = closed(node("n1"), *volumes, pod_group("g", phase="Pending"), member, tiers=[[Predicates]])
    assert [len(effect.claims) for effect in done.opened.effects if isinstance(effect, Bind)] == [1]
    update = done.status("g")
    assert update is not None
    assert not update.provisional


def test_nor_is_one_of_a_group_that_runs_already() -> None:
    group, *members = in_phase("Running", "Running", "Running", "Succeeded", "Pending")
    update = closed(node("n1", cpu="500"), group, members).status("g")
    assert update is not None
    assert (update.phase, update.running, update.provisional) == ("Running", 2, False)


@pytest.mark.parametrize("decided", [True, False])
def test_what_has_passed_is_worked_out_again_although_the_api_server_never_had_it(decided: bool) -> None:
    """A pod was lost, made again and bound before anything was written: the stored status is right all the time."""
    stored, *members = in_phase("Running", "Running", "Running")
    group = with_status(stored, running=2)

    def pass_by(state: ClusterState) -> None:
        meta = group.metadata
        ref = ObjectRef("PodGroup", meta.namespace, meta.name, meta.uid)
        state.assume_status(PodGroupStatusUpdate(ref, "Pending", (), 1, 0, 0, provisional=True), NOW.timestamp())

    update = closed(node("n1"), group, members, prepare=pass_by, decided=decided).status("g")
    assert update is not None
    assert (update.phase, update.running, update.provisional) == ("Running", 2, False)


# -- conditions --------------------------------------------------------------------------------------------------

SCHEDULED = Condition(type="Scheduled", status="True", reason="tasks in gang are ready to be scheduled")
KNOWN = Condition(
    type="Unschedulable",
    status="True",
    reason="NotEnoughTasks",
    message=MISSING_ONE,
    transition_id="cycle-1",
    last_transition_time=NOW - timedelta(minutes=5),
)


def test_a_condition_is_written_with_the_cycle_and_its_time() -> None:
    condition = closed(node("n1"), in_phase("Running", "Running")).conditions("g")["Unschedulable"]
    assert condition == Condition(
        type="Unschedulable",
        status="True",
        reason="NotEnoughTasks",
        message=MISSING_ONE,
        transition_id=CYCLE,
        last_transition_time=NOW,
    )


def test_what_was_reported_is_not_reported_again() -> None:
    group, *members = in_phase("Unknown", "Running")
    stored = with_status(group, running=1, conditions=[KNOWN])
    done = closed(node("n1"), stored, members)
    assert done.status("g") is None
    assert done.events("g") == []


def test_another_reason_takes_the_place_of_the_old_one() -> None:
    group, *members = in_phase("Unknown", "Running")
    other = Condition(type="PodGroupScheduled", status="False")
    stored = with_status(group, conditions=[other, with_message(KNOWN, "as it was")])
    update = closed(node("n1"), stored, members).status("g")
    assert update is not None
    assert [(condition.type, condition.message) for condition in update.conditions] == [
        ("PodGroupScheduled", ""),
        ("Unschedulable", MISSING_ONE),
    ]


def with_message(condition: Condition, message: str) -> Condition:
    return msgspec.structs.replace(condition, message=message)


def test_an_old_refusal_stays_next_to_the_news_that_all_is_well() -> None:
    group, *members = in_phase("Unknown", "Running", "Running")
    update = closed(node("n1"), with_status(group, conditions=[KNOWN]), members).status("g")
    assert update is not None
    assert [(condition.type, condition.status) for condition in update.conditions] == [
        ("Unschedulable", "True"),
        ("Scheduled", "True"),
    ]
    assert update.conditions[0] == KNOWN


def test_the_same_refusal_is_reported_again_when_all_was_well_in_between() -> None:
    """Whoever compares times must see that the refusal is the newer one."""
    well = msgspec.structs.replace(SCHEDULED, last_transition_time=NOW - timedelta(minutes=1))
    group, *members = in_phase("Running", "Running")
    update = closed(node("n1"), with_status(group, conditions=[KNOWN, well]), members).status("g")
    assert update is not None
    times = {condition.type: condition.last_transition_time for condition in update.conditions}
    assert times == {"Unschedulable": NOW, "Scheduled": NOW - timedelta(minutes=1)}
    assert closed(node("n1"), with_status(group, conditions=[KNOWN, well]), members).events("g") == [
        ("Warning", "Unschedulable", MISSING_ONE)
    ]


def test_members_that_still_leave_fill_their_gang_as_long_as_nothing_else_waits() -> None:
    done = closed(node("n1"), in_phase("Running", "Running", "Running-"))
    assert "Unschedulable" not in done.conditions("g")


def test_a_gang_short_of_a_role_has_its_own_reason() -> None:
    group = pod_group("g", min_member=2, min_task_member={"driver": 1, "worker": 1})
    members = [pod("a", group="g", cpu="1", role="worker"), pod("b", group="g", cpu="1", role="worker")]
    condition = closed(node("n1"), group, members).conditions("g")["Unschedulable"]
    assert condition.reason == "NotEnoughPodsOfTask"
    assert condition.message == (
        "NotEnoughTasks: 2/2 tasks in gang unschedulable: PodGroup team/g: minTaskMember is not met (role driver has "
        "0 of 1 pods): create 1 more of this scheduler with annotation volcano.sh/task-spec or lower minTaskMember"
    )


# -- events ------------------------------------------------------------------------------------------------------


def test_events_come_with_their_condition() -> None:
    assert closed(node("n1"), in_phase("Running", "Running")).events("g") == [("Warning", "Unschedulable", MISSING_ONE)]
    assert closed(node("n1"), in_phase("Inqueue", "Running", "Running")).events("g") == [
        ("Normal", "Scheduled", "pod group is ready")
    ]


def test_counts_and_phases_alone_make_no_event() -> None:
    group, *members = in_phase("Running", "Running", "Running", "Succeeded")
    assert closed(node("n1"), with_status(group, conditions=[SCHEDULED]), members).events("g") == []


# -- what is young, what is missing --------------------------------------------------------------------------------


def born(obj: Any, seconds_ago: float) -> Any:
    return with_meta(obj, creation_timestamp=NOW - timedelta(seconds=seconds_ago))


def test_a_gang_whose_pods_are_just_being_created_is_not_reproached() -> None:
    group, *members = in_phase("Inqueue", "Pending")
    young = closed(node("n1"), born(group, 1.5), members)
    assert young.status("g") is None
    assert young.pods() == {}
    assert young.closing.look_again_at == NOW.timestamp() + 0.5
    assert [job.reason for job in young.closing.pending] == [Reason.NOT_ENOUGH_TASKS], "but it is counted"
    grown = closed(node("n1"), born(group, 2), members)
    assert grown.conditions("g")["Unschedulable"].message == MISSING_ONE.replace("1/2", "2/2")
    assert grown.closing.look_again_at == 0


def test_a_group_whose_queue_does_not_exist_gets_a_reason_like_its_pods() -> None:
    done = closed(node("n1"), gang("g", cpu="1", queue="nowhere"))
    sentence = "queue nowhere does not exist: create it, or name an existing one in spec.queue of the PodGroup"
    condition = done.conditions("g")["Unschedulable"]
    assert (condition.reason, condition.message) == ("NotEnoughResources", f"QueueNotFound: {sentence}")
    assert done.pods() == {"g-0": ("Undetermined", f"QueueNotFound: {sentence}")}
    assert [(job.name, job.queue, job.reason, job.pending) for job in done.closing.pending] == [
        ("team/g", "nowhere", Reason.QUEUE_NOT_FOUND, 1)
    ]


OWNED_BY_JOB = OwnerReference(api_version="batch.volcano.sh/v1alpha1", kind="Job", name="train", controller=True)
OWNED_BY_POD = OwnerReference(api_version="v1", kind="Pod", name="hello", controller=True)
OWNED_BY_SPARK = OwnerReference(
    api_version="sparkoperator.k8s.io/v1", kind="SparkApplication", name="s", controller=True
)


@pytest.mark.parametrize(
    ("name", "owner", "fix"),
    [
        ("train-0d3", OWNED_BY_JOB, "recreate Job train with an existing one in its spec.queue"),
        ("s", OWNED_BY_SPARK, "name an existing one in spec.queue of the PodGroup"),
        (
            "podgroup-1",
            OWNED_BY_POD,
            "recreate Pod hello with an existing one in its annotation scheduling.volcano.sh/queue-name",
        ),
    ],
)
def test_a_missing_queue_is_reported_where_it_was_named(name: str, owner: OwnerReference, fix: str) -> None:
    """A PodGroup without pods, too: those of Volcano Jobs come later. The queue is here the default one."""
    group = with_meta(pod_group(name), owner_references=[owner])
    (reported,) = closed(node("n1"), group, default_queue=False).conditions(name).values()
    assert reported.message == f"QueueNotFound: queue default does not exist: create it, or {fix}"


def test_a_queue_that_is_a_moment_late_is_not_missed() -> None:
    group, *members = gang("g", cpu="1", queue="nowhere")
    done = closed(node("n1"), born(group, 0.5), members)
    assert done.status("g") is None
    assert done.closing.look_again_at == NOW.timestamp() + 1.5


def test_pods_whose_group_does_not_exist_get_a_reason_unless_they_are_young() -> None:
    done = closed(node("n1"), pod("a", group="x", cpu="1"), born(pod("b", group="y", cpu="1"), 1), pod("c", group="z"))
    remedy = "create it or correct the pod's annotation scheduling.k8s.io/group-name"
    assert done.pods() == {
        "a": ("Undetermined", f"PodGroupNotFound: PodGroup team/x does not exist: {remedy}"),
        "c": ("Undetermined", f"PodGroupNotFound: PodGroup team/z does not exist: {remedy}"),
    }
    assert done.closing.look_again_at == NOW.timestamp() + 1
    assert [(job.name, job.queue, job.reason, job.pending) for job in done.closing.pending] == [
        ("team/x", "", Reason.POD_GROUP_NOT_FOUND, 1),
        ("team/z", "", Reason.POD_GROUP_NOT_FOUND, 1),
    ]


@pytest.mark.parametrize(
    "objects",
    [
        [born(pod_group("g"), 600), pod("p", group="g", cpu="100")],
        [born(pod_group("g", queue="nowhere"), 600)],
        [born(pod("younger", group="g"), 300), born(pod("older", group="g"), 600)],
    ],
    ids=["no room", "no queue", "no PodGroup"],
)
def test_what_waits_is_reported_with_when_it_was_created(objects: list[Any]) -> None:
    (waiting,) = closed(node("n1"), objects).closing.pending
    assert waiting.created == NOW.timestamp() - 600


# -- a cycle that decided nothing ----------------------------------------------------------------------------------


def undecided(*objects: Any) -> Closed:
    return closed(node("n1"), *objects, decided=False)


def test_without_a_decision_phases_and_counts_move_and_reasons_stay() -> None:
    group, *members = in_phase("Inqueue", "Running", "Running", "Pending")
    done = undecided(with_status(group, conditions=[KNOWN, SCHEDULED]), members)
    update = done.status("g")
    assert update is not None
    assert (update.phase, update.running, update.conditions) == ("Running", 2, (KNOWN, SCHEDULED))
    assert done.pods() == {}
    assert not any(isinstance(effect, Event) for effect in done.effects)


def test_without_a_decision_it_is_reported_that_a_group_is_scheduled() -> None:
    """Who bound it may have gone before the word was written."""
    group, *members = in_phase("Inqueue", "Running", "Running")
    done = undecided(with_status(group, conditions=[KNOWN]), members)
    assert list(done.conditions("g")) == ["Unschedulable", "Scheduled"]
    assert done.events("g") == [("Normal", "Scheduled", "pod group is ready")]


def test_without_a_decision_an_unknown_group_stays_unknown_until_it_is_complete() -> None:
    group, *members = in_phase("Unknown", "Running", "Pending")
    assert undecided(with_status(group, running=1), members).status("g") is None
    group, *members = in_phase("Unknown", "Running", "Running")
    assert undecided(group, members).phase("g") == "Running"


def test_without_a_decision_nothing_is_missed() -> None:
    done = undecided(gang("g", queue="nowhere"), pod("a", group="gone"))
    assert [effect for effect in done.effects if not isinstance(effect, PodGroupStatusUpdate)] == [
        effect for effect in done.effects if type(effect).__name__ == "QueueAllocated"
    ]
    assert done.closing.pending == []


# -- queues ------------------------------------------------------------------------------------------------------


def test_what_a_queue_has_allocated_is_written_as_kubernetes_writes_amounts() -> None:
    gpu: dict[str, Any] = {"nvidia.com/gpu": "1"}
    offered: dict[str, Any] = {"nvidia.com/gpu": "8"}
    done = closed(
        node("n1", **offered),
        queue("q1"),
        gang("a", pods=2, cpu="500m", memory="1Gi", running_on=["n1", "n1"], queue="q1", **gpu),
    )
    assert done.queues() == {
        "default": {"cpu": "0", "memory": "0"},
        "q1": {"cpu": "1", "memory": "2Gi", "pods": "2", "nvidia.com/gpu": "2"},
    }


def test_what_is_leaving_is_allocated_until_it_is_gone_and_what_is_promised_is_not_yet() -> None:
    leaving = [pod_group("old"), pod("old-0", group="old", cpu="1", on="n1", deleting=True)]
    done = closed(node("n1", cpu="1"), leaving, gang("g", cpu="1"))
    assert done.opened.job("g").waiting == 1
    assert done.queues() == {"default": {"cpu": "1", "memory": "0", "pods": "1"}}


@pytest.mark.parametrize(
    "stored", [{"cpu": "1000m", "memory": "0", "pods": "1"}, {"cpu": "1", "memory": "0Mi", "pods": 1}]
)
def test_equal_amounts_are_not_written_again_however_they_are_spelled(stored: dict[str, Any]) -> None:
    seen = with_status(queue("default"), allocated=stored)
    assert closed(node("n1"), seen, gang("g", cpu="1", running_on=["n1"])).queues() == {}


@pytest.mark.parametrize("stored", [{}, {"cpu": "junk"}, {"cpu": "1", "memory": "0", "pods": "1", "x.io/y": "1"}])
def test_other_amounts_are_written(stored: dict[str, Any]) -> None:
    seen = with_status(queue("default"), allocated=stored)
    assert closed(node("n1"), seen, gang("g", cpu="1", running_on=["n1"])).queues() == {
        "default": {"cpu": "1", "memory": "0", "pods": "1"}
    }


def test_nothing_is_written_when_nothing_changed() -> None:
    group, *members = in_phase("Running", "Running", "Running")
    seen = with_status(group, running=2, conditions=[SCHEDULED])
    stored = with_status(queue("default"), allocated={"cpu": "200", "memory": "0", "pods": "2"})
    assert closed(node("n1"), stored, seen, members).effects == []
