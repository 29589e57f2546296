"""Claims whose pods all wait give their devices back; the next place of these pods brings them other ones."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from tests.support.cycles import Cycles
from tests.support.placement.devices import allocated, device_claim, device_class, resource_slice, with_claims
from tests.support.sessions import NAMESPACE, NOW, node, pod, pod_group, priority_class, queue
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.enqueue import Enqueue
from volcano_py.actions.preempt import Preempt
from volcano_py.api.devices.claims import ResourceClaim
from volcano_py.api.effects import Evict, ReleaseDevices
from volcano_py.api.names import PREEMPTABLE
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.overcommit import Overcommit
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.priority import Priority
from volcano_py.plugins.proportion import Proportion


def cycles(*objects: ApiObject | Iterable[ApiObject], cordoned: bool = True) -> Cycles:
    """Two nodes with two devices each; n1, where claims `given` have theirs, is cordoned."""
    return Cycles(
        device_class(),
        node("n1", unschedulable=cordoned),
        node("n2", cpu="2"),
        [resource_slice(each, "d0", "d1", on=each) for each in ("n1", "n2")],
        *objects,
        actions=(Enqueue, Allocate, Preempt),
        plugins=(Priority, Gang, Overcommit, Proportion, Predicates),
    )


def given(name: str, *pods: str, device: str = "d0") -> ResourceClaim:
    """A claim with a device of n1, reserved for these pods."""
    users = [pod(each).metadata.uid for each in pods]
    return device_claim(name, allocation=allocated(("n1", device), node="n1"), users=users)


def using(name: str, *claims: str, group: str = "g", cpu: str = "1", gates: tuple[str, ...] = ()) -> Pod:
    return with_claims(pod(name, group=group, cpu=cpu, gates=gates), *claims)


def released(run: Cycles) -> dict[str, list[str]]:
    """Claim → pods for which it may be reserved, of what was sent so far."""
    found = [effect for effect in run.effects if isinstance(effect, ReleaseDevices)]
    assert len({each.claim.name for each in found}) == len(found)
    return {each.claim.name: [ref.name for ref in each.pods] for each in found}


# -- which are released -----------------------------------------------------------------------------------------------


def test_a_claim_with_devices_of_a_node_that_takes_the_pod_no_more_is_released() -> None:
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c"))
    run.run()
    assert released(run) == {"c": ["p"]}
    (effect,) = [each for each in run.effects if isinstance(each, ReleaseDevices)]
    assert (effect.claim.kind, effect.claim.key, effect.claim.uid) == ("ResourceClaim", f"{NAMESPACE}/c", "claim-c")


def test_one_that_is_reserved_for_no_pod_is_released_too() -> None:
    run = cycles(pod_group("g"), given("c"), using("p", "c"))
    run.run()
    assert released(run) == {"c": []}


def test_the_next_cycle_chooses_again() -> None:
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c"))
    run.run()
    run.state.upsert("ResourceClaim", device_claim("c"))
    run.run()
    assert run.binds == {"p": "n2"}


def test_a_claim_with_which_the_pod_is_placed_keeps_its_devices() -> None:
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c"), cordoned=False)
    run.run()
    assert (run.binds, released(run)) == ({"p": "n1"}, {})


def test_a_gang_that_is_incomplete_gives_all_its_devices_back() -> None:
    """One of its pods fits with what its claim has, another one does not fit at all."""
    run = cycles(
        pod_group("g", min_member=3),
        [given("c", "p"), given("d", device="d1")],
        [using("p", "c"), using("q", "d"), pod("big", group="g", cpu="64")],
        cordoned=False,
    )
    run.run()
    assert released(run) == {"c": ["p"], "d": []}


def test_a_job_that_is_not_admitted_holds_no_devices() -> None:
    """It may wait for hours, and places are found only once it is admitted."""
    waiting = pod_group("g", phase="Pending", min_resources={"cpu": "64"})
    run = cycles(waiting, given("c", "p"), using("p", "c"), cordoned=False)
    run.run()
    assert released(run) == {"c": ["p"]}


def test_a_job_of_a_closed_queue_that_is_not_admitted_holds_none_either() -> None:
    group = pod_group("g", queue="closed", phase="Pending", min_resources={"cpu": "1"})
    run = cycles(queue("closed", state="Closed"), group, given("c", "p"), using("p", "c"), cordoned=False)
    run.run()
    assert (run.binds, released(run)) == ({}, {"c": ["p"]})


# -- which are not ----------------------------------------------------------------------------------------------------


def test_a_claim_that_a_running_pod_uses_keeps_its_devices() -> None:
    running = with_claims(pod("r", group="g", on="n1"), "c")
    for users in (["r"], ["r", "p"], []):
        run = cycles(pod_group("g"), given("c", *users), running, using("p", "c"))
        run.run()
        assert released(run) == {}


def test_a_claim_that_is_reserved_for_a_stranger_keeps_its_devices() -> None:
    """A pod that is unknown here, say of another scheduler, or one that has ended: that is the controller's."""
    run = cycles(pod_group("g"), given("c", "p", "stranger"), using("p", "c"))
    run.run()
    assert released(run) == {}


def test_a_gated_pod_keeps_its_devices() -> None:
    """Whoever set the gate decides when it goes on, and may have chosen the devices."""
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c", gates=("example.com/wait",)))
    run.run()
    run.run()
    assert released(run) == {}


def test_a_pod_in_a_pause_is_tried_again_with_what_it_has() -> None:
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c"), cordoned=False)
    run.run()
    assert run.binds == {"p": "n1"}
    run.state.bind_failed(pod("p").metadata.uid, retry_at=NOW.timestamp() + 2)
    run.run(after=1)
    assert released(run) == {}


def test_a_pod_with_the_promise_of_a_place_keeps_its_devices() -> None:
    """Another pod is evicted for it, from the node of its devices."""
    urgent = with_claims(pod("p", group="g", cpu="8", priority=100), "c")
    expendable = pod("low", group="low", cpu="8", on="n1", annotations={PREEMPTABLE: "true"})
    groups = [priority_class("high", 100), pod_group("g", priority_class="high"), pod_group("low")]
    run = cycles(groups, given("c", "p"), urgent, expendable, cordoned=False)
    run.run()
    assert [each.pod.name for each in run.effects if isinstance(each, Evict)] == ["low"]
    assert released(run) == {}


def test_a_claim_without_devices_needs_no_release() -> None:
    run = cycles(pod_group("g"), device_claim("c"), using("p", "c", cpu="64"))
    run.run()
    assert released(run) == {}


def test_a_cycle_that_decides_nothing_releases_nothing() -> None:
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c"))
    run.run(decide=False)
    assert released(run) == {}


# -- until it shows ---------------------------------------------------------------------------------------------------


def test_a_pod_is_not_bound_with_devices_that_its_claim_is_about_to_lose() -> None:
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c"))
    run.run()
    run.state.upsert("Node", node("n1"))
    run.run(after=1)
    assert (run.binds, released(run)) == ({}, {"c": ["p"]})

    run.state.upsert("ResourceClaim", device_claim("c"))
    run.run(after=2)
    assert run.binds == {"p": "n1"}


def test_another_job_goes_on_meanwhile() -> None:
    run = cycles([pod_group("g"), pod_group("h")], given("c", "p"), using("p", "c"))
    run.run()
    run.state.upsert("Pod", pod("other", group="h", cpu="1"))
    run.run(after=1)
    assert run.binds == {"other": "n2"}


def test_what_does_not_show_in_time_is_decided_again() -> None:
    """The writer has given up by then, and asks for a cycle at that moment."""
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c"))
    report = run.run()
    assert report.recheck_at == (NOW + timedelta(seconds=30)).timestamp()
    run.effects.clear()
    run.run(after=29)
    assert released(run) == {}
    run.run(after=30)
    run.run(after=31)
    assert released(run) == {"c": ["p"]}


def test_a_claim_that_gets_devices_again_and_holds_its_pod_back_again_is_released_again() -> None:
    run = cycles(pod_group("g"), given("c", "p"), using("p", "c", cpu="64"))
    run.run()
    run.state.upsert("ResourceClaim", device_claim("c"))
    run.run(after=1)
    run.effects.clear()
    run.state.upsert("ResourceClaim", given("c", "p"))
    run.run(after=2)
    assert released(run) == {"c": ["p"]}
