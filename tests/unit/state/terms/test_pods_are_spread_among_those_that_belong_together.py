"""Which pods a pod without constraints is spread among: what Services and its owner select, as for kube-scheduler."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from volcano_py.api.bounds import SERVICES
from volcano_py.api.objects import ApiObject, Node, Pod
from volcano_py.api.workloads import ReplicationController, Service, Workload
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.table.change import Change
from volcano_py.state.terms import spread_defaults
from volcano_py.state.terms.pod_terms import PodTerm, Requirement

NODE = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}
TYPES: dict[str, type[ApiObject]] = {
    "Pod": Pod,
    "Service": Service,
    "ReplicationController": ReplicationController,
    "ReplicaSet": Workload,
    "StatefulSet": Workload,
}


def body(kind: str, name: str, *, namespace: str = "default", uid: str = "", **fields: Any) -> ApiObject:
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"{kind}-{namespace}-{name}",
        **fields.pop("meta", {}),
    }
    return msgspec.convert({"metadata": metadata, **fields}, TYPES[kind])


def pod(name: str = "web-0", *, labels: dict[str, str] | None = None, owner: str = "", **fields: Any) -> ApiObject:
    meta: dict[str, Any] = {"labels": {"app": "web", "tier": "front"} if labels is None else labels}
    if owner:
        version, kind, owner_name = owner.rsplit(" ", 2)
        reference = {"apiVersion": version, "kind": kind, "name": owner_name, "uid": "any", "controller": True}
        meta["ownerReferences"] = [{"apiVersion": "v1", "kind": "Any", "name": "other", "uid": "any"}, reference]
    spec = {"schedulerName": "volcano", "containers": [{"name": "main", "image": "any"}], **fields}
    return body("Pod", name, meta=meta, spec=spec)


def service(selector: dict[str, str], name: str = "web", **meta: Any) -> ApiObject:
    return body("Service", name, spec={"selector": selector}, **meta)


def replica_set(selector: dict[str, Any], *, kind: str = "ReplicaSet", replicas: int = 1) -> ApiObject:
    return body(kind, "web-1", spec={"replicas": replicas, "selector": selector})


def among(*objects: ApiObject, kinds: dict[int, str] | None = None) -> PodTerm | None:
    """What the one pod among the objects is spread among."""
    state = ClusterState()
    for number, each in enumerate(objects):
        state.upsert((kinds or {}).get(number) or type(each).__name__.replace("Workload", "ReplicaSet"), each)
    return spread_of(state)


def spread_of(state: ClusterState, name: str = "web-0") -> PodTerm | None:
    snapshot = state.snapshot(0.0)
    [row] = [row for row, info in enumerate(snapshot.tasks) if info is not None and info.ref.name == name]
    task_class = snapshot.classes[int(snapshot.ledger.tasks.task_class[row])]
    assert task_class is not None
    return task_class.spread_among


def term(*requirements: tuple[str, str, tuple[str, ...]], namespace: str = "default") -> PodTerm:
    return PodTerm((namespace,), tuple(Requirement(*each) for each in requirements))


APP, TIER = ("app", "In", ("web",)), ("tier", "In", ("front",))


def test_without_a_service_or_an_owner_pods_are_not_spread() -> None:
    assert among(pod()) is None


def test_services_that_select_the_pod_add_up() -> None:
    services = [service({"app": "web"}), service({"tier": "front", "app": "web"}, "both"), service({"app": "db"}, "db")]
    assert among(*services, pod()) == term(APP, TIER)


def test_a_service_without_a_selector_or_in_another_namespace_selects_nothing() -> None:
    assert among(service({}), service({"app": "web"}, namespace="other"), pod()) is None


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_the_selector_of_the_owner_is_added(kind: str) -> None:
    selector = {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "canary", "operator": "DoesNotExist"}]}
    owned = pod(owner=f"apps/v1 {kind} web-1")
    found = among(service({"tier": "front"}), replica_set(selector, kind=kind), owned, kinds={1: kind})
    assert found == term(APP, ("canary", "DoesNotExist", ()), TIER)


def test_the_labels_of_a_replication_controller_stand_in_for_those_of_services() -> None:
    owner = body("ReplicationController", "web-1", spec={"selector": {"app": "web", "tier": "back"}})
    found = among(service({"tier": "front"}), owner, pod(owner="v1 ReplicationController web-1"))
    assert found == term(APP, ("tier", "In", ("back",)))


@pytest.mark.parametrize(
    "owner",
    ["apps/v1 ReplicaSet web-2", "apps/v1beta1 ReplicaSet web-1", "batch/v1 Job web-1", "apps/v1 StatefulSet web-1"],
)
def test_an_owner_of_another_name_version_or_kind_does_not_count(owner: str) -> None:
    assert among(replica_set({"matchLabels": {"app": "web"}}), pod(owner=owner)) is None


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet"])
def test_an_owner_that_is_being_scaled_to_nothing_counts_as_it_did(kind: str) -> None:
    owned = pod(owner=f"apps/v1 {kind} web-1")
    scaled = replica_set({"matchLabels": {"app": "web"}}, kind=kind, replicas=0)
    assert among(scaled, owned, kinds={0: kind}) == term(APP)


def test_a_replication_controller_that_is_being_scaled_to_nothing_counts_as_it_did() -> None:
    owner = body("ReplicationController", "web-1", spec={"selector": {"app": "web"}, "replicas": 0})
    assert among(owner, pod(owner="v1 ReplicationController web-1")) == term(APP)


def test_an_owner_whose_selector_is_empty_or_cannot_be_read_does_not_count() -> None:
    owned = pod(owner="apps/v1 ReplicaSet web-1")
    assert among(replica_set({}), owned) is None
    unreadable = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["w"]}]}
    assert among(replica_set(unreadable), owned) is None


def test_a_pod_with_constraints_of_its_own_is_left_to_them() -> None:
    constraint = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    assert among(service({"app": "web"}), pod(topologySpreadConstraints=[constraint])) is None


def test_what_comes_goes_and_changes_reaches_pods_that_wait() -> None:
    state = ClusterState()
    state.upsert("Pod", pod())
    assert spread_of(state) is None
    state.upsert("Service", service({"app": "web"}))
    assert spread_of(state) == term(APP)
    state.upsert("Service", service({"tier": "front"}))
    assert spread_of(state) == term(TIER)
    state.upsert("Pod", pod(labels={"app": "web"}))
    assert spread_of(state) is None
    state.upsert("Pod", pod())
    assert spread_of(state) == term(TIER)
    state.delete("Service", service({}, uid="another"))
    assert spread_of(state) == term(TIER)
    state.delete("Service", service({}))
    assert spread_of(state) is None
    state.replace("Service", [service({"app": "web"}, "one"), service({"tier": "front"}, "other")])
    assert spread_of(state) == term(APP, TIER)
    state.replace("Service", [service({"app": "web"}, "one")])
    assert spread_of(state) == term(APP)


def test_pods_that_are_spread_among_others_are_of_another_class() -> None:
    state = ClusterState()
    state.upsert("Service", service({"app": "web"}))
    for name, app in (("web-0", "web"), ("web-1", "web"), ("db-0", "db")):
        state.upsert("Pod", pod(name, labels={"app": app}))
    snapshot = state.snapshot(0.0)
    rows = {info.ref.name: row for row, info in enumerate(snapshot.tasks) if info is not None}
    classes = {name: int(snapshot.ledger.tasks.task_class[row]) for name, row in rows.items()}
    assert classes["web-0"] == classes["web-1"] != classes["db-0"]


def test_a_pod_whose_binding_fails_is_spread_as_before_and_a_bound_one_no_more() -> None:
    state = ClusterState()
    state.upsert("Node", msgspec.convert({"metadata": {"name": "n1", "uid": "n1"}, "status": NODE}, Node))
    state.upsert("Service", service({"app": "web"}))
    state.upsert("Pod", pod())
    uid = "Pod-default-web-0"
    assert state.assume_bound(uid, "n1")
    state.upsert("Pod", pod())  # an echo of something that was written before
    state.bind_failed(uid, retry_at=0.0)
    assert spread_of(state) == term(APP)
    state.upsert("Pod", pod(nodeName="n1"))
    assert term(APP) not in state.snapshot(0.0).terms.terms, "a term that no waiting pod has is given up"


def test_changes_in_selections_start_no_cycle() -> None:
    woken: list[Change] = []
    state = ClusterState(on_change=woken.append)
    state.upsert("Pod", pod())
    woken.clear()
    state.upsert("Service", service({"app": "web"}))
    state.delete("Service", service({"app": "web"}))
    assert not woken


def test_changes_are_settled_without_snapshots_too() -> None:
    """A replica that does not lead takes none."""
    state = ClusterState()
    state.upsert("Pod", pod())
    for number in range(3000):
        state.upsert("Service", service({"app": "web", "number": str(number % 2)}))
        state.upsert("Pod", pod(labels={"app": "web", "number": str(number % 2)}))
    kept = state._spread_defaults
    assert len(kept._given_up) <= 1025
    assert kept.selections._changes.number <= 1025


# -- tenants with many Services and pods -------------------------------------------------------------------------------


def test_pods_are_brought_up_to_date_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread_defaults, "_SLICE", 3)
    state = ClusterState()
    for number in range(10):
        state.upsert("Pod", pod(f"web-{number}"))
    state.snapshot(0.0)
    state.upsert("Service", service({"app": "web"}))
    slices = 0
    while not state.is_settled:
        state.settle_some()
        slices += 1
    assert slices >= 4
    expected = term(("app", "In", ("web",)))
    assert {spread_of(state, f"web-{number}") == expected for number in range(10)} == {True}


def test_of_services_that_look_alike_so_many_are_looked_at() -> None:
    def state_with(services: int) -> ClusterState:
        state = ClusterState()
        for number in range(services):
            state.upsert("Service", service({"application": "the-longest", f"k{number}": "v"}, f"s{number}"))
        return state

    labels = {"application": "the-longest", **{f"k{number}": "v" for number in range(100)}}

    def requirements(services: int) -> int:
        state = state_with(services)
        state.upsert("Pod", pod(labels=labels))
        found = spread_of(state)
        assert found is not None
        assert found.selector is not None
        return len(found.selector)

    assert requirements(SERVICES.most) == SERVICES.most + 1
    assert requirements(SERVICES.most * 2) == SERVICES.most + 1

    crowded = state_with(SERVICES.most * 2)
    crowded.upsert("Pod", pod(labels=labels))
    crowded.snapshot(0.0)
    for number in range(SERVICES.most):
        crowded.delete("Service", service({"application": "the-longest", f"k{number}": "v"}, f"s{number}"))
    left = spread_of(crowded)
    assert left is not None
    assert left.selector is not None
    assert f"k{SERVICES.most}" in {one.key for one in left.selector}, "those that are left take their places"
