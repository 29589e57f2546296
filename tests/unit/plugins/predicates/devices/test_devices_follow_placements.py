"""What nodes say to pods with claims to devices, and what is written on the claims with the binding."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.placement.devices import (
    DRIVER,
    allocated,
    consumes,
    counter_set,
    device,
    device_claim,
    device_class,
    in_zone,
    on_node,
    request,
    resource_slice,
    with_claims,
)
from tests.support.placement.node_answers import answers, class_of, node_rows, willing
from tests.support.sessions import Objects, Opened, node, open_session, pod, pod_group
from volcano_py.api.devices.claims import (
    ALL_DEVICES,
    AllocatedDevices,
    Allocation,
    CapacityRequests,
    DeviceConstraint,
    DeviceRequest,
    DeviceResult,
    DeviceToleration,
    ResourceClaimSpec,
)
from volcano_py.api.devices.slices import DeviceTaint, ResourceSlice
from volcano_py.api.effects import Bind, DeviceBinding
from volcano_py.api.objects import Pod
from volcano_py.api.reasons import Reason
from volcano_py.framework.plugin import GoesBy, Reach
from volcano_py.framework.views import FITS, NodeView
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates
from volcano_py.plugins.predicates.devices.advice import FAULTY_POOL, IN_USE, NOT_THERE, OUT_OF_REACH
from volcano_py.plugins.predicates.devices.search import Chosen, NotChosen, Problem
from volcano_py.state.table.table import Rows

VICTIM = "pod-team-victim"
"""Its UID."""
ZONE = "topology.kubernetes.io/zone"


def session(*objects: Objects) -> Opened:
    nodes = [node("n1", labels={ZONE: "a"}), node("n2", labels={ZONE: "b"})]
    return open_session(device_class(), nodes, pod_group("g"), *objects, tiers=[[Gang, Predicates]])


def waiting(name: str, *claims: str) -> Pod:
    return with_claims(pod(name, group="g"), *claims)


def written(opened: Opened, name: str) -> tuple[DeviceBinding, ...]:
    (bind,) = [effect for effect in opened.effects if isinstance(effect, Bind) and effect.pod.name == name]
    return bind.devices


def results(binding: DeviceBinding) -> list[tuple[str, str]]:
    assert binding.allocation is not None
    return [(each.pool, each.device) for each in binding.allocation.devices.results]


# -- what nodes say ---------------------------------------------------------------------------------------------------


def test_a_node_without_such_devices_and_one_whose_devices_are_in_use_say_so() -> None:
    held = device_claim("held", allocation=allocated(("n2", "d0"), node="n2"), users=["somebody"])
    opened = session(resource_slice("s", "d0", on="n2"), held, device_claim("new"), waiting("p", "new"))
    assert answers(opened, Predicates, "p") == {"n1": NOT_THERE, "n2": IN_USE}


def test_a_claim_that_has_its_devices_leads_to_their_node() -> None:
    given = device_claim("given", allocation=allocated(("n2", "d0"), node="n2"))
    opened = session(resource_slice("s", "d0", on="n2"), given, waiting("p", "given"))
    assert answers(opened, Predicates, "p") == {"n1": OUT_OF_REACH, "n2": ""}
    assert Predicates.predicate_reach(opened.plugin(Predicates), class_of(opened, "p")) is Reach.STATIC


def test_a_pool_of_which_a_slice_is_missing_gives_nothing() -> None:
    opened = session(resource_slice("s", "d0", on="n2", count=2), device_claim("new"), waiting("p", "new"))
    assert answers(opened, Predicates, "p") == {"n1": NOT_THERE, "n2": FAULTY_POOL}


def test_devices_of_a_zone_can_be_used_from_its_nodes_and_placing_one_concerns_all_nodes() -> None:
    opened = session(resource_slice("fabric", "d0", nodes=in_zone("b")), device_claim("new"), waiting("p", "new"))
    plugin, asking = opened.plugin(Predicates), class_of(opened, "p")
    assert willing(opened, Predicates, "p") == ["n2"]
    assert plugin.predicate_reach(asking) is Reach.DOMAIN
    assert plugin.predicate_goes_by(asking) is GoesBy.UNKNOWN


def test_a_tainted_device_needs_a_toleration() -> None:
    tainted = device("d0", taints=[DeviceTaint(key="broken", effect="NoSchedule")])
    tolerating = request("gpu", tolerations=[DeviceToleration(key="broken", operator="Exists")])
    opened = session(
        resource_slice("s", tainted, on="n1"),
        device_claim("plain"),
        device_claim("tolerant", tolerating),
        waiting("p", "plain"),
        waiting("q", "tolerant"),
    )
    assert willing(opened, Predicates, "p") == []
    assert willing(opened, Predicates, "q") == ["n1"]


def test_admin_access_looks_at_devices_in_use_and_takes_none() -> None:
    held = device_claim("held", allocation=allocated(("n1", "d0"), node="n1"), users=["somebody"])
    looking = device_claim("looking", request("gpu", admin_access=True))
    opened = session(resource_slice("s", "d0", on="n1"), held, looking, waiting("p", "looking"))
    opened.place("g", {"p": "n1"}).commit()
    (binding,) = written(opened, "p")
    assert binding.allocation is not None
    assert binding.allocation.devices.results == [
        DeviceResult(request="gpu", driver="gpu.example.com", pool="n1", device="d0", admin_access=True)
    ]


def test_a_claim_that_is_missing_keeps_the_pod_from_all_nodes() -> None:
    opened = session(waiting("p", "nobody"))
    refusal = opened.plugin(Predicates).pre_predicate(class_of(opened, "p"))
    assert refusal is not None
    assert refusal.reason is Reason.DEVICES_NOT_READY
    assert "team/nobody does not exist" in refusal.message


# -- what would help --------------------------------------------------------------------------------------------------


def message(*objects: Objects, asked: DeviceRequest | None = None) -> str:
    """Of pod p with one claim, which nodes refuse."""
    opened = session(*objects, device_claim("new", asked or request()), waiting("p", "new"))
    return opened.ssn.placer.misfit(class_of(opened, "p")).refusal.message


def test_the_first_expression_that_no_device_passes_is_named() -> None:
    devices = resource_slice("s", "d0", "d1", on="n1")
    driver = 'device.driver == "nic.example.com"'
    of = "Request gpu asks for 1 device of DeviceClass gpu, and none of the 2 devices"
    assert f"{of} that pass the selectors before it passes `{driver}`" in message(devices, asked=request("gpu", driver))
    elsewhere = resource_slice("s", "d0", "d1", on="n1", driver="nic.example.com")
    assert f'{of} passes `device.driver == "{DRIVER}"`' in message(elsewhere)


def test_taints_that_are_not_tolerated_are_named() -> None:
    taints = [DeviceTaint(key="broken", effect="NoSchedule"), DeviceTaint(key="in", value="use", effect="NoExecute")]
    text = "and does not tolerate the taints of the 1 device that it selects: broken:NoSchedule, in=use:NoExecute"
    assert text in message(resource_slice("s", device("d0", taints=taints), on="n1"))


def test_where_there_are_no_devices_the_message_says_so() -> None:
    assert "asks for 1 device of DeviceClass gpu, and no devices are published" in message()


def card(*sizes: int) -> list[ResourceSlice]:
    """On node n1, with parts of these sizes of its 40: d0, d1 and so on."""
    parts = [device(f"d{at}", consumes_counters=[consumes("card", memory=size)]) for at, size in enumerate(sizes)]
    counters = resource_slice("c", on="n1", count=2, shared_counters=[counter_set("card", memory=40)])
    return [counters, resource_slice("s", *parts, on="n1", count=2)]


def test_parts_that_cannot_be_used_at_once_are_not_counted_twice() -> None:
    asks = "Request gpu asks for 3 devices of DeviceClass gpu"
    few = f"{asks}; the most that a node has is 2 of 4 that share counters, on node n1"
    assert few in message(card(20, 20, 20, 20), asked=request("gpu", count=3))
    held = device_claim("held", allocation=allocated(("n1", "d0"), node="n1"), users=["somebody"])
    free = f"{asks}; the most that is free on such a node is 2, on node n1"
    assert free in message(card(20, 10, 10, 10, 10), held, asked=request("gpu", count=3))
    everything = "asks for all devices of DeviceClass gpu; the most that a node has is 2 of 3 that share counters"
    assert everything in message(card(40, 20, 20), asked=request("gpu", mode=ALL_DEVICES))


# -- parts of devices -------------------------------------------------------------------------------------------------


def test_halves_of_a_card_are_taken_until_it_is_used_up_and_then_the_whole_is_not_there() -> None:
    claims = [device_claim(name) for name in "abc"]
    opened = session(card(20, 20, 40), claims, [waiting(f"p-{name}", name) for name in "abc"])
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "p-a")) is Reach.ROW
    statement = opened.place("g", {"p-a": "n1", "p-b": "n1"})
    assert answers(opened, Predicates, "p-c")["n1"] == IN_USE
    statement.discard()
    opened.place("g", {"p-b": "n1"}).commit()
    assert results(*written(opened, "p-b")) == [("n1", "d0")]


def test_the_whole_of_a_card_can_be_promised_when_its_parts_are_given_up() -> None:
    held = device_claim("held", allocation=allocated(("n1", "d0"), node="n1"), users=[VICTIM])
    victim = with_claims(pod("victim", group="g", on="n1"), "held")
    whole = device_claim("new", request("gpu", f'device.attributes["{DRIVER}"].whole'))
    parts = [
        device("d0", {"whole": False}, consumes_counters=[consumes("card", memory=20)]),
        device("d1", {"whole": True}, consumes_counters=[consumes("card", memory=40)]),
    ]
    waits = [waiting("p", "new"), waiting("q", "new")]
    opened = session(card()[0], resource_slice("s", *parts, on="n1", count=2), held, victim, whole, waits)
    assert answers(opened, Predicates, "p")["n1"] == IN_USE
    statement = opened.evict("victim")
    assert will_take(opened)
    opened.pipeline("g", {"p": "n1"}, statement)
    assert answers(opened, Predicates, "q")["n1"] == IN_USE, "it shares the claim, and the part is not given up yet"
    assert will_take(opened, "q")


def test_placing_a_part_concerns_other_nodes_that_have_parts_of_the_same() -> None:
    both = [
        resource_slice(f"s{on}", device(on, consumes_counters=[consumes("card", memory=20)]), on=on, pool="p", count=3)
        for on in ("n1", "n2")
    ]
    counters = resource_slice("c", pool="p", count=3, shared_counters=[counter_set("card", memory=20)])
    opened = session(both, counters, device_claim("a"), device_claim("b"), waiting("p", "a"), waiting("q", "b"))
    assert opened.plugin(Predicates).predicate_reach(class_of(opened, "p")) is Reach.DOMAIN
    opened.place("g", {"p": "n1"}).commit()
    assert answers(opened, Predicates, "q") == {"n1": IN_USE, "n2": IN_USE}


# -- devices that are shared ------------------------------------------------------------------------------------------


def lent(value: str = "10") -> ResourceSlice:
    """On node n1, d0 with so much memory."""
    return resource_slice("s", device("d0", capacity={"memory": value}, allow_multiple_allocations=True), on="n1")


def asking(memory: str, **more: Any) -> DeviceRequest:
    return request("gpu", capacity=CapacityRequests(requests={"memory": memory}), **more)


def test_claims_share_a_device_until_its_capacity_is_used_up() -> None:
    claims = [device_claim(name, asking("4")) for name in "abc"]
    opened = session(lent(), claims, [waiting(f"p-{name}", name) for name in "abc"])
    opened.place("g", {"p-a": "n1", "p-b": "n1"}).commit()
    assert answers(opened, Predicates, "p-c") == {"n1": IN_USE, "n2": NOT_THERE}
    shares = [binding.allocation for name in ("p-a", "p-b") for binding in written(opened, name)]
    found = [result for each in shares if each is not None for result in each.devices.results]
    assert [(each.device, each.consumed_capacity) for each in found] == [("d0", {"memory": "4"})] * 2
    assert len({each.share_id for each in found}) == 2


def test_the_room_of_a_shared_device_is_how_often_its_capacity_is_there() -> None:
    held = device_claim("held", asking("3"), allocation=share("3"), users=["somebody"])
    opened = session(lent(), held, device_claim("new", asking("2")), waiting("p", "new"))
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ["n1"]))
    room = opened.plugin(Predicates).predicate_room(class_of(opened, "p"), view)
    assert room is not None
    assert room.tolist() == [3]


def test_the_share_of_a_pod_that_is_evicted_can_be_promised() -> None:
    held = device_claim("held", asking("7"), allocation=share("7"), users=[VICTIM])
    victim = with_claims(pod("victim", group="g", on="n1"), "held")
    waits = [waiting("p", "new"), waiting("q", "new"), waiting("r", "small")]
    claims = [device_claim("new", asking("4")), device_claim("small", asking("3"))]
    opened = session(lent(), held, victim, claims, waits)
    assert answers(opened, Predicates, "p")["n1"] == IN_USE
    statement = opened.evict("victim")
    assert will_take(opened)
    opened.pipeline("g", {"p": "n1"}, statement)
    assert answers(opened, Predicates, "q")["n1"] == IN_USE, "it shares the claim, and the share is not given up yet"
    assert willing(opened, Predicates, "r") == ["n1"], "so much is free now, and will be"


def test_a_shared_device_consumes_its_counters_once() -> None:
    """Two claims have the card; its part is not there for a third, but the card still is."""
    whole = device(
        "d0",
        {"whole": True},
        {"memory": "10"},
        allow_multiple_allocations=True,
        consumes_counters=[consumes("card", memory=40)],
    )
    part = device("d1", {"whole": False}, consumes_counters=[consumes("card", memory=20)])
    selected = f'device.attributes["{DRIVER}"].whole'
    claims = [
        *(
            device_claim(name, request("gpu", selected, capacity=CapacityRequests(requests={"memory": "3"})))
            for name in "abc"
        ),
        device_claim("d", request("gpu", f"!{selected}")),
    ]
    slices = [card()[0], resource_slice("s", whole, part, on="n1", count=2)]
    opened = session(slices, claims, [waiting(f"p-{name}", name) for name in "abcd"])
    assert willing(opened, Predicates, "p-d") == ["n1"]
    opened.place("g", {"p-a": "n1", "p-b": "n1"}).commit()
    assert (willing(opened, Predicates, "p-c"), willing(opened, Predicates, "p-d")) == (["n1"], [])


def test_where_no_device_has_the_capacity_the_message_says_so() -> None:
    text = "and none of the 1 device that it selects has the capacity that it requests"
    assert text in message(lent(), asked=asking("11"))


def share(memory: str) -> Allocation:
    result = DeviceResult("gpu", DRIVER, "n1", "d0", share_id="s", consumed_capacity={"memory": memory})
    return Allocation(devices=AllocatedDevices(results=[result]), node_selector=on_node("n1"))


# -- claims and nodes that are special --------------------------------------------------------------------------------


def test_a_claim_that_asks_for_nothing_suits_every_node() -> None:
    nothing = msgspec.structs.replace(device_claim("nothing"), spec=ResourceClaimSpec())
    nodes = [node(f"more-{number}") for number in range(20)]
    opened = session(nodes, resource_slice("s", "d0", on="n1"), nothing, waiting("p", "nothing"))
    assert len(willing(opened, Predicates, "p")) == len(nodes) + 2


def test_nodes_with_equal_devices_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search can take many steps: 8 devices on different roots of 7 take all orders of these."""
    searched: list[int] = []
    solve = Problem.solve

    def counted(problem: Problem, seen: Rows, *args: Any, **options: Any) -> Chosen | NotChosen:
        searched.append(len(seen))
        return solve(problem, seen, *args, **options)

    monkeypatch.setattr(Problem, "solve", counted)
    roots = [device(f"d{number}", {"root": number // 2}) for number in range(6)]
    slices = [resource_slice(f"s-{name}", *roots, on=name) for name in ("n1", "n2", "n3")]
    constraint = DeviceConstraint(distinct_attribute="gpu.example.com/root")
    claim = device_claim("new", request(count=3), constraints=[constraint])
    held = device_claim("held", allocation=allocated(("n3", "d0"), ("n3", "d1"), node="n3"), users=["somebody"])
    opened = session(node("n3"), slices, claim, held, waiting("p", "new"))
    assert answers(opened, Predicates, "p") == {"n1": "", "n2": "", "n3": IN_USE}
    assert len(searched) == 2


# -- what pods take ---------------------------------------------------------------------------------------------------


def two_devices() -> ResourceSlice:
    return resource_slice("s", "d0", "d1", on="n1")


def test_each_pod_takes_the_next_device_and_a_third_one_finds_none() -> None:
    claims = [device_claim(name) for name in "abc"]
    opened = session(two_devices(), claims, [waiting(f"p-{name}", name) for name in "abc"])
    opened.place("g", {"p-a": "n1", "p-b": "n1"}).commit()
    assert [results(*written(opened, each)) for each in ("p-a", "p-b")] == [[("n1", "d0")], [("n1", "d1")]]
    assert answers(opened, Predicates, "p-c")["n1"] == IN_USE


def test_what_is_undone_is_free_again() -> None:
    opened = session(two_devices(), device_claim("a"), device_claim("b"), waiting("p", "a"), waiting("q", "b"))
    statement = opened.place("g", {"p": "n1", "q": "n1"})
    statement.discard()
    opened.place("g", {"q": "n1"}).commit()
    assert results(*written(opened, "q")) == [("n1", "d0")]


def test_of_pods_that_share_a_claim_the_first_brings_the_devices() -> None:
    opened = session(two_devices(), device_claim("a"), waiting("p", "a"), waiting("q", "a"))
    opened.place("g", {"p": "n1", "q": "n1"}).commit()
    (first,), (second,) = written(opened, "p"), written(opened, "q")
    assert results(first) == [("n1", "d0")]
    assert second == DeviceBinding(first.claim)


def test_pods_may_share_a_claim_that_asks_for_nothing() -> None:
    empty = msgspec.structs.replace(device_claim("a"), spec=ResourceClaimSpec())
    opened = session(two_devices(), empty, waiting("p", "a"), waiting("q", "a"))
    opened.place("g", {"p": "n1"})
    assert willing(opened, Predicates, "q") == ["n1", "n2"]


def test_if_the_first_is_taken_back_the_other_brings_the_devices() -> None:
    opened = session(two_devices(), device_claim("a"), waiting("p", "a"), waiting("q", "a"))
    first = opened.place("g", {"p": "n1"})
    second = opened.place("g", {"q": "n1"})
    first.discard()
    second.commit()
    assert results(*written(opened, "q")) == [("n1", "d0")]
    assert willing(opened, Predicates, "p") == ["n1"]


def test_a_pod_with_the_promise_of_a_place_does_not_bring_them() -> None:
    """It is not bound in this cycle."""
    opened = session(two_devices(), device_claim("a"), waiting("p", "a"), waiting("q", "a"))
    opened.pipeline("g", {"p": "n1"})
    opened.place("g", {"q": "n1"}).commit()
    assert results(*written(opened, "q")) == [("n1", "d0")]


def test_a_claim_with_devices_is_looked_at_before_each_binding() -> None:
    """Even if it is reserved for the pod: after a failed binding, that may have been taken back a moment ago."""
    given = device_claim("given", allocation=allocated(("n1", "d0"), node="n1"), users=["pod-team-p"])
    known = with_claims(pod("p", group="g"), "given")
    opened = session(two_devices(), given, known, waiting("q", "given"))
    opened.place("g", {"p": "n1", "q": "n1"}).commit()
    for name in ("p", "q"):
        assert [each.allocation for each in written(opened, name)] == [None]


# -- evictions --------------------------------------------------------------------------------------------------------


def with_victim(*users: str) -> Opened:
    held = device_claim("held", allocation=allocated(("n1", "d0"), node="n1"), users=users)
    victim = with_claims(pod("victim", group="g", on="n1"), "held")
    return session(
        resource_slice("s", "d0", on="n1"),
        held,
        victim,
        device_claim("new"),
        device_claim("other"),
        waiting("p", "new"),
        waiting("q", "new"),
        waiting("r", "other"),
    )


def test_the_device_of_a_pod_that_is_evicted_can_be_promised_once() -> None:
    opened = with_victim(VICTIM)
    statement = opened.evict("victim")
    assert will_take(opened)
    opened.pipeline("g", {"p": "n1"}, statement)
    assert not will_take(opened, "r")
    statement.discard()
    assert not will_take(opened)
    assert answers(opened, Predicates, "p")["n1"] == IN_USE


def will_take(opened: Opened, name: str = "p") -> bool:
    """Whether node n1 takes the pod once terminating pods are gone."""
    view = NodeView(opened.ssn.ledger.nodes, node_rows(opened, ["n1"]), released=True)
    (code,) = opened.plugin(Predicates).predicate(class_of(opened, name), view)
    return bool(code == FITS)


def test_a_pod_that_shares_a_claim_waits_with_the_one_whose_device_is_not_free_yet() -> None:
    """Its binding would be refused, as long as the victim has the device: the state counts that as in use."""
    opened = with_victim(VICTIM)
    statement = opened.evict("victim")
    opened.pipeline("g", {"p": "n1"}, statement)
    assert answers(opened, Predicates, "q")["n1"] == IN_USE
    assert will_take(opened, "q")


def test_a_device_that_others_use_too_is_not_freed_by_an_eviction() -> None:
    for users, is_free in (([VICTIM], True), ([VICTIM, "a stranger"], False)):
        opened = with_victim(*users)
        opened.evict("victim")
        assert will_take(opened) is is_free
