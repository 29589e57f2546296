"""Queues are held to the number of devices that their capability names: `deviceclass/NAME`."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.placement.devices import (
    allocated,
    device_claim,
    device_class,
    first_available,
    request,
    way,
    with_claims,
)
from tests.support.queues.queue_trees import queue, reported, room
from tests.support.sessions import Objects, Opened, PluginChoice, node, open_session, pod, pod_group
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.devices.claims import ALL_DEVICES, DeviceRequest
from volcano_py.api.objects import ApiObject
from volcano_py.framework.votes import PLENTY
from volcano_py.plugins.capacity import Capacity
from volcano_py.plugins.gang import Gang

GPU = "deviceclass/gpu"


def opened(*objects: Objects, hierarchy: bool = True, **arguments: bool) -> Opened:
    entry = {"enableHierarchy": hierarchy, "arguments": {f"capacity.{name}": on for name, on in arguments.items()}}
    tiers: list[list[PluginChoice]] = [[Gang], [(Capacity, entry)]]
    return open_session(device_class(), node("n1", cpu="100"), *objects, tiers=tiers, actions=[Enqueue])


def limited(name: str, most: int, parent: str = "") -> ApiObject:
    return queue(name, parent, capability={GPU: str(most)})


def job(
    name: str, queue: str, *requests: DeviceRequest, pods: int = 1, running: int = 0, least: int = 1
) -> list[ApiObject]:
    """Pods with a claim each; those that run got devices for all requests of one device."""
    made: list[ApiObject] = [pod_group(name, queue=queue, min_member=least, phase="Running" if running else "Pending")]
    for at in range(pods):
        claim = f"{name}-{at}"
        count = sum(each.exactly.count for each in requests if each.exactly) or 1
        devices = allocated(*((claim, f"d{number}") for number in range(count)), node="n1")
        made.append(device_claim(claim, *requests, allocation=devices if at < running else None))
        made.append(with_claims(pod(claim, group=name, cpu="1", on="n1" if at < running else ""), claim))
    return made


def sharing(name: str, queue: str, claim: str, *, pods: int = 1, running: int = 0) -> list[ApiObject]:
    """Pods that all use one claim, which is not made here."""
    tasks = [pod(f"{name}-{at}", group=name, cpu="1", on="n1" if at < running else "") for at in range(pods)]
    return [pod_group(name, queue=queue, phase="Running"), *(with_claims(each, claim) for each in tasks)]


def refusal(session: Opened, pod: str) -> str:
    found = room(session, pod)
    assert (found.count, found.short) == (0, None), "evictions could not help"
    assert found.refusal is not None
    return f"{found.refusal.reason.value}: {found.refusal.message}"


def held(session: Opened, names: Sequence[str]) -> dict[str, int]:
    return {name: reported(session)[name]["allocated"].get(GPU, 0) for name in names}


# -- ceilings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("hierarchy", [True, False])
def test_a_queue_takes_as_many_pods_as_it_may_have_devices(hierarchy: bool) -> None:
    waiting = job("two", "q", request(count=2), pods=5)
    session = opened(limited("q", 7), job("run", "q", pods=3, running=2), waiting, hierarchy=hierarchy)
    assert room(session, "two-0").count == 2
    statement = session.place("two", {"two-0": "n1", "two-1": "n1"})
    assert refusal(session, "two-2") == (
        "OverCapability: queue q: 6 deviceclass/gpu allocated + 2 asked > 7 capability; "
        "wait until jobs of the queue finish, or raise its spec.capability"
    )
    assert room(session, "run-2").count == 1
    statement.discard()
    assert room(session, "two-0").count == 2


def test_what_the_queues_below_hold_counts_for_the_queue_above() -> None:
    session = opened(
        limited("a", 3),
        [queue("a1", "a"), queue("a2", "a")],
        job("run", "a1", pods=2, running=2),
        job("more", "a2", request(count=2)),
        job("one", "a2"),
    )
    assert room(session, "one-0").count == 1
    assert refusal(session, "more-0") == (
        "OverCapability: queue a, above a2: 2 deviceclass/gpu allocated + 2 asked > 3 capability; "
        "wait until jobs of the queue finish, or raise its spec.capability"
    )
    assert held(session, ["a", "a1", "a2"]) == {"a": 2, "a1": 2, "a2": 0}
    assert reported(session)["a2"]["capability"][GPU] == 3
    assert reported(session)["a2"]["request"][GPU] == 3


def test_a_class_without_a_limit_is_free_and_0_means_none() -> None:
    other = request(of="other")
    session = opened(device_class("other"), limited("q", 0), queue("free"), job("a", "q"), job("b", "q", other))
    assert refusal(session, "a-0") == (
        "OverCapability: queue q: 0 deviceclass/gpu allocated + 1 asked > 0 capability; "
        "ask for less, or raise its spec.capability"
    )
    assert room(session, "b-0") == PLENTY


def test_the_limit_can_be_switched_off() -> None:
    session = opened(limited("q", 0), job("a", "q"), DynamicResourceAllocationEnable=False)
    assert room(session, "a-0") == PLENTY


def test_a_request_counts_at_most_what_it_may_get() -> None:
    """Of the alternatives each could be chosen; access as administrator takes nothing."""
    either = first_available("card", way("other", of="other"), way("two", count=2))
    watcher = request("watch", admin_access=True, mode=ALL_DEVICES)
    session = opened(device_class("other"), limited("q", 1), job("a", "q", either), job("b", "q", watcher))
    assert refusal(session, "a-0").startswith("OverCapability: queue q: 0 deviceclass/gpu allocated + 2 asked > 1")
    assert room(session, "b-0") == PLENTY


@pytest.mark.parametrize("is_certain", [True, False])
def test_what_was_counted_too_high_is_looked_at_again_soon(is_certain: bool) -> None:
    """The first pod may get a device of the other class, and then there is room for the second."""
    either = first_available("card", way("one"), way("other", of="other"))
    asked = request() if is_certain else either
    session = opened(device_class("other"), limited("q", 1), job("a", "q", asked), job("b", "q"))
    session.place("a", {"a-0": "n1"})
    assert refusal(session, "b-0")
    session.plugin(Capacity).on_session_close(session.ssn)
    assert bool(session.ssn.wakeups.next_recheck) is not is_certain


def test_a_gang_that_does_not_fit_as_a_whole_is_refused_together() -> None:
    session = opened(limited("q", 3), job("g", "q", pods=4, least=4))
    found = session.ssn.ask.refuses_together(session.ssn.queues["q"], session.rows("g-0", "g-1", "g-2", "g-3"))
    assert found is not None
    assert found.message == (
        "queue q: 0 deviceclass/gpu allocated + 4 asked by the gang > 3 capability; "
        "ask for less, or raise its spec.capability"
    )


# -- claims that pods share -------------------------------------------------------------------------------------------


def test_a_claim_counts_once_for_all_pods_of_a_queue() -> None:
    claim = device_claim("pair", request(count=2))
    session = opened(limited("q", 3), claim, sharing("s", "q", "pair", pods=3), job("own", "q", pods=2))
    assert room(session, "s-0") == PLENTY
    first = session.place("s", {"s-0": "n1"})
    assert room(session, "s-1") == PLENTY, "the claim counts already"
    assert room(session, "own-0").count == 1
    second = session.place("s", {"s-1": "n1"})
    first.discard()
    assert room(session, "own-0").count == 1, "a pod is left that uses it"
    second.discard()
    assert room(session, "own-0").count == 3


def test_a_claim_of_another_queue_counts_here_too_and_once_above() -> None:
    claim = device_claim("pair", request(count=2), allocation=allocated(("n1", "d0"), ("n1", "d1"), node="n1"))
    session = opened(
        limited("a", 2),
        limited("a1", 2, "a"),
        limited("a2", 1, "a"),
        limited("a3", 2, "a"),
        claim,
        sharing("one", "a1", "pair", pods=1, running=1),
        sharing("two", "a2", "pair"),
        sharing("three", "a3", "pair"),
    )
    assert refusal(session, "two-0") == (
        "OverCapability: queue a2: 0 deviceclass/gpu allocated + 2 asked > 1 capability; "
        "ask for less, or raise its spec.capability"
    )
    assert room(session, "three-0") == PLENTY
    session.place("three", {"three-0": "n1"})
    assert held(session, ["a", "a1", "a2", "a3"]) == {"a": 2, "a1": 2, "a2": 0, "a3": 2}


def test_own_claims_and_a_shared_one_count_together() -> None:
    pods = [with_claims(pod(f"p-{at}", group="p", cpu="1"), f"own-{at}", "shared") for at in range(3)]
    claims = [device_claim(f"own-{at}") for at in range(3)]
    session = opened(limited("q", 4), device_claim("shared", request(count=2)), claims, pods, pod_group("p", queue="q"))
    assert room(session, "p-0").count == 2
    session.place("p", {"p-0": "n1"})
    assert room(session, "p-1").count == 1


# -- pods that are leaving --------------------------------------------------------------------------------------------


def test_devices_of_evicted_pods_count_until_they_are_gone() -> None:
    session = opened(limited("q", 2), job("old", "q", pods=2, running=2), job("new", "q", pods=2))
    assert refusal(session, "new-0")
    statement = session.evict("old-0")
    found = room(session, "new-0")
    assert (found.count, found.at_once.count) == (1, 0)
    assert found.at_once.refusal is not None
    assert found.at_once.refusal.message == (
        "queue q: 2 deviceclass/gpu allocated (1 deviceclass/gpu by terminating pods) + 1 asked > 2 capability; "
        "wait until jobs of the queue finish, or raise its spec.capability"
    )
    session.pipeline("new", {"new-0": "n1"})
    assert room(session, "new-1").count == 0
    statement.discard()
    assert held(session, ["q"]) == {"q": 2}


# -- admission --------------------------------------------------------------------------------------------------------


def admitted(session: Opened, *jobs: str) -> dict[str, str]:
    """Job → why it is not admitted, "" if it is."""
    found = {}
    for name in jobs:
        ballot = session.plugin(Capacity).job_enqueueable(session.job(name))
        found[name] = "" if ballot.refusal is None else ballot.refusal.message
    return found


def test_a_job_is_admitted_if_its_queue_may_have_the_devices_of_its_gang() -> None:
    session = opened(
        limited("q", 4),
        job("run", "q", pods=2, running=2),
        job("fits", "q", pods=5, least=2),
        job("large", "q", pods=3, least=3),
        [pod_group("later", queue="q", min_member=9, phase="Pending")],
    )
    assert admitted(session, "fits", "large", "later") == {
        "fits": "",
        "large": "queue q: 2 deviceclass/gpu allocated + 3 asked > 4 capability; "
        "wait until jobs of the queue finish, or raise its spec.capability",
        "later": "",
    }


def test_of_different_pods_those_that_ask_for_least_make_a_gang() -> None:
    group = pod_group("m", queue="q", min_member=2, phase="Pending")
    claims = [device_claim("big", request(count=3)), device_claim("one"), device_claim("other")]
    pods = [with_claims(pod(f"m-{name}", group="m", cpu="1"), name) for name in ("big", "one", "other")]
    assert admitted(opened(limited("q", 2), group, claims, pods), "m") == {"m": ""}
    found = admitted(opened(limited("q", 1), group, claims, pods), "m")["m"]
    assert found.startswith("queue q: 0 deviceclass/gpu allocated + 2 asked > 1 capability")


def test_a_shared_claim_counts_once_for_a_gang_that_asks_to_be_admitted() -> None:
    group = pod_group("s", queue="q", min_member=3, phase="Pending")
    pods = sharing("s", "q", "pair", pods=3)[1:]
    session = opened(limited("q", 2), device_claim("pair", request(count=2)), group, pods)
    assert admitted(session, "s") == {"s": ""}
    session = opened(limited("q", 1), device_claim("pair", request(count=2)), group, pods)
    assert admitted(session, "s")["s"].startswith("queue q: 0 deviceclass/gpu allocated + 2 asked > 1 capability")
