"""Which cards placed pods hold: from the decision until they are gone, whatever is written on them later."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from tests.support.placement.cards import IDS, INDEX, asks, card, gpu_node, gpu_pod, numbered
from tests.support.sessions import NOW, pod_group, queue
from volcano_py.api.annotations.vgpu import MOST_MEMORY, card_key
from volcano_py.api.effects import Bind, ObjectRef
from volcano_py.api.objects import Pod
from volcano_py.record.entries import AssumedBound, of_line
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.snapshot import Snapshot

A, B = "A,NVIDIA,1000,10:", "B,NVIDIA,2000,20:"


def state_with(*pods: Pod) -> ClusterState:
    state = ClusterState()
    for obj in (queue("default"), pod_group("g"), gpu_node("n1", card("A"), card("B")), *pods):
        state.upsert(type(obj).__name__, obj)
    return state


def gpu(name: str, **fields: Any) -> Pod:
    return gpu_pod(name, asks(1, 1000), **fields)


def bind(pod: Pod, text: str = A) -> Bind:
    meta = pod.metadata
    ref = ObjectRef("Pod", meta.namespace, meta.name, meta.uid)
    return Bind(ref, "n1", "team/g", "default", annotations={IDS: text})


def bound(pod: Pod, text: str) -> Pod:
    """The pod as the API server shows it after the binding."""
    annotations = {**pod.metadata.annotations, IDS: text}
    return replace(pod, metadata=replace(pod.metadata, annotations=annotations), spec=replace(pod.spec, node_name="n1"))


def held(state: ClusterState, former: Snapshot | None = None) -> dict[str, list[tuple[str, int, int]]]:
    """Pod → card, memory and cores of each device."""
    snapshot = state.snapshot(NOW.timestamp(), former)
    table, found = snapshot.cards, dict[str, list[tuple[str, int, int]]]()
    if table is None:
        return found
    uuids = {card_key(uuid): uuid for uuid in "ABC"}
    for row, task in enumerate(table.task.tolist()):
        if task >= 0:
            info = snapshot.tasks[task]
            assert info is not None
            device = uuids[int(table.card[row])], int(table.memory[row]), int(table.cores[row])
            found.setdefault(info.ref.name, []).append(device)
    return found


def test_pods_on_nodes_hold_what_their_annotation_says_as_after_a_restart() -> None:
    two = gpu_pod("p", asks(1, 1000), asks(1, 2000), holds=f"{A};{B}", on="n1")
    assert held(state_with(two)) == {"p": [("A", 1000, 10), ("B", 2000, 20)]}


def test_pods_of_other_schedulers_hold_cards_too() -> None:
    assert held(state_with(gpu("p", holds=A, on="n1", scheduler="other"))) == {"p": [("A", 1000, 10)]}


def test_a_waiting_pod_holds_nothing_whatever_it_says() -> None:
    assert held(state_with(gpu("p", holds=A))) == {}


def test_a_pod_holds_its_cards_as_soon_as_its_binding_is_decided() -> None:
    waiting = gpu("p")
    state = state_with(waiting)
    assert state.assume_all_bound([bind(waiting)]) == [True]
    assert held(state) == {"p": [("A", 1000, 10)]}
    state.upsert("Pod", gpu("p", labels={"late": "event"}))
    assert held(state) == {"p": [("A", 1000, 10)]}
    state.upsert("Pod", bound(waiting, A))
    assert held(state) == {"p": [("A", 1000, 10)]}


def test_many_bindings_at_once_are_no_exception() -> None:
    waiting = [gpu(f"p{number}") for number in range(20)]
    state = state_with(*waiting)
    assert all(state.assume_all_bound([bind(each) for each in waiting]))
    assert held(state) == {f"p{number}": [("A", 1000, 10)] for number in range(20)}


def test_a_binding_that_was_decided_before_a_record_began_is_restored_with_its_cards() -> None:
    waiting = gpu("p")
    state = state_with(waiting)
    state.restore_bound([bind(waiting)])
    assert held(state) == {"p": [("A", 1000, 10)]}


@pytest.mark.parametrize("before", [False, True])
def test_a_record_has_the_cards_of_bindings(before: bool) -> None:
    waiting = gpu("p")
    state = state_with(waiting)
    of_line(msgspec.json.encode(AssumedBound((bind(waiting),), before=before))).apply(state)
    assert held(state) == {"p": [("A", 1000, 10)]}


def test_a_forged_annotation_does_not_survive_the_binding() -> None:
    forged = gpu("p", holds=B)
    state = state_with(forged)
    state.assume_all_bound([bind(forged)])
    assert held(state) == {"p": [("A", 1000, 10)]}


def test_a_binding_that_fails_gives_the_cards_back() -> None:
    waiting = gpu("p")
    state = state_with(waiting)
    state.assume_all_bound([bind(waiting)])
    state.bind_failed(waiting.metadata.uid, retry_at=0.0)
    assert held(state) == {}
    state.assume_all_bound([bind(waiting, B)])
    assert held(state) == {"p": [("B", 2000, 20)]}


def test_what_is_written_on_a_placed_pod_later_changes_nothing() -> None:
    there = gpu("p", holds=A, on="n1")
    state = state_with(there)
    for text in (B, "", A * 9):
        state.upsert("Pod", bound(there, text))
        assert held(state) == {"p": [("A", 1000, 10)]}


def test_a_pod_that_ends_or_goes_gives_its_cards_back_and_rows_are_used_again() -> None:
    there = gpu("p", holds=A, on="n1")
    state = state_with(there, gpu("q", holds=B, on="n1"))
    former = state.snapshot(NOW.timestamp())
    state.upsert("Pod", replace(there, status=replace(there.status, phase="Succeeded")))
    assert held(state, former) == {"q": [("B", 2000, 20)]}
    state.delete("Pod", gpu("q", holds=B, on="n1"))
    assert held(state) == {}
    state.upsert("Pod", gpu("r", holds=B, on="n1"))
    assert held(state) == {"r": [("B", 2000, 20)]}


def test_a_pod_holds_no_more_devices_than_it_asks_for() -> None:
    assert held(state_with(gpu("p", holds=A + B, on="n1"))) == {"p": [("A", 1000, 10)]}
    assert held(state_with(gpu_pod("p", {"cpu": "1"}, holds=A, on="n1"))) == {}


def test_clusters_without_cards_keep_nothing() -> None:
    assert state_with(gpu_pod("p", {"cpu": "1"}, on="n1")).snapshot(NOW.timestamp()).cards is None


def by_number(name: str, amount: int, way: str = "gpu-memory", **fields: Any) -> Pod:
    return gpu_pod(name, {f"volcano.sh/{way}": str(amount)}, **fields)


def held_by_number(state: ClusterState) -> list[tuple[int, int, int]]:
    table = state.snapshot(NOW.timestamp()).cards
    if table is None:
        return []
    rows = np.flatnonzero(table.task >= 0)
    return list(zip(table.card[rows].tolist(), table.memory[rows].tolist(), table.cores[rows].tolist(), strict=True))


def test_pods_hold_the_numbers_of_gpus_with_as_much_memory_as_they_ask_for() -> None:
    assert held_by_number(state_with(by_number("p", 9000, annotations={INDEX: "1"}, on="n1"))) == [(1, 9000, 0)]
    assert held_by_number(state_with(by_number("p", 9000, annotations={INDEX: "1,0"}, on="n1"))) == [(1, 9000, 0)]


def test_whole_gpus_are_held_with_all_that_they_have() -> None:
    whole = by_number("p", 2, "gpu-number", annotations={INDEX: "0,2,3"}, on="n1")
    assert held_by_number(state_with(whole)) == [(0, MOST_MEMORY, 100), (2, MOST_MEMORY, 100)]


def test_the_annotation_of_another_way_of_sharing_says_nothing() -> None:
    assert held_by_number(state_with(by_number("p", 9000, holds=A, on="n1"))) == []
    assert held(state_with(gpu("p", annotations={INDEX: "0"}, on="n1"))) == {}


def test_a_gpu_by_number_is_held_as_soon_as_the_binding_is_decided_and_given_back_when_it_fails() -> None:
    waiting = by_number("p", 9000, annotations={INDEX: "3"})
    state = state_with(waiting)
    state.upsert("Node", numbered("n1", 2, 32000))
    state.assume_all_bound([replace(bind(waiting), annotations={INDEX: "1"})])
    assert held_by_number(state) == [(1, 9000, 0)]
    state.bind_failed(waiting.metadata.uid, retry_at=0.0)
    assert held_by_number(state) == []
