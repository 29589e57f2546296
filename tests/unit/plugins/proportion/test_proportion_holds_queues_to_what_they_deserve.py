"""proportion: what queues deserve, their order, and how far each may go."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, pod_group, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.api.objects import ApiObject
from volcano_py.api.reasons import Reason
from volcano_py.framework.votes import PLENTY, Room
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.proportion import Proportion
from volcano_py.state.table.axis import CPU
from volcano_py.state.task_class import Refusal

GPU = "nvidia.com/gpu"


def opened(*objects: Objects, cpu: str = "16", **more: Any) -> Opened:
    nodes = [node("n1", cpu=cpu, **more)]
    return open_session(*nodes, *objects, tiers=[[Gang], [Proportion]], actions=[Allocate])


def singles(name: str, count: int, queue: str, *, running: int = 0, **fields: Any) -> list[ApiObject]:
    """So many single-pod jobs of 1 cpu, the first ones running."""
    asked = {"cpu": "1", **fields}
    return [
        each
        for index in range(count)
        for each in gang(f"{name}-{index}", queue=queue, running_on=["n1"] if index < running else [], **asked)
    ]


def reported(session: Opened) -> dict[str, dict[str, Any]]:
    return {name: dict(facts) for name, facts in session.plugin(Proportion).describe_queues().items()}


def cpu_deserved(session: Opened) -> dict[str, int]:
    """Queue → deserved millicores, of those that deserve any."""
    return {name: facts["deserved"]["cpu"] for name, facts in reported(session).items() if facts["deserved"]}


def room(session: Opened, job: str) -> Room:
    return session.ssn.ask.allocatable(session.job(job).queue, session.task(f"{job}-0").task_class)


def allocate(session: Opened) -> dict[str, int]:
    """Run the action; how many pods of each queue hold a place afterwards."""
    Allocate(None).execute(session.ssn)
    ssn = session.ssn
    return dict(
        Counter(job.queue.name for row in ssn.job_rows().tolist() if (job := ssn.job(row)) and job.allocated_tasks)
    )


# -- what a queue deserves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("wanted", "deserved"), [(12, (4_000, 12_000)), (6, (10_000, 6_000))])
def test_the_cluster_is_divided_by_weight_and_what_is_left_goes_on(wanted: int, deserved: tuple[int, int]) -> None:
    session = opened(queue("q1"), queue("q2", weight=3), singles("a", 15, "q1", running=2), singles("b", wanted, "q2"))
    assert cpu_deserved(session) == {"q1": deserved[0], "q2": deserved[1]}


def test_a_guarantee_is_kept_from_the_others() -> None:
    session = opened(
        queue("q1", guarantee={"cpu": "4"}), queue("q2"), singles("a", 1, "q1"), singles("b", 20, "q2"), cpu="10"
    )
    assert cpu_deserved(session) == {"q1": 4_000, "q2": 6_000}
    assert reported(session)["q2"]["real_capability"]["cpu"] == 6_000


def test_capability_is_cut_to_what_guarantees_of_others_leave() -> None:
    session = opened(
        queue("both", guarantee={"cpu": "20"}, capability={"cpu": "60"}),
        queue("guaranteed", guarantee={"cpu": "10"}),
        queue("plain"),
        cpu="100",
    )
    real = {name: facts["real_capability"]["cpu"] for name, facts in reported(session).items()}
    assert real == {"default": 70_000, "both": 60_000, "guaranteed": 80_000, "plain": 70_000}


@pytest.mark.parametrize("capability", [{"cpu": "0"}, {}, {"memory": "1Gi"}])
def test_a_cpu_capability_of_zero_counts_as_absent(capability: dict[str, str]) -> None:
    session = opened(queue("q1", capability=capability), singles("a", 20, "q1"))
    assert cpu_deserved(session) == {"q1": 16_000}


def test_a_device_capability_of_zero_is_zero() -> None:
    session = opened(
        queue("q1", capability={GPU: "0"}), gang("a", queue="q1", cpu="1", devices={GPU: "1"}), devices={GPU: "4"}
    )
    assert GPU not in reported(session)["q1"]["deserved"]
    assert room(session, "a").count == 0


def test_only_queues_with_jobs_take_part() -> None:
    session = opened(queue("q1"), queue("idle", weight=1000), singles("a", 20, "q1"))
    assert cpu_deserved(session) == {"q1": 16_000}


def test_a_guarantee_larger_than_the_cluster_counts_as_none() -> None:
    session = opened(
        queue("q1", guarantee={"cpu": "100"}), queue("q2"), singles("a", 3, "q1"), singles("b", 3, "q2"), cpu="10"
    )
    assert cpu_deserved(session) == {"q1": 3_000, "q2": 3_000}


def test_pods_that_can_never_be_placed_claim_nothing() -> None:
    session = opened(
        queue("q1"),
        queue("q2"),
        gang("a", pods=100, queue="q1", cpu="1", memory="9E"),
        singles("b", 20, "q2"),
    )
    assert cpu_deserved(session) == {"q2": 16_000}


def test_a_hundred_thousand_pebibytes_are_just_a_lot() -> None:
    many = gang("a", pods=9000, min_member=1, queue="q1", memory="1Pi")
    session = opened(queue("q1"), queue("q2"), many, singles("b", 20, "q2"), memory="1Pi")
    assert reported(session)["q1"]["deserved"]["memory"] == 2**50
    assert reported(session)["q1"]["share"] == 0.0


def test_jobs_whose_queue_does_not_exist_claim_nothing() -> None:
    session = opened(queue("q1"), singles("a", 20, "q1"), singles("b", 20, "missing"))
    assert cpu_deserved(session) == {"q1": 16_000}


# -- order --------------------------------------------------------------------------------------------------------


def test_the_queue_with_the_smaller_part_of_what_it_deserves_goes_first() -> None:
    session = opened(
        queue("q1", age=1), queue("q2"), singles("a", 8, "q1", running=2), singles("b", 8, "q2", running=1)
    )
    assert sorted(("q1", "q2"), key=lambda name: session.ssn.ask.queue_key(session.ssn.queues[name])) == ["q2", "q1"]
    session.place("b-1", {"b-1-0": "n1"})
    statement = session.pipeline("b-2", {"b-2-0": "n1"})
    assert reported(session)["q2"]["share"] == pytest.approx(3 / 8)
    assert sorted(("q1", "q2"), key=lambda name: session.ssn.ask.queue_key(session.ssn.queues[name])) == ["q1", "q2"]
    statement.discard()
    assert reported(session)["q2"]["share"] == pytest.approx(2 / 8)


def test_priority_of_queues_goes_before_their_shares() -> None:
    session = opened(
        queue("q1"), queue("vip", priority=5), singles("a", 8, "q1"), singles("b", 8, "vip", running=7), cpu="16"
    )
    assert session.ssn.ask.queue_key(session.ssn.queues["vip"]) < session.ssn.ask.queue_key(session.ssn.queues["q1"])


def test_a_queue_is_overused_when_it_holds_all_it_deserves() -> None:
    session = opened(queue("q1"), queue("q2"), singles("a", 2, "q1", running=2), singles("b", 3, "q2", running=2))
    assert session.ssn.ask.overused(session.ssn.queues["q1"])
    assert not session.ssn.ask.overused(session.ssn.queues["q2"])
    assert session.ssn.ask.overused(session.ssn.queues["default"]), "no job, nothing deserved"


def test_half_a_device_is_deserved_but_cannot_be_held() -> None:
    session = opened(
        queue("q1"),
        queue("q2"),
        gang("a", pods=3, queue="q1", devices={GPU: "1"}, running_on=["n1"]),
        gang("b", pods=3, queue="q2", devices={GPU: "1"}),
        devices={GPU: "3"},
    )
    assert not session.ssn.ask.overused(session.ssn.queues["q1"]), "1 of 1.5"
    assert reported(session)["q1"]["share"] == pytest.approx(1 / 1.5)
    assert reported(session)["q1"]["deserved"][GPU] == 1
    assert room(session, "a").count == 0


# -- ceilings -----------------------------------------------------------------------------------------------------


def test_room_is_what_is_left_of_the_deserved_by_the_tightest_resource() -> None:
    session = opened(
        queue("q1"),
        queue("q2"),
        gang("a", pods=20, queue="q1", cpu="1500m", memory="1Gi"),
        gang("b", pods=20, queue="q2", cpu="1500m", memory="1Gi"),
    )
    assert room(session, "a") == Room(5)  # 8 cpu
    session.place("a", {"a-0": "n1", "a-1": "n1"})
    assert room(session, "a") == Room(3)


def test_exactly_the_deserved_is_fine() -> None:
    session = opened(queue("q1"), queue("q2"), singles("a", 20, "q1", running=7), singles("b", 20, "q2"))
    assert room(session, "a-7").count == 1


def test_the_refusal_names_queue_resource_and_numbers() -> None:
    session = opened(queue("q1"), queue("q2"), singles("a", 20, "q1", running=8), singles("b", 20, "q2"))
    assert room(session, "a-8") == Room(
        0,
        Refusal(
            Reason.OVER_DESERVED,
            "queue q1: 8 cpu allocated + 1 asked > 8 deserved; "
            "wait until jobs of the queue finish, or raise its weight",
        ),
        short=(CPU, 1000),
    )


@pytest.mark.parametrize(
    ("mine", "theirs", "reason", "ending"),
    [
        (
            {"capability": {"cpu": "3"}},
            {},
            Reason.OVER_CAPABILITY,
            "3 capability; wait until jobs of the queue finish, or raise its spec.capability",
        ),
        (
            {"weight": 100},
            {"guarantee": {"cpu": "13"}},
            Reason.OVER_CAPABILITY,
            (
                "3 left by other queues' guarantees (q2: 13 cpu); "
                "wait until jobs of the queue finish, or lower the guarantees of other queues"
            ),
        ),
    ],
    ids=["capability", "guarantees of others"],
)
def test_the_refusal_names_the_ceiling_it_comes_from(
    mine: dict[str, Any], theirs: dict[str, Any], reason: Reason, ending: str
) -> None:
    session = opened(
        queue("q1", **mine), queue("q2", **theirs), singles("a", 20, "q1", running=3), singles("b", 20, "q2")
    )
    refusal = room(session, "a-3").refusal
    assert refusal == Refusal(reason, f"queue q1: 3 cpu allocated + 1 asked > {ending}")


def test_a_queue_that_deserves_the_whole_cluster_is_stopped_by_the_nodes_alone() -> None:
    """So the pod learns which node is full, and an autoscaler adds one."""
    session = opened(queue("q1"), singles("a", 20, "q1", running=16))
    assert room(session, "a-16") == PLENTY
    assert allocate(session) == {"q1": 16}
    (error,) = session.ssn.findings.fit_errors[session.job("a-16").row].values()
    assert error.refusal.reason is Reason.NODES_REFUSE


def test_a_pod_larger_than_every_node_is_refused_by_the_nodes() -> None:
    session = opened(queue("q1"), queue("q2"), gang("a", queue="q1", cpu="17"), singles("b", 40, "q2"), cpu="16")
    allocate(session)
    (error,) = session.ssn.findings.fit_errors[session.job("a").row].values()
    assert error.refusal.reason is Reason.NEVER_FITS


def test_a_closed_queue_starts_nothing() -> None:
    session = opened(queue("q1", state="Closing"), singles("a", 2, "q1"))
    remedy = "open it (volcano-py queue open --name q1) or choose another queue"
    refusal = Refusal(Reason.QUEUE_CLOSED, f"queue q1 is Closing and starts no jobs: {remedy}")
    assert room(session, "a-0") == Room(0, refusal)
    assert allocate(session) == {}
    assert session.ssn.findings.notes[session.job("a-0").row] == refusal


def test_a_queue_without_a_state_counts_as_open() -> None:
    assert allocate(opened(queue("q1", state=""), singles("a", 2, "q1"))) == {"q1": 2}


def test_places_for_pods_are_not_held_against_a_queue() -> None:
    session = opened(queue("q1", capability={"pods": "1"}), queue("q2"), singles("a", 3, "q1"), singles("b", 3, "q2"))
    assert allocate(session) == {"q1": 3, "q2": 3}


def test_smaller_pods_behind_one_that_exceeds_the_deserved_are_still_tried() -> None:
    session = opened(
        queue("q1"),
        queue("q2"),
        pod_group("a", queue="q1", min_member=1),
        pod("a-0", group="a", cpu="9"),
        pod("a-1", group="a", cpu="3"),
        singles("b", 20, "q2"),
    )
    Allocate(None).execute(session.ssn)
    assert "a-1" in session.binds
    assert "a-0" not in session.binds


@pytest.mark.parametrize(
    ("weights", "demand", "expected"),
    [((1, 1), (15, 12), {"q1": 8, "q2": 8}), ((1, 3), (15, 12), {"q1": 4, "q2": 12})],
)
def test_queues_end_up_with_what_they_deserve(
    weights: tuple[int, int], demand: tuple[int, int], expected: dict[str, int]
) -> None:
    session = opened(
        queue("q1", weight=weights[0]),
        queue("q2", weight=weights[1]),
        singles("a", demand[0], "q1"),
        singles("b", demand[1], "q2"),
    )
    assert allocate(session) == expected


def test_an_overused_queue_is_not_looked_at() -> None:
    session = opened(
        queue("q1", capability={"cpu": "1", "pods": "1"}),
        pod_group("a", queue="q1", min_member=1),
        pod("a-0", group="a", cpu="1", on="n1"),
        pod("a-1", group="a", cpu="1"),
    )
    assert session.ssn.ask.overused(session.ssn.queues["q1"])
    assert allocate(session) == {"q1": 1}
    assert session.binds == {}


def test_in_a_cluster_without_nodes_jobs_get_that_reason() -> None:
    """An autoscaler that starts from nothing needs to hear of them."""
    session = open_session(queue("q1"), singles("a", 1, "q1"), tiers=[[Gang], [Proportion]], actions=[Allocate])
    assert not session.ssn.ask.overused(session.ssn.queues["q1"])
    assert allocate(session) == {}
    (error,) = session.ssn.findings.fit_errors[session.job("a-0").row].values()
    assert "there are no nodes" in error.refusal.message


def test_a_cluster_that_one_queue_has_filled_in_every_respect_is_refused_by_the_nodes() -> None:
    session = opened(queue("q1"), singles("a", 3, "q1", running=2), cpu="2", pods="2")
    assert reported(session)["q1"]["overused"]
    allocate(session)
    (error,) = session.ssn.findings.fit_errors[session.job("a-2").row].values()
    assert error.refusal.reason is Reason.NODES_REFUSE
