"""Whatever the order in which claims, volumes, classes and pods come, change and go: what is known in the end follows
from what there is in the end."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.volumes import (
    LOCAL,
    MADE,
    capacity,
    claim,
    csi_driver,
    csi_node,
    storage_class,
    using,
    volume,
)
from tests.support.sessions import NOW, node, pod, pod_group
from volcano_py.api.objects import ApiObject, metadata_of
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.volumes.needs import Need

ALWAYS: tuple[ApiObject, ...] = (node("n1"), pod_group("g"))
CLAIMS, VOLUMES, PODS = ("a", "b"), ("v", "w"), ("p", "q", "r")


@st.composite
def objects(draw: st.DrawFn) -> ApiObject:
    """Something new, or a new picture of it."""
    match draw(st.sampled_from(["claim", "volume", "class", "pod", "pod", "node", "capacity"])):
        case "claim":
            bound = draw(st.sampled_from(["", "", *VOLUMES]))
            return claim(
                draw(st.sampled_from(CLAIMS)),
                of=draw(st.sampled_from([LOCAL, MADE, ""])),
                modes=[draw(st.sampled_from(["ReadWriteOnce", "ReadWriteOncePod"]))],
                bound_to=bound,
                node="" if bound else draw(st.sampled_from(["", "n1"])),
                uid=draw(st.sampled_from(["first", "second"])),
                deleting=draw(st.booleans()),
            )
        case "volume":
            owner = draw(st.sampled_from(["", *CLAIMS]))
            return volume(
                draw(st.sampled_from(VOLUMES)),
                on=draw(st.sampled_from([None, ["n1"]])),
                claim=owner,
                claim_uid=draw(st.sampled_from(["", "first", "second"])) if owner else "",
                phase=draw(st.sampled_from(["Pending", "Available", "Released"])),
            )
        case "class":
            return storage_class(
                draw(st.sampled_from([LOCAL, MADE])), provisioner="disk.csi", waits=draw(st.booleans())
            )
        case "node":
            return csi_node("n1", **{"disk.csi": draw(st.sampled_from([None, 1, 2]))})
        case "capacity":
            return draw(st.sampled_from([capacity("c", free="1Gi", nodes={}), capacity("c"), csi_driver("disk.csi")]))
        case _:
            used = draw(st.lists(st.sampled_from(CLAIMS), max_size=2, unique=True))
            on = draw(st.sampled_from(["", "", "n1"]))
            phase = draw(st.sampled_from(["", "Succeeded"])) if on else ""
            return using(pod(draw(st.sampled_from(PODS)), group="g", cpu="1", on=on, phase=phase), *used)


events = st.lists(st.tuples(st.booleans(), objects()), max_size=25)
"""(gone, object)"""


def known(state: ClusterState) -> tuple[dict[str, tuple[Need, ...]], Any]:
    """Pod → what its volumes require, and the storage that a cycle sees."""
    snapshot = state.snapshot(NOW.timestamp())
    found = {}
    for row, info in enumerate(snapshot.tasks):
        if info is not None:
            task_class = snapshot.classes[int(snapshot.ledger.tasks.task_class[row])]
            assert task_class is not None
            found[info.key] = task_class.volumes
    storage = snapshot.storage
    return found, (
        storage.classes,
        {name: sorted(each.name for each in volumes) for name, volumes in storage.free.items()},
        storage.kept,
        storage.tracked,
        storage.capacities,
        storage.limits,
        storage.claims,
    )


@given(events)
@settings(max_examples=2 * settings().max_examples, deadline=None)
def test_what_is_known_follows_from_what_there_is(happening: list[tuple[bool, ApiObject]]) -> None:
    state = ClusterState()
    there: dict[tuple[str, str], ApiObject] = {}
    for each in ALWAYS:
        state.upsert(type(each).__name__, each)
    for gone, obj in happening:
        key = (type(obj).__name__, metadata_of(obj).key)
        if not gone:
            there[key] = obj
            state.upsert(key[0], obj)
        elif key in there:
            state.delete(key[0], there.pop(key))
    fresh = ClusterState()
    for each in (*ALWAYS, *reversed(there.values())):
        fresh.upsert(type(each).__name__, each)
    assert known(state) == known(fresh)
    assert state.drift() == fresh.drift() == 0
    classes = [each for each in state.snapshot(NOW.timestamp()).classes if each is not None]
    used = list(known(state)[0].values())  # not a set: what a volume asks of nodes cannot be hashed
    assert all(each.volumes in used for each in classes), "no class outlives its pods"
    assert all(each in [task_class.volumes for task_class in classes] for each in used)
