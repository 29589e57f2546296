"""The podgroup controller against an API server in memory: what it writes, and what it does when things go wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from tests.support.jobs.controllers import Controlled
from tests.support.virtual_time import LoopClock
from volcano_py.api.effects import Event, ObjectRef
from volcano_py.api.objects import Namespace, ObjectMeta, Pod, PodGroup
from volcano_py.api.workloads import Workload
from volcano_py.cluster.kubernetes.http.errors import UnreachableError, api_error
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.operator.podgroups.controller import PodGroupController
from volcano_py.operator.podgroups.generated_group import GroupRules

GROUP_NAME = "scheduling.k8s.io/group-name"
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/ns/podgroups"
PODS = "/api/v1/namespaces/ns/pods"
REPLICA_SET = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs", "controller": True}


class Cluster(Controlled[PodGroupController]):
    """The API, and a controller that is shown what is in it."""

    def __init__(self, api: Any, events: list[Event], *, leads: bool = True, **rules: Any) -> None:
        self.api, self.leads = api, leads
        self.controller = PodGroupController(
            api,
            GroupRules(**rules),
            active=lambda: self.leads,
            record=events.append,
            workers=4,
            clock=LoopClock(),
        )

    def pod(self, name: str, *, owner: dict[str, Any] | None = None, group: str = "", **labels: str) -> Pod:
        """Create a pod, or change it, and let the controller see it."""
        body: dict[str, Any] = {
            "metadata": {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": labels},
            "spec": {"schedulerName": "volcano", "containers": [{"resources": {"requests": {"cpu": "1"}}}]},
        }
        if owner:
            body["metadata"]["ownerReferences"] = [owner]
        if group:
            body["metadata"]["annotations"] = {GROUP_NAME: group}
        pod = msgspec.convert(self.api.put(f"{PODS}/{name}", body), Pod)
        self.controller.upsert("Pod", pod)
        return pod

    def workload(
        self,
        kind: str = "ReplicaSet",
        *,
        replicas: int = 3,
        revision: str = "",
        scheduler: str = "volcano",
        **annotations: str,
    ) -> None:
        keys = {"minimum": "scheduling.volcano.sh/group-min-member", "preemptable": "volcano.sh/preemptable"}
        body = {
            "metadata": {
                "name": "web",
                "namespace": "ns",
                "uid": "rs",
                "annotations": {keys[key]: value for key, value in annotations.items()},
            },
            "spec": {"replicas": replicas, "template": {"spec": {"schedulerName": scheduler}}},
            "status": {"updateRevision": revision},
        }
        self.controller.upsert(kind, msgspec.convert(body, Workload))

    def see(self, name: str) -> None:
        """Let the controller see a PodGroup as it is."""
        self.controller.upsert("PodGroup", msgspec.convert(self.api.objects[f"{GROUPS}/{name}"], PodGroup))

    def lose(self, name: str) -> None:
        """A user deletes the PodGroup."""
        gone = self.api.objects.pop(f"{GROUPS}/{name}")
        self.controller.delete("PodGroup", msgspec.convert(gone, PodGroup))

    def group(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.api.objects[f"{GROUPS}/{name}"]
        return found

    def named(self, pod: str) -> str:
        """The group that the pod names."""
        name: str = self.api.objects[f"{PODS}/{pod}"]["metadata"].get("annotations", {}).get(GROUP_NAME, "")
        return name


@pytest.fixture
def cluster(api: Any, events: list[Event]) -> Cluster:
    return Cluster(api, events)


async def test_a_bare_pod_gets_a_group_and_names_it(cluster: Cluster) -> None:
    cluster.pod("solo")
    await cluster.settle()
    assert cluster.group("podgroup-uid-solo")["spec"]["minMember"] == 1
    assert cluster.named("solo") == "podgroup-uid-solo"
    assert cluster.api.requests == [f"POST {GROUPS}", f"PATCH {PODS}/solo"]


async def test_pods_of_one_owner_get_one_group_with_one_request(cluster: Cluster) -> None:
    cluster.workload(minimum="3")
    for number in range(20):
        cluster.pod(f"web-{number}", owner=REPLICA_SET)
    await cluster.settle()
    assert cluster.group("podgroup-rs")["spec"]["minMember"] == 3
    assert {cluster.named(f"web-{number}") for number in range(20)} == {"podgroup-rs"}
    assert (cluster.api.count("POST"), cluster.api.count("PATCH")) == (1, 20)


async def test_what_the_watch_brings_back_costs_no_request(cluster: Cluster) -> None:
    cluster.pod("solo")
    await cluster.settle()
    before = len(cluster.api.requests)
    cluster.see("podgroup-uid-solo")
    cluster.pod("solo", group="podgroup-uid-solo")
    await cluster.settle()
    assert len(cluster.api.requests) == before


async def test_an_old_view_of_a_pod_does_not_write_it_twice(cluster: Cluster) -> None:
    pod = cluster.pod("solo")
    await cluster.settle()
    cluster.controller.upsert("Pod", pod)  # a late event from before the annotation
    await cluster.settle()
    assert cluster.api.requests[2:] == [f"PATCH {PODS}/solo", f"GET {PODS}/solo"]
    assert cluster.named("solo") == "podgroup-uid-solo"


async def test_pods_of_others_and_pods_with_a_group_are_left_alone(cluster: Cluster) -> None:
    cluster.pod("gang-0", group="my-gang")
    foreign = msgspec.convert({"metadata": {"name": "x"}, "spec": {"schedulerName": "default-scheduler"}}, Pod)
    cluster.controller.upsert("Pod", foreign)
    await cluster.settle()
    assert cluster.api.requests == []


async def test_a_group_given_by_hand_meanwhile_is_kept(cluster: Cluster) -> None:
    cluster.pod("solo")
    by_hand = {**cluster.api.objects[f"{PODS}/solo"]}
    by_hand["metadata"] = {**by_hand["metadata"], "annotations": {GROUP_NAME: "by-hand"}}
    cluster.api.put(f"{PODS}/solo", by_hand)
    await cluster.settle()
    assert cluster.named("solo") == "by-hand"


async def test_a_pod_that_changed_meanwhile_is_written_in_its_new_version(cluster: Cluster) -> None:
    cluster.pod("solo")
    cluster.api.put(f"{PODS}/solo", {**cluster.api.objects[f"{PODS}/solo"], "status": {"phase": "Pending"}})
    await cluster.settle()
    assert cluster.named("solo") == "podgroup-uid-solo"
    assert cluster.api.requests[1:] == [f"PATCH {PODS}/solo", f"GET {PODS}/solo", f"PATCH {PODS}/solo"]


async def test_a_pod_that_is_gone_is_no_failure(cluster: Cluster, events: list[Event]) -> None:
    cluster.pod("solo")
    del cluster.api.objects[f"{PODS}/solo"]
    await cluster.settle()
    assert cluster.api.count("PATCH") == 1
    assert events == []


async def test_a_namesake_that_came_later_is_not_written(cluster: Cluster) -> None:
    cluster.pod("solo")
    later = cluster.api.put(f"{PODS}/solo", {"metadata": {"name": "solo", "namespace": "ns", "uid": "later"}})
    await cluster.settle()
    assert "annotations" not in later["metadata"]


async def test_a_restart_between_group_and_pod_finishes_the_work(cluster: Cluster, events: list[Event]) -> None:
    cluster.pod("solo")
    await cluster.settle()
    again = Cluster(cluster.api, events)
    again.pod("solo")  # the annotation was never written
    await again.settle()
    assert again.named("solo") == "podgroup-uid-solo"
    assert again.api.requests[2:] == [f"POST {GROUPS}", f"GET {GROUPS}/podgroup-uid-solo", f"PATCH {PODS}/solo"]


async def test_two_replicas_at_once_agree(cluster: Cluster, events: list[Event]) -> None:
    other = Cluster(cluster.api, events)
    cluster.api.latency = 0.01
    for number in range(10):
        pod = cluster.pod(f"p-{number}")
        other.controller.upsert("Pod", pod)
    async with cluster.running() as one, other.running() as two:
        await asyncio.gather(one.idle(), two.idle())
    assert {cluster.named(f"p-{number}") for number in range(10)} == {f"podgroup-uid-p-{n}" for n in range(10)}
    assert sum(path.startswith(GROUPS) for path in cluster.api.objects) == 10
    assert events == []


async def test_without_the_lease_nothing_is_written_and_with_it_everything_is(cluster: Cluster) -> None:
    cluster.leads = False
    cluster.pod("solo")
    async with cluster.running() as controller:
        await controller.idle()
        assert cluster.api.requests == []
        cluster.leads = True
        controller.leadership_gained()
        await controller.idle()
    assert cluster.named("solo") == "podgroup-uid-solo"


async def test_an_unreachable_server_is_asked_again(cluster: Cluster, events: list[Event]) -> None:
    cluster.pod("solo")
    cluster.api.refuse("POST", "podgroups", *[UnreachableError("POST", GROUPS, "reset")] * 3)
    cluster.api.refuse("PATCH", "pods", api_error("PATCH", PODS, 500, b""))
    await cluster.settle()
    assert cluster.named("solo") == "podgroup-uid-solo"
    assert events == []


async def test_one_pods_failure_does_not_hold_up_its_siblings(cluster: Cluster) -> None:
    for name in ("web-1", "web-2", "web-3"):
        cluster.pod(name, owner=REPLICA_SET)
    cluster.api.refuse("PATCH", "web-1", api_error("PATCH", PODS, 500, b""))
    await cluster.settle()
    patched = [request for request in cluster.api.requests if request.startswith("PATCH")]
    assert patched == [f"PATCH {PODS}/{name}" for name in ("web-1", "web-2", "web-3", "web-1")]


async def test_a_refused_group_is_reported_on_the_pod(cluster: Cluster, events: list[Event]) -> None:
    cluster.pod("solo")
    refusal = api_error("POST", GROUPS, 422, b'{"message": "spec.queue: too long"}')
    cluster.api.refuse("POST", "podgroups", *[refusal] * 12)
    await cluster.settle()
    assert [event.message for event in events] == [
        f"PodGroup ns/podgroup-uid-solo cannot be written: POST {GROUPS}: 422: spec.queue: too long"
    ] * 2  # at the first failure and at the tenth
    assert events[0].about == ObjectRef("Pod", "ns", "solo", "uid-solo")
    assert (events[0].type, events[0].reason) == ("Warning", "PodGroupError")
    assert cluster.named("solo") == "podgroup-uid-solo"


async def test_an_annotation_that_cannot_be_read_is_reported_on_the_pod(cluster: Cluster, events: list[Event]) -> None:
    cluster.workload(minimum="many")
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    (event,) = events
    assert "group-min-member is 'many': write a number, 0 or more" in event.message


async def test_the_namespaces_queue_is_taken(cluster: Cluster) -> None:
    annotations = {"scheduling.volcano.sh/queue-name": "team-a"}
    cluster.controller.upsert("Namespace", Namespace(metadata=ObjectMeta(name="ns", annotations=annotations)))
    cluster.pod("solo")
    await cluster.settle()
    assert cluster.group("podgroup-uid-solo")["spec"]["queue"] == "team-a"
    cluster.controller.replace("Namespace", [])
    cluster.pod("other")
    await cluster.settle()
    assert cluster.group("podgroup-uid-other")["spec"]["queue"] == "default"


async def test_an_owner_that_was_not_seen_yet_is_asked_for(cluster: Cluster) -> None:
    annotations = {"scheduling.volcano.sh/group-min-member": "4"}
    path = "/apis/apps/v1/namespaces/ns/replicasets/web"
    cluster.api.put(path, {"metadata": {"uid": "rs", "annotations": annotations}})
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    assert cluster.group("podgroup-rs")["spec"]["minMember"] == 4


@pytest.mark.parametrize("status", [404, 403, 200])
async def test_an_owner_that_cannot_be_read_or_is_another_gives_nothing(cluster: Cluster, status: int) -> None:
    path = "/apis/apps/v1/namespaces/ns/replicasets/web"
    if status == 200:
        annotations = {"scheduling.volcano.sh/group-min-member": "4"}
        cluster.api.put(path, {"metadata": {"uid": "another", "annotations": annotations}})
    elif status == 403:
        cluster.api.refuse("GET", "replicasets", api_error("GET", path, 403, b""))
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    assert cluster.group("podgroup-rs")["spec"]["minMember"] == 1
    assert cluster.named("web-1") == "podgroup-rs"


async def test_nothing_is_asked_of_the_owner_when_inheriting_is_off(api: Any, events: list[Event]) -> None:
    cluster = Cluster(api, events, inherit_owner_annotations=False)
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    assert api.count("GET") == 0


async def test_an_owner_without_replicas_has_no_group(cluster: Cluster) -> None:
    cluster.workload()
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    cluster.workload(replicas=0)
    await cluster.settle()
    assert f"{GROUPS}/podgroup-rs" not in cluster.api.objects
    cluster.pod("web-1", owner=REPLICA_SET, group="podgroup-rs")  # still terminating
    await cluster.settle()
    assert f"{GROUPS}/podgroup-rs" not in cluster.api.objects


async def test_a_namespace_that_is_being_deleted_takes_no_groups_and_gives_no_warnings(
    cluster: Cluster, events: list[Event]
) -> None:
    body = b'{"reason": "Forbidden", "details": {"causes": [{"reason": "NamespaceTerminating"}]}}'
    cluster.api.refuse_all("POST", "podgroups", api_error("POST", GROUPS, 403, body))
    cluster.pod("solo")
    with capture_logs() as logs:
        async with cluster.running():
            await asyncio.sleep(60)
    assert {entry["log_level"] for entry in logs if entry["event"] == "PodGroup not written yet"} == {"debug"}
    assert events == []


async def test_the_group_of_another_schedulers_owner_is_left_alone(cluster: Cluster) -> None:
    """Without replicas, too: the other scheduler's controller looks after it."""
    cluster.workload(scheduler="default-scheduler")
    cluster.api.put(f"{GROUPS}/podgroup-rs", {"metadata": {"name": "podgroup-rs", "namespace": "ns", "uid": "other"}})
    cluster.see("podgroup-rs")
    await cluster.settle()
    cluster.workload(replicas=0, scheduler="default-scheduler")
    await cluster.settle()
    assert cluster.api.requests == []


async def test_owners_without_replicas_and_without_group_cost_nothing(cluster: Cluster) -> None:
    cluster.workload(replicas=0)
    await cluster.settle()
    assert cluster.api.requests == []


async def test_a_group_of_a_later_namesake_is_not_deleted(cluster: Cluster) -> None:
    cluster.workload()
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    cluster.api.put(f"{GROUPS}/podgroup-rs", {"metadata": {"name": "podgroup-rs", "namespace": "ns", "uid": "later"}})
    cluster.workload(replicas=0)
    await cluster.settle()
    assert cluster.group("podgroup-rs")["metadata"]["uid"] == "later"


async def test_a_conflict_is_no_proof_that_the_group_is_gone(cluster: Cluster) -> None:
    """An admission webhook may refuse a deletion with any code."""
    cluster.workload()
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    cluster.api.refuse("DELETE", "/podgroups", api_error("DELETE", GROUPS, 409, b'{"reason": "Conflict"}'))
    cluster.workload(replicas=0)
    await cluster.settle()
    assert f"{GROUPS}/podgroup-rs" not in cluster.api.objects


async def test_an_owner_scaled_up_again_gets_its_group_again(cluster: Cluster) -> None:
    cluster.workload()
    first = cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    cluster.workload(replicas=0)
    cluster.controller.delete("Pod", first)
    await cluster.settle()
    cluster.workload(replicas=2, minimum="2")
    cluster.pod("web-2", owner=REPLICA_SET)
    await cluster.settle()
    assert cluster.group("podgroup-rs")["spec"]["minMember"] == 2
    assert cluster.named("web-2") == "podgroup-rs"


async def test_a_group_follows_its_owner(cluster: Cluster) -> None:
    cluster.workload()
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    cluster.workload(minimum="2", preemptable="true")
    await cluster.settle()
    group = cluster.group("podgroup-rs")
    assert group["spec"]["minMember"] == 2
    assert group["spec"]["minResources"]["cpu"] == "2"
    assert group["metadata"]["annotations"] == {"volcano.sh/preemptable": "true"}


async def test_an_edit_that_cannot_be_read_is_reported_once(cluster: Cluster, events: list[Event]) -> None:
    cluster.workload(minimum="2")
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    for generation in ("many", "many"):
        cluster.workload(minimum=generation)
        await cluster.settle()
    assert cluster.group("podgroup-rs")["spec"]["minMember"] == 1
    (event,) = events
    assert "group-min-member is 'many': write a number, 0 or more" in event.message


async def test_an_owner_whose_status_alone_changes_is_not_looked_at(cluster: Cluster) -> None:
    cluster.workload()
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    cluster.workload()
    assert cluster.controller.backlog == 0


async def test_a_stateful_sets_group_follows_the_newest_revision(cluster: Cluster) -> None:
    owner = {**REPLICA_SET, "kind": "StatefulSet"}
    cluster.workload("StatefulSet", revision="r1")
    cluster.pod("web-0", owner=owner, **{"controller-revision-hash": "r1"})
    await cluster.settle()
    # No pod of the newest revision yet: nothing stands for the set.
    cluster.workload("StatefulSet", revision="r2", minimum="2")
    await cluster.settle()
    assert cluster.group("podgroup-rs")["spec"]["minMember"] == 1
    cluster.pod("web-1", owner=owner, **{"controller-revision-hash": "r2"})
    await cluster.settle()
    assert cluster.group("podgroup-rs")["spec"]["minMember"] == 2


async def test_a_group_replaced_by_a_namesake_is_read_again_before_it_is_changed(cluster: Cluster) -> None:
    cluster.workload()
    cluster.pod("web-1", owner=REPLICA_SET)
    await cluster.settle()
    later = {"metadata": {"name": "podgroup-rs", "namespace": "ns", "uid": "later"}, "spec": {"minMember": 1}}
    cluster.api.put(f"{GROUPS}/podgroup-rs", later)
    cluster.workload(minimum="2")
    await cluster.settle()
    assert cluster.group("podgroup-rs")["metadata"]["uid"] == "later"
    assert cluster.group("podgroup-rs")["spec"]["minMember"] == 2


async def test_workloads_with_groups_of_their_own_are_left_alone(cluster: Cluster) -> None:
    owner = {**REPLICA_SET, "kind": "StatefulSet"}
    cluster.workload("StatefulSet", minimum="2")
    cluster.pod("leader-0", owner=owner, group="leader-worker-set")
    await cluster.settle()
    assert cluster.api.requests == []


async def test_a_group_deleted_under_its_pods_is_created_again(cluster: Cluster) -> None:
    cluster.pod("solo")
    await cluster.settle()
    cluster.pod("solo", group="podgroup-uid-solo")
    cluster.lose("podgroup-uid-solo")
    await cluster.settle()
    assert cluster.group("podgroup-uid-solo")["spec"]["minMember"] == 1
    assert cluster.api.count("POST") == 2


async def test_a_group_deleted_along_with_its_pods_is_not_created_again(cluster: Cluster) -> None:
    cluster.pod("solo")
    await cluster.settle()
    cluster.lose("podgroup-uid-solo")
    cluster.controller.delete("Pod", cluster.pod("solo", group="podgroup-uid-solo"))
    await cluster.settle()
    assert cluster.api.count("POST") == 1


async def test_a_late_deletion_of_an_earlier_group_is_ignored(cluster: Cluster) -> None:
    cluster.pod("solo")
    await cluster.settle()
    earlier = PodGroup(metadata=ObjectMeta(name="podgroup-uid-solo", namespace="ns", uid="earlier"))
    cluster.controller.delete("PodGroup", earlier)
    assert cluster.controller.backlog == 0


async def test_after_a_restart_pods_that_have_groups_cost_no_request(api: Any, events: list[Event]) -> None:
    cluster = Cluster(api, events)
    for number in range(50):
        cluster.pod(f"p-{number}")
    await cluster.settle()
    before = len(api.requests)
    again = Cluster(api, events)
    items = list(api.objects.items())
    again.controller.replace("Pod", [msgspec.convert(obj, Pod) for path, obj in items if path.startswith(PODS)])
    again.controller.replace("PodGroup", [msgspec.convert(obj, PodGroup) for path, obj in items if GROUPS in path])
    await again.settle()
    assert len(api.requests) == before


async def test_a_new_list_forgets_what_is_not_in_it(cluster: Cluster) -> None:
    cluster.leads = False
    for name in ("kept", "gone"):
        cluster.pod(name)
    kept = msgspec.convert(cluster.api.objects[f"{PODS}/kept"], Pod)
    cluster.workload()
    cluster.controller.replace("Pod", [kept])
    cluster.controller.replace("ReplicaSet", [])
    cluster.controller.replace("PodGroup", [])
    cluster.leads = True
    await cluster.settle()
    assert cluster.api.requests == [f"POST {GROUPS}", f"PATCH {PODS}/kept"]


async def test_a_namesake_with_another_owner_moves_to_its_own_group(cluster: Cluster) -> None:
    cluster.leads = False
    cluster.pod("web-1")
    cluster.pod("web-1", owner=REPLICA_SET)
    cluster.leads = True
    await cluster.settle()
    assert [path for path in cluster.api.objects if GROUPS in path] == [f"{GROUPS}/podgroup-rs"]


async def test_no_more_requests_are_in_flight_than_allowed(cluster: Cluster) -> None:
    in_flight, most = 0, 0
    cluster.api.latency = 0.01

    for number in range(40):
        cluster.pod(f"web-{number}", owner=REPLICA_SET)
    plain = cluster.api.patch

    async def counted(path: ApiPath, body: Any) -> bytes:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        try:
            answer: bytes = await plain(path, body)
            return answer
        finally:
            in_flight -= 1

    cluster.api.patch = counted
    await cluster.settle()
    assert most == 4
