"""What victims free is kept for the pods they were evicted for, until it is taken or the deadline passes."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.sessions import (
    NOW,
    PluginChoice,
    binding_failed,
    gang,
    node,
    open_session,
    pod,
    pod_group,
    priority_class,
)
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.eviction_arguments import EvictionArguments
from volcano_py.actions.preempt import Preempt
from volcano_py.api.effects import Evict, ObjectRef, PodCondition
from volcano_py.api.names import RUNNING_ESTIMATE
from volcano_py.api.objects import ApiObject, Pod, PodGroup
from volcano_py.api.reasons import Reason
from volcano_py.framework.eviction.reservations import HELD_FOR
from volcano_py.framework.status.closing import Closing
from volcano_py.framework.status.verdicts import job_verdict
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates.plugin import Predicates
from volcano_py.plugins.priority import Priority
from volcano_py.state.cluster_state import ClusterState

TIERS: list[list[PluginChoice]] = [[Priority, (Gang, {"enablePreemptable": False}), Predicates]]
URGENT = priority_class("urgent", 1000)


def nominated(name: str, group: str, on: str, **fields: object) -> Pod:
    made = pod(name, group=group, cpu="2", **fields)  # type: ignore[arg-type]
    status = msgspec.structs.replace(made.status, nominated_node_name=on)
    return msgspec.structs.replace(made, status=status)


def full_node_and_a_claimant() -> list[ApiObject]:
    return [
        node("n1", cpu="2"),
        *gang("low", pods=2, min_member=1, running_on=["n1", "n1"], cpu="1"),
        *gang("high", pods=1, cpu="2", priority_class="urgent", priority=1000),
        URGENT,
    ]


def test_the_pod_that_pods_were_evicted_for_gets_its_nominated_node() -> None:
    opened = open_session(full_node_and_a_claimant(), tiers=TIERS, actions=[Preempt])
    Preempt(EvictionArguments()).execute(opened.ssn)
    reported = [effect for effect in Closing(opened.ssn, "1").effects() if isinstance(effect, PodCondition)]
    assert {effect.pod.name: effect.nominated_node for effect in reported} == {"high-0": "n1"}


def test_an_eviction_names_the_victim_the_pod_and_the_node() -> None:
    opened = open_session(full_node_and_a_claimant(), tiers=TIERS, actions=[Preempt])
    Preempt(EvictionArguments()).execute(opened.ssn)
    evictions = [effect for effect in opened.effects if isinstance(effect, Evict)]
    message = (
        "team/low (priority 0) makes room for team/high-0 (priority 1000) in queue default: "
        "the whole gang is evicted, 2 pods (minimum 1); allowed by priority"
    )
    assert [(effect.action, effect.message) for effect in evictions] == [("preempt", message)] * 2


def test_the_eviction_of_a_surplus_pod_says_on_which_node_it_makes_room() -> None:
    objects = [*gang("low", pods=2, min_member=0, running_on=["n1", "n1"], cpu="1"), *full_node_and_a_claimant()[4:]]
    opened = open_session(node("n1", cpu="2"), objects, tiers=TIERS, actions=[Preempt])
    Preempt(EvictionArguments()).execute(opened.ssn)
    evictions = [effect for effect in opened.effects if isinstance(effect, Evict)]
    claimant = "team/high-0 (priority 1000) in queue default on node n1; allowed by priority"
    messages = sorted((effect.action, effect.message) for effect in evictions)
    assert messages == [("preempt", f"team/low-{n} (priority 0) makes room for {claimant}") for n in (0, 1)]
    assert {effect.claimant.key for effect in evictions if effect.claimant} <= {"team/high-0", "team/high-1"}


def test_an_eviction_says_when_the_place_comes_back_where_that_is_declared() -> None:
    """By the estimate of the job that gets the place, or the deadline of its pod: the shorter one."""
    objects = full_node_and_a_claimant()
    for number, each in enumerate(objects):
        if isinstance(each, PodGroup) and each.metadata.name == "high":
            annotations = {RUNNING_ESTIMATE: "2h"}
            metadata = msgspec.structs.replace(each.metadata, annotations=annotations)
            objects[number] = msgspec.structs.replace(each, metadata=metadata)
    opened = open_session(objects, tiers=TIERS, actions=[Preempt])
    Preempt(EvictionArguments()).execute(opened.ssn)
    (message,) = {effect.message for effect in opened.effects if isinstance(effect, Evict)}
    assert message.endswith("; the room is free again when team/high-0 ends (declared run time: 2h)")


def test_a_cycle_that_evicted_looks_again_at_the_deadline() -> None:
    opened = open_session(full_node_and_a_claimant(), tiers=TIERS, actions=[Preempt])
    Preempt(EvictionArguments()).execute(opened.ssn)
    closing = Closing(opened.ssn, "1")
    closing.effects()
    assert closing.look_again_at == NOW.timestamp() + HELD_FOR


@pytest.mark.parametrize(
    ("promised", "seconds", "binds"),
    [("n1", 2.0, {}), ("n1", 0.0, {"first-0": "n1"}), ("", 2.0, {"later-0": "n1"})],
    ids=["kept while it is not tried", "taken when it is", "no promise, no place"],
)
def test_a_place_is_kept_while_its_binding_is_not_tried_again(
    promised: str, seconds: float, binds: dict[str, str]
) -> None:
    opened = open_session(
        node("n1", cpu="2"),
        pod_group("first"),
        nominated("first-0", "first", promised),
        *gang("later", cpu="2"),
        tiers=TIERS,
        actions=[Allocate],
        prepare=binding_failed("first-0", seconds=seconds),
    )
    opened.ssn.reservations.hold()
    Allocate(None).execute(opened.ssn)
    assert opened.binds == binds
    if not binds:
        verdict = job_verdict(opened.ssn, opened.job("first"))
        assert verdict.message == "a place on node n1 is kept for it until its failed binding is tried again"


@pytest.mark.parametrize(("promised", "winner"), [("n1", "first-0"), ("", "later-0")])
def test_a_later_job_of_higher_priority_does_not_get_what_was_freed_for_another(promised: str, winner: str) -> None:
    opened = open_session(
        node("n1", cpu="2"),
        pod_group("first", age=60),
        nominated("first-0", "first", promised, age=60),
        *gang("later", cpu="2", priority_class="urgent", priority=1000),
        URGENT,
        tiers=TIERS,
        actions=[Allocate],
    )
    Allocate(None).execute(opened.ssn)
    assert opened.binds == {winner: "n1"}


def test_no_more_pods_are_evicted_while_the_first_victims_are_still_leaving() -> None:
    opened = open_session(
        node("n1", cpu="2"),
        node("n2", cpu="2"),
        pod_group("high", priority_class="urgent"),
        nominated("high-0", "high", "n1", priority=1000),
        *gang("low", pods=1, running_on=["n2"], cpu="2"),
        pod_group("gone", phase="Running"),
        pod("gone-0", group="gone", on="n1", cpu="2", deleting=True),
        URGENT,
        tiers=TIERS,
        actions=[Preempt],
    )
    Preempt(EvictionArguments()).execute(opened.ssn)
    assert opened.evictions == []


def test_a_promise_ends_at_its_deadline() -> None:
    opened = open_session(node("n1"), pod_group("high"), nominated("high-0", "high", "n1"), tiers=TIERS)
    row = int(opened.rows("high-0")[0])
    assert opened.ssn.reservations.holds(row)
    since = opened.ssn.ledger.tasks.nominated_since[row]
    assert since == NOW.timestamp()
    late = opened.state.snapshot(NOW.timestamp() + HELD_FOR)
    assert late.ledger.tasks.nominated_since[row] == since


@pytest.mark.parametrize(("grace", "holds"), [(150, True), (30, False)])
def test_only_victims_prolong_a_promise_not_pods_that_leave_later(grace: int, holds: bool) -> None:
    """On a node of short jobs a pod always leaves."""
    leaver = pod("gone-0", group="gone", on="n1", cpu="2", deleting=True)
    leaver = msgspec.structs.replace(
        leaver, metadata=msgspec.structs.replace(leaver.metadata, deletion_grace_period_seconds=grace)
    )

    def promised_long_ago(state: ClusterState) -> None:
        state.snapshot(NOW.timestamp() - 200)

    opened = open_session(
        node("n1", cpu="2"),
        pod_group("high"),
        nominated("high-0", "high", "n1"),
        pod_group("gone", phase="Running"),
        leaver,
        tiers=TIERS,
        prepare=promised_long_ago,
    )
    assert opened.ssn.reservations.holds(int(opened.rows("high-0")[0])) is holds
    assert opened.ssn.reservations.awaits_victims(opened.job("high")) is holds


def test_a_place_that_is_created_again_is_promised_again() -> None:
    """The first promise came to nothing and has ended; its node is named by the pod as before."""
    claimant = nominated("high-0", "high", "n1", priority=1000)
    opened = open_session(
        node("n1", cpu="2"),
        *gang("low", pods=2, min_member=1, running_on=["n1", "n1"], cpu="1"),
        pod_group("high", priority_class="urgent"),
        claimant,
        URGENT,
        tiers=TIERS,
        actions=[Preempt],
    )
    row = int(opened.rows("high-0")[0])
    Preempt(EvictionArguments()).execute(opened.ssn)
    reported = [effect for effect in Closing(opened.ssn, "1").effects() if isinstance(effect, PodCondition)]
    assert [(effect.pod.name, effect.nominated_node) for effect in reported] == [("high-0", "n1")]
    again = NOW.timestamp() + 5 * HELD_FOR
    opened.state.assume_reported(reported[0])
    assert opened.state.snapshot(again).ledger.tasks.nominated_since[row] == again
    opened.state.upsert("Pod", claimant)
    assert opened.state.snapshot(again + 1).ledger.tasks.nominated_since[row] == again, "its echo is no other promise"


def test_a_cycle_that_evicts_for_a_pod_again_nominates_its_node_again() -> None:
    """Though the pod says so already: from now on the promise holds for another while."""
    opened = open_session(full_node_and_a_claimant(), tiers=TIERS, actions=[Preempt])
    Preempt(EvictionArguments()).execute(opened.ssn)
    reported = [effect for effect in Closing(opened.ssn, "1").effects() if isinstance(effect, PodCondition)]

    def report(state: ClusterState) -> None:
        for effect in reported:
            state.assume_reported(effect)

    again = open_session(full_node_and_a_claimant(), tiers=TIERS, actions=[Preempt], prepare=report)
    Preempt(EvictionArguments()).execute(again.ssn)
    repeated = [effect for effect in Closing(again.ssn, "2").effects() if isinstance(effect, PodCondition)]
    assert [effect.nominated_node for effect in repeated] == ["n1"]


def test_a_promise_on_its_way_to_the_api_server_holds_already() -> None:
    opened = open_session(full_node_and_a_claimant(), tiers=TIERS)
    ref = ObjectRef("Pod", "team", "high-0", "pod-team-high-0")
    opened.state.assume_reported(PodCondition(ref, "Unschedulable", "waits", Reason.WAITING_FOR_RELEASE, "n1"))
    opened.state.upsert("Pod", pod("high-0", group="high", cpu="2", priority=1000))
    row = int(opened.rows("high-0")[0])
    info = opened.state.snapshot(NOW.timestamp()).tasks[row]
    assert info is not None
    assert info.nominated_node == "n1"


def test_a_gangs_light_pod_does_not_take_the_place_that_was_freed_for_another_pod_of_it() -> None:
    """With the light pod, the first of the others makes the gang complete."""
    opened = open_session(
        node("n1", pods="2"),
        pod_group("g", min_member=2),
        nominated("g-0", "g", "n1"),
        nominated("g-1", "g", "n1"),
        pod("g-light", group="g"),
        tiers=TIERS,
        actions=[Allocate],
    )
    Allocate(None).execute(opened.ssn)
    assert opened.binds == {"g-0": "n1", "g-1": "n1"}


def test_a_gang_cut_for_another_does_not_take_its_place_back() -> None:
    """Both are bound in part: the one since a pod of it was evicted, the other as it waits for what that pod held."""
    opened = open_session(
        node("n1", cpu="2"),
        node("n2", cpu="4"),
        *gang("cut", pods=2, running_on=["n2"], cpu="2", age=60),
        pod_group("claims", min_member=2, phase="Running"),
        pod("claims-0", group="claims", cpu="2", on="n2"),
        nominated("claims-1", "claims", "n1"),
        tiers=TIERS,
        actions=[Allocate],
    )
    Allocate(None).execute(opened.ssn)
    assert opened.binds == {"claims-1": "n1"}
