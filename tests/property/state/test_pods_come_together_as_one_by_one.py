"""Pods that come together leave the same state behind as one by one: the same rows with the same numbers."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.property.clusters import a_group, a_node, a_pod
from volcano_py.api.names import CHARGED_QUEUE, PREEMPTABLE
from volcano_py.api.objects import Pod
from volcano_py.cluster.manifests import EPOCH
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.table.table import Table


@st.composite
def seen_pods(draw: st.DrawFn) -> Pod:
    """One of a few pods, or a namesake, in one of the versions that it may have."""
    replace = msgspec.structs.replace
    pod = a_pod(
        draw(st.sampled_from(["p-0", "p-1", "p-2", "p-3"])),
        draw(st.sampled_from(["", "g0", "g1"])),
        draw(st.integers(0, 2)),
        on=draw(st.sampled_from(["", "n0", "ghost"])),
        priority=draw(st.integers(0, 2)),
    )
    said = draw(st.sampled_from([{}, {CHARGED_QUEUE: "q1"}, {PREEMPTABLE: "false"}, {PREEMPTABLE: "perhaps"}]))
    metadata = replace(
        pod.metadata,
        uid=f"{pod.metadata.name}-{draw(st.integers(0, 1))}",
        annotations={**pod.metadata.annotations, **said},
        labels=draw(st.sampled_from([{}, {"app": "web"}])),
        deletion_timestamp=draw(st.sampled_from([None, None, EPOCH])),
    )
    nominated = draw(st.sampled_from(["", "n0"]))
    phase = draw(st.sampled_from([pod.status.phase, "Succeeded"]))
    return replace(pod, metadata=metadata, status=replace(pod.status, phase=phase, nominated_node_name=nominated))


def rows_of(state: ClusterState) -> list[dict[str, Any]]:
    """All columns, by table."""
    ledger = state.ledger
    tables: tuple[Table, ...] = (ledger.tasks, ledger.nodes, ledger.jobs, ledger.queues, ledger.classes)
    return [{name: getattr(table, name)[: table.size] for name in table.columns} for table in tables]


@given(st.lists(seen_pods(), max_size=12), st.integers(1, 12))
def test_slices_of_pods_are_taken_as_one_by_one(pods: list[Pod], size: int) -> None:
    singly, together = ClusterState(), ClusterState()
    for state in (singly, together):
        state.upsert("Node", a_node("n0", 4))
        state.upsert("PodGroup", a_group("g0", 2))
    for pod in pods:
        singly.upsert("Pod", pod)
    for begin in range(0, len(pods), size):
        together.upsert_all("Pod", pods[begin : begin + size])
    for one, other in zip(rows_of(singly), rows_of(together), strict=True):
        for name, column in one.items():
            np.testing.assert_array_equal(column, other[name], err_msg=name)
    one_picture, other_picture = singly.snapshot(0.0), together.snapshot(0.0)
    assert one_picture.tasks == other_picture.tasks
    assert one_picture.unreadable_tasks == other_picture.unreadable_tasks
    assert together.drift() == 0
