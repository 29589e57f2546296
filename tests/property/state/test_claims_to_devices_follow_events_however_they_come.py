"""Whatever the order in which claims to devices, slices, classes and pods come, change and go: what is known in the end
follows from what there is in the end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.support.placement.devices import (
    allocated,
    device,
    device_binding,
    device_claim,
    device_class,
    request,
    resource_slice,
    with_claims,
)
from tests.support.sessions import NOW, node, pod, pod_group
from volcano_py.api.devices.claims import Allocation
from volcano_py.api.objects import ApiObject, metadata_of
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.devices.needs import DeviceNeed

ALWAYS: tuple[ApiObject, ...] = (node("n1"), node("n2"), pod_group("g"))
CLAIMS, CLASSES, PODS, NODES, NAMES = ("a", "b"), ("gpu", "net"), ("p", "q", "r"), ("n1", "n2"), ("d0", "d1")
UIDS = tuple(pod(name).metadata.uid for name in PODS)

devices = st.builds(
    device,
    st.sampled_from(NAMES),
    st.sampled_from([{}, {"x": 1}, {"x": True}]),
    st.sampled_from([{}, {"memory": "10"}, {"memory": "8", "slots": "2"}]),
    binds_to_node=st.booleans(),
    allow_multiple_allocations=st.booleans(),
)


def shared(given: Allocation, memory: int) -> Allocation:
    """The same, of so much memory of each device."""
    taken = {"memory": str(memory)}
    results = [replace(each, share_id="s", consumed_capacity=taken) for each in given.devices.results]
    return replace(given, devices=replace(given.devices, results=results))


exclusive = st.builds(
    lambda found, admin: allocated(*found, node=found[0][0], admin=admin),
    st.lists(st.tuples(st.sampled_from(NODES), st.sampled_from(NAMES)), min_size=1, max_size=2),
    st.sampled_from([None, True]),
)
allocations = st.none() | exclusive | st.builds(shared, exclusive, st.integers(1, 9))
claims = st.builds(
    lambda name, of, allocation, users, uid, owner, deleting: device_claim(
        name, request(of=of), allocation=allocation, users=users, uid=uid, owner=owner, deleting=deleting
    ),
    st.sampled_from(CLAIMS),
    st.sampled_from(CLASSES),
    allocations,
    st.sets(st.sampled_from(UIDS), max_size=2).map(sorted),
    st.sampled_from(["first", "second"]),
    st.sampled_from(["", *UIDS]),
    st.booleans(),
)
slices = st.builds(
    lambda name, published, on, generation, count: resource_slice(
        name, *published, on=on, pool="pool" if name == "s2" else "", generation=generation, count=count
    ),
    st.sampled_from(["s0", "s1", "s2"]),
    st.lists(devices, max_size=2),
    st.sampled_from(NODES),
    st.sampled_from([1, 2]),
    st.sampled_from([1, 2]),
)
classes = st.builds(
    lambda name, expression, config: device_class(name, expression, config=config),
    st.sampled_from(CLASSES),
    st.sampled_from(["true", "false"]),
    st.sampled_from([(), ({"driver": "d"},)]),
)


@st.composite
def pods(draw: st.DrawFn) -> ApiObject:
    on = draw(st.sampled_from(["", "", "n1"]))
    phase = draw(st.sampled_from(["", "Succeeded"])) if on else ""
    used = draw(st.lists(st.sampled_from(CLAIMS), max_size=2))
    generated = draw(st.dictionaries(st.just("entry"), st.sampled_from(["", None, *CLAIMS]), max_size=1))
    return with_claims(
        pod(draw(st.sampled_from(PODS)), group="g", cpu="1", on=on, phase=phase), *used, generated=generated
    )


objects = claims | claims | slices | slices | classes | pods() | pods()
events = st.lists(st.tuples(st.booleans(), objects), max_size=25)
"""(gone, object)"""


def known(state: ClusterState) -> tuple[dict[str, tuple[tuple[DeviceNeed, ...], tuple[str, ...]]], Any]:
    """Pod → what its claims require and which these are, and the devices that a cycle sees."""
    snapshot = state.snapshot(NOW.timestamp())
    found = {}
    for row, info in enumerate(snapshot.tasks):
        if info is not None:
            task_class = snapshot.classes[int(snapshot.ledger.tasks.task_class[row])]
            assert task_class is not None
            found[info.key] = task_class.devices, info.device_claims
    picture = snapshot.devices
    positions = [position for claim in picture.claims.values() for position in claim.devices]
    assert picture.held.tolist() == np.bincount(positions, minlength=len(picture.devices)).tolist()
    going = [claim for claim in picture.claims.values() if claim.is_left]
    leaving = [position for claim in going for position in claim.devices]
    assert picture.going.tolist() == np.bincount(leaving, minlength=len(picture.devices)).tolist()
    for sums, counted in ((picture.taken, [*picture.claims.values()]), (picture.going_taken, going)):
        taken: Counter[int] = Counter()
        for claim in counted:
            taken.update(claim.taken)
        assert sums.tolist() == [taken[column] for column in range(len(picture.shares.value))]
    return found, (
        [(each.key, repr(each.attributes), each.node, each.binds_to_node, each.is_shared) for each in picture.devices],
        picture.shares.value.tolist(),
        picture.taken.tolist(),
        picture.faults,
        {key: (each.uid, each.users, each.devices, each.is_given) for key, each in picture.claims.items()},
        picture.class_configs,
    )


@given(events)
@settings(max_examples=2 * settings().max_examples, deadline=None)
def test_what_is_known_follows_from_what_there_is(happening: list[tuple[bool, ApiObject]]) -> None:
    state = ClusterState()
    there: dict[tuple[str, str], ApiObject] = {}
    for each in ALWAYS:
        state.upsert(type(each).__name__, each)
    for number, (gone, obj) in enumerate(happening):
        key = (type(obj).__name__, metadata_of(obj).key)
        if not gone:
            there[key] = obj
            state.upsert(key[0], obj)
        elif key in there:
            state.delete(key[0], there.pop(key))
        if number % 3 == 0:
            known(state)  # a cycle looks at it now and then
    fresh = ClusterState()
    for each in (*ALWAYS, *reversed(there.values())):
        fresh.upsert(type(each).__name__, each)
    assert known(state) == known(fresh)
    assert state.drift() == fresh.drift() == 0
    task_classes = [each for each in state.snapshot(NOW.timestamp()).classes if each is not None]
    used = [needs for needs, _ in known(state)[0].values()]
    assert all(each.devices in used for each in task_classes), "no class outlives its pods"


decisions = st.lists(
    st.tuples(st.sampled_from(PODS), st.sampled_from(CLAIMS), st.booleans(), st.sampled_from(NAMES)), max_size=8
)
"""(pod, claim, whether it brings an allocation, of which device)"""


@given(decisions, st.permutations(PODS))
def test_what_was_assumed_is_forgotten_without_a_trace(
    decided: list[tuple[str, str, bool, str]], order: list[str]
) -> None:
    state = ClusterState()
    there = [
        device_class(),
        resource_slice("s", *NAMES, on="n1"),
        *(device_claim(name) for name in CLAIMS),
        *(with_claims(pod(name, group="g", cpu="1"), *CLAIMS) for name in PODS),
    ]
    for each in (*ALWAYS, *there):
        state.upsert(type(each).__name__, each)
    before = known(state)
    for name, claim, brings, chosen in decided:
        allocation = allocated(("n1", chosen), node="n1") if brings else None
        state.assume_bound(pod(name).metadata.uid, "n1", (), [device_binding(claim, allocation)])
        held = [each.devices for each in state.snapshot(NOW.timestamp()).devices.claims.values()]
        given_away = [position for positions in held for position in positions]
        assert len(given_away) == len(set(given_away)), "no device goes to two claims"
    for name in order:
        state.bind_failed(pod(name).metadata.uid, retry_at=0.0)
    assert known(state) == before
    assert state.drift() == 0
