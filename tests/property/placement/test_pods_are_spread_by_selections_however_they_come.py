"""Services, owners and pods in any order: what pods are spread among follows from what there is at the end."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.api.objects import ApiObject, LabelSelector, ObjectMeta, Pod
from volcano_py.api.workloads import Service, ServiceSpec, Workload, WorkloadSpec
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.terms.pod_terms import PodTerm

KEYS, VALUES, NAMES = ("app", "tier", "track"), ("a", "b"), ("x", "y")
labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=3)
namespaces = st.sampled_from(["one", "two"])


def meta(namespace: str, name: str, **fields: Any) -> ObjectMeta:
    return ObjectMeta(namespace=namespace, name=name, uid=f"{namespace}-{name}", **fields)


@st.composite
def services(draw: st.DrawFn) -> tuple[str, ApiObject]:
    return "Service", Service(
        metadata=meta(draw(namespaces), draw(st.sampled_from(NAMES))), spec=ServiceSpec(selector=draw(labels))
    )


@st.composite
def owners(draw: st.DrawFn) -> tuple[str, ApiObject]:
    kind = draw(st.sampled_from(["ReplicaSet", "StatefulSet"]))
    selector = LabelSelector(match_labels=draw(labels))
    spec = WorkloadSpec(replicas=draw(st.sampled_from([0, 1, None])), selector=selector)
    return kind, Workload(metadata=meta(draw(namespaces), draw(st.sampled_from(NAMES))), spec=spec)


@st.composite
def pods(draw: st.DrawFn) -> tuple[str, ApiObject]:
    namespace, name = draw(namespaces), draw(st.sampled_from(["p", "q", "r"]))
    body: dict[str, Any] = {
        "metadata": {"namespace": namespace, "name": name, "uid": f"{namespace}-{name}", "labels": draw(labels)},
        "spec": {"schedulerName": "volcano", "nodeName": draw(st.sampled_from(["", "", "", "n1"]))},
    }
    if draw(st.booleans()):
        kind = draw(st.sampled_from(["ReplicaSet", "StatefulSet"]))
        owner = {"apiVersion": "apps/v1", "kind": kind, "name": draw(st.sampled_from(NAMES)), "uid": "any"}
        body["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return "Pod", msgspec.convert(body, Pod)


events = st.lists(
    st.tuples(
        st.sampled_from(["upsert", "upsert", "delete", "snapshot"]), st.one_of(services(), owners(), pods(), pods())
    ),
    max_size=25,
)


def spread(state: ClusterState) -> dict[str, PodTerm | None]:
    """Pod that waits → what it is spread among."""
    snapshot = state.snapshot(0.0)
    found = {}
    for row, info in enumerate(snapshot.tasks):
        if info is not None and snapshot.ledger.tasks.node[row] < 0:
            task_class = snapshot.classes[int(snapshot.ledger.tasks.task_class[row])]
            assert task_class is not None
            found[info.key] = task_class.spread_among
    return found


@given(events)
def test_it_follows_from_what_there_is(history: list[tuple[str, tuple[str, ApiObject]]]) -> None:
    state, there = ClusterState(), dict[tuple[str, str], ApiObject]()
    for what, (kind, obj) in history:
        key = (kind, obj.metadata.key)  # type: ignore[attr-defined]
        if what == "upsert":
            state.upsert(kind, obj)
            there[key] = obj
        elif what == "delete":
            state.delete(kind, obj)
            there.pop(key, None)
        else:
            state.snapshot(0.0)
    fresh = ClusterState()
    for (kind, _), obj in there.items():
        fresh.upsert(kind, obj)
    assert spread(state) == spread(fresh)
    held = {term for term in state.snapshot(0.0).terms.terms if term is not None}
    assert held == {term for term in spread(fresh).values() if term is not None}, "no term is kept that no pod has"
