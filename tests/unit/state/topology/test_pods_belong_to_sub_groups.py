"""Which sub-group a pod belongs to follows its labels and its PodGroup, whichever comes first or changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tests.support.sessions import gang, node
from volcano_py.api.objects import ApiObject, Pod, PodGroup
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.topology.limits import read_sub_group

PART = "volcano.sh/partition-id"


def divided(
    parts: Sequence[str], policies: list[dict[str, Any]], running_on: Sequence[str] = (), **fields: Any
) -> list[ApiObject]:
    """A PodGroup with these policies, and a pod with each of these parts; `fields` as of `gang`."""
    group, *pods = gang("train", pods=len(parts), running_on=running_on, **{"cpu": "1", **fields})
    assert isinstance(group, PodGroup)
    group = replace(group, spec=replace(group.spec, sub_group_policy=policies))
    return [group, *(labelled(pod, part) for pod, part in zip(pods, parts, strict=True))]


def labelled(pod: ApiObject, part: str) -> Pod:
    assert isinstance(pod, Pod)
    return replace(pod, metadata=replace(pod.metadata, labels={PART: part}))


def groups_of(state: ClusterState) -> dict[str, tuple[int, tuple[str, ...]] | None]:
    """Pod → number of the policy and values."""
    snapshot = state.snapshot(0.0)
    found: dict[str, tuple[int, tuple[str, ...]] | None] = {}
    for row, info in enumerate(snapshot.tasks):
        if info is not None:
            text = snapshot.sub_groups[snapshot.ledger.tasks.sub_group[row]]
            found[info.ref.name] = read_sub_group(text) if text else None
    return found


def state_with(*items: ApiObject) -> ClusterState:
    state = ClusterState()
    for item in (node("n1"), *items):
        state.upsert(type(item).__name__, item)
    return state


POLICY = [{"name": "p", "matchLabelKeys": [PART]}]


def test_pods_may_come_before_their_pod_group() -> None:
    group, *pods = divided(["0", "1"], POLICY)
    assert groups_of(state_with(*pods)) == {"train-0": None, "train-1": None}
    expected = {"train-0": (0, ("0",)), "train-1": (0, ("1",))}
    assert groups_of(state_with(*pods, group)) == groups_of(state_with(group, *pods)) == expected


def test_pods_follow_policies_that_change_and_groups_that_are_created_again() -> None:
    group, *pods = divided(["0", "1"], POLICY)
    state = state_with(group, *pods)
    other = divided([], [{"name": "none", "matchLabelKeys": ["row"]}, *POLICY])[0]
    state.upsert("PodGroup", other)
    assert groups_of(state) == {"train-0": (1, ("0",)), "train-1": (1, ("1",))}
    state.delete("PodGroup", other)
    state.upsert("PodGroup", divided([], [])[0])
    assert groups_of(state) == {"train-0": None, "train-1": None}


def test_a_pod_whose_label_changes_changes_its_sub_group() -> None:
    group, first, second = divided(["0", "1"], POLICY)
    state = state_with(group, first, second)
    state.upsert("Pod", labelled(first, "1"))
    assert groups_of(state) == {"train-0": (0, ("1",)), "train-1": (0, ("1",))}
    state.delete("Pod", first)
    state.delete("Pod", second)
    assert set(state.snapshot(0.0).sub_groups) <= {"", "\0"}
