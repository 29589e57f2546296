"""Why each pod waits: the reason of its condition, on which autoscalers act, and the sentence that people read."""

from __future__ import annotations

from typing import Any

from tests.support.sessions import gang, node, open_session, pod, pod_group
from tests.unit.framework.closed import closed
from tests.unit.state.watched import with_spec, with_status
from volcano_py.api.effects import Event, PodCondition
from volcano_py.api.objects import Condition
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import devices_not_chosen
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.status.closing import Closing
from volcano_py.framework.status.verdicts import job_verdict
from volcano_py.framework.votes import Ballot, Room, reject
from volcano_py.plugins.gang import Gang
from volcano_py.state.infos import QueueInfo
from volcano_py.state.task_class import Refusal, TaskClass

FULL = "0/1 nodes are unavailable: 1 Insufficient cpu."


class Ceiling(Plugin):
    """No queue may take anything."""

    name = "ceiling"

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        return Room(0, Refusal(Reason.OVER_DESERVED, f"queue {queue.name} has had its share"))


class Shut(Plugin):
    """No job is admitted."""

    name = "shut"
    reason = Reason.OVER_CAPABILITY

    def job_enqueueable(self, job: Job) -> Ballot:
        return reject(self.reason, "there is no room")


# -- the reason of the condition ---------------------------------------------------------------------------------


def test_what_nodes_refuse_is_unschedulable_and_what_had_a_place_is_schedulable() -> None:
    done = closed(node("n1", cpu="2"), gang("g", pods=3, cpu="1"))
    reported = sorted(done.pods().values())
    assert reported == [
        ("Schedulable", GANG),
        ("Schedulable", GANG),
        ("Unschedulable", f"NodesRefuse: {FULL} The pod asks for 1 cpu; no node has any cpu free."),
    ]


GANG = (
    "GangIncomplete: 2 of 3 pods have a place, minMember is 3: 1 more must fit before any is bound; "
    f"with them in place, {FULL} The pod asks for 1 cpu; no node has any cpu free."
)


def test_what_never_fits_is_unschedulable_too() -> None:
    done = closed(node("n1", cpu="2"), gang("g", cpu="3"))
    message = (
        f"NeverFits: {FULL} The pod asks for 3 cpu; the largest node, n1, has 2 cpu even when empty: ask for less or"
        " add a larger node."
    )
    assert done.pods() == {"g-0": ("Unschedulable", message)}


def test_what_waits_for_its_queue_is_undetermined() -> None:
    done = closed(node("n1"), gang("g", cpu="1"), tiers=[[Gang, Ceiling]])
    assert done.pods() == {"g-0": ("Undetermined", "OverDeserved: queue default has had its share")}


def test_a_job_that_was_not_admitted_is_undetermined_unless_another_node_would_help() -> None:
    group = [pod_group("g", min_resources={"cpu": "1"}, phase="Pending"), pod("g-0", group="g", cpu="1")]
    assert closed(node("n1"), group, tiers=[[Gang, Shut]]).pods() == {
        "g-0": ("Undetermined", "OverCapability: there is no room")
    }
    taken = type("Taken", (Shut,), {"reason": Reason.CLUSTER_OVERCOMMITTED})
    assert closed(node("n1"), group, tiers=[[Gang, taken]]).pods() == {
        "g-0": ("Unschedulable", "ClusterOvercommitted: there is no room")
    }


def test_what_waits_for_pods_to_end_names_the_node() -> None:
    leaving = [pod_group("old"), pod("old-0", group="old", cpu="2", on="n1", deleting=True)]
    done = closed(node("n1", cpu="2"), leaving, gang("g", cpu="2"))
    message = (
        "WaitingForRelease: a place on node n1 is kept for it until the pods terminating there are gone: "
        "team/old-0 of PodGroup team/old in queue default"
    )
    assert done.pods() == {"g-0": ("Unschedulable", message)}


def test_a_gang_that_waits_for_pods_on_several_nodes_names_them_and_each_member_its_own() -> None:
    nodes = [node(f"n{number}", cpu="1") for number in range(4)]
    leaving = [pod(f"old-{number}", cpu="1", on=f"n{number}", deleting=True) for number in range(4)]
    done = closed(nodes, leaving, gang("g", pods=4, min_member=4, cpu="1"))
    [reported] = done.closing.pending
    assert "places on nodes n0, n1, n2 and 1 more are kept for it until the pods terminating" in reported.message
    assert reported.message.endswith("are gone: team/old-0, team/old-1, team/old-2 and 1 more")
    assert sorted(message.partition(": team/")[2] for _, message in done.pods().values()) == [
        f"old-{number}" for number in range(4)
    ]


def test_how_long_a_place_is_kept_is_reported_where_it_was_promised() -> None:
    leaving = pod("old-0", cpu="2", on="n1", deleting=True)
    nominated = with_status(pod("g-0", group="g", cpu="2"), nominated_node_name="n1")
    done = closed(node("n1", cpu="2"), leaving, pod_group("g"), nominated)
    assert done.pods()["g-0"][1].endswith(
        "are gone: team/old-0; the place is kept until 60 s after they should be gone"
    )


def test_a_place_that_was_found_later_outweighs_one_that_was_given_back() -> None:
    opened = open_session(
        node("n1", cpu="2"), pod("old", cpu="2", on="n1", deleting=True), gang("g", cpu="2"), tiers=[[Gang]]
    )
    opened.pipeline("g", {"g-0": "n1"}).discard()
    opened.pipeline("g", {"g-0": "n1"})
    effects = [effect for effect in Closing(opened.ssn, "c").effects() if isinstance(effect, PodCondition)]
    assert [(effect.reason, effect.code) for effect in effects] == [("Unschedulable", Reason.WAITING_FOR_RELEASE)]


def test_what_cannot_be_placed_as_it_stands_is_an_error() -> None:
    broken = pod("g-1", group="g", cpu="much")
    claiming: Any = with_spec(pod("h-0", group="h", cpu="1"), resource_claims=[{"name": "gpu"}])
    done = closed(node("n1"), pod_group("g"), broken, pod_group("h"), claiming)
    unreadable = "spec.containers[0].resources.requests.cpu: 'much' is not a quantity (examples: 2, 500m, 1.5Gi, 1e3)"
    assert done.pods() == {
        "g-1": ("SchedulerError", f"InvalidPod: {unreadable}"),
        "h-0": ("SchedulerError", f"Unsupported: {devices_not_chosen()}"),
    }


def test_a_member_that_cannot_be_placed_is_the_reason_for_its_gang() -> None:
    done = closed(node("n1"), gang("g", min_member=2, cpu="1"), pod("g-1", group="g", cpu="much"))
    assert done.pods()["g-0"][0] == "Schedulable", "it had a place, and gave it back"
    assert done.conditions("g")["Unschedulable"].message.startswith("InvalidPod: 2/2 tasks in gang unschedulable: ")


def test_what_was_found_of_another_member_is_reported_as_that_members() -> None:
    members = [
        pod("big", group="g", cpu="3", age=9),
        pod("small", group="g", cpu="1"),
        pod("tiny", group="g", cpu="500m"),
    ]
    done = closed(node("n1", cpu="2"), pod_group("g", min_member=3), members)
    reported = done.pods()["big"][1].removeprefix("NeverFits: ")
    held_up = ("Undetermined", f"NeverFits: held up by team/big of its gang: {reported}")
    assert done.pods() == {"big": ("Unschedulable", f"NeverFits: {reported}"), "small": held_up, "tiny": held_up}
    assert done.conditions("g")["Unschedulable"].message == f"NeverFits: 3/3 tasks in gang unschedulable: {reported}"


def test_the_named_member_does_not_depend_on_the_order_of_lists() -> None:
    odd = [pod(name, group="g", cpu="much") for name in ("a", "b")]
    others = [pod("full", group="g", cpu="2", age=9), pod("wide", group="g", cpu="1")]
    one, other = (
        closed(node("n1", cpu="1"), pod_group("g", min_member=4), listed, others).pods()["wide"]
        for listed in (odd, odd[::-1])
    )
    assert one == other


def test_what_must_be_fixed_in_another_member_is_reported_as_that_members() -> None:
    members = [
        pod("full", group="g", cpu="2", age=9),
        pod("odd", group="g", cpu="much"),
        pod("wide", group="g", cpu="1"),
    ]
    done = closed(node("n1", cpu="1"), pod_group("g", min_member=3), members)
    reported = done.pods()["odd"][1].removeprefix("InvalidPod: ")
    assert reported.startswith("spec.containers[0].resources.requests.cpu: 'much' is not a quantity")
    assert done.pods()["wide"] == ("Undetermined", f"InvalidPod: held up by team/odd of its gang: {reported}")


def test_the_pods_of_a_gang_that_is_short_of_pods_get_the_reason() -> None:
    done = closed(node("n1"), gang("g", pods=1, min_member=2, cpu="1"))
    sentence = "PodGroup team/g: 1 pod of this scheduler exists, minMember is 2: create 1 more or lower minMember"
    assert done.pods() == {"g-0": ("Undetermined", f"NotEnoughTasks: {sentence}")}


def test_gated_pods_get_no_status_and_are_the_reason_why_their_gang_waits() -> None:
    members = [pod("open", group="g", cpu="1"), pod("shut", group="g", cpu="1", gates=["example.com/wait"])]
    done = closed(node("n1"), pod_group("g", min_member=2), members)
    reported = (
        "SchedulingGated: a pod has the scheduling gate example.com/wait: the controller or user that set it "
        "must remove it"
    )
    assert done.pods() == {"open": ("Schedulable", done.pods()["open"][1])}
    assert [(job.reason, job.message) for job in done.closing.pending] == [(Reason.SCHEDULING_GATED, reported)]


def test_a_pod_that_waits_next_to_its_running_gang_gets_a_reason_and_the_gang_stays_running() -> None:
    done = closed(node("n1", cpu="2"), gang("g", pods=2, min_member=1, cpu="2", running_on=["n1"]))
    assert list(done.pods()) == ["g-1"]
    assert done.phase("g") == "Running"
    assert [(job.name, job.phase) for job in done.closing.pending] == [("team/g", "Running")]


# -- precedence --------------------------------------------------------------------------------------------------


def test_what_must_be_fixed_first_is_reported() -> None:
    opened = open_session(
        node("n1", cpu="1"),
        gang("g", pods=2, min_member=1, cpu="2"),
        pod("g-x", group="g", gates=["g"]),
        tiers=[[Gang]],
    )
    job = opened.job("g")
    assert job_verdict(opened.ssn, job).reason is Reason.SCHEDULING_GATED
    task_class = opened.task("g-0").task_class
    opened.ssn.findings.misfit(job, task_class, opened.ssn.placer.misfit(task_class))
    assert job_verdict(opened.ssn, job).reason is Reason.NEVER_FITS
    opened.ssn.findings.note(job, Refusal(Reason.OVER_DESERVED, "full"))
    assert job_verdict(opened.ssn, job).reason is Reason.NEVER_FITS
    opened.ssn.findings.note(job, Refusal(Reason.INVALID_QUEUE, "no such parent"))
    assert job_verdict(opened.ssn, job).reason is Reason.INVALID_QUEUE
    opened.ssn.findings.note(job, Refusal(Reason.OVER_CAPABILITY, "full"))
    assert opened.ssn.findings.notes[job.row].reason is Reason.INVALID_QUEUE, "notes are kept by the same rule"


def test_a_job_that_nothing_is_known_of_has_not_been_looked_at() -> None:
    opened = open_session(node("n1"), gang("g", cpu="1"), tiers=[[Gang]])
    assert job_verdict(opened.ssn, opened.job("g")).reason is Reason.NOT_YET_EVALUATED


# -- once --------------------------------------------------------------------------------------------------------


def test_every_condition_comes_with_its_event() -> None:
    done = closed(node("n1", cpu="1"), gang("g", cpu="2"))
    (condition,) = (effect for effect in done.effects if isinstance(effect, PodCondition))
    assert done.events("g-0") == [("Warning", "FailedScheduling", condition.message)]
    assert condition.code is Reason.NEVER_FITS


def test_a_written_condition_of_a_pod_is_not_written_again() -> None:
    group, member = gang("g", cpu="2")
    first = closed(node("n1", cpu="1"), group, member)
    reason, message = first.pods()["g-0"]
    known = Condition(type="PodScheduled", status="False", reason=reason, message=message)
    again = closed(node("n1", cpu="1"), group, with_status(member, conditions=[known]))
    assert again.pods() == {}
    assert not [effect for effect in again.effects if isinstance(effect, Event) and effect.about.kind == "Pod"]
    other = closed(node("n1", cpu="1.5"), group, with_status(member, conditions=[known]))
    assert "1.5 cpu even when" in other.pods()["g-0"][1]


def test_a_group_that_is_not_admitted_is_not_asked_for_pods_which_come_later() -> None:
    group = pod_group("g", min_member=3, min_resources={"cpu": "3"}, phase="Pending")
    kept_out = closed(node("n1"), group, tiers=[[Gang, Shut]])
    [job] = kept_out.closing.pending
    assert (job.reason, job.message) == (Reason.OVER_CAPABILITY, "OverCapability: there is no room")
