"""Kubernetes' controller of ResourceClaims, played: claims of templates, and what becomes of users that have left."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.support.sessions import NAMESPACE, pod
from tests.unit.cluster.fakes import DeafSink
from volcano_py.api.devices.claims import (
    DELETE_PROTECTION,
    EXTENDED_CLAIM,
    POD_CLAIM_NAME,
    AllocatedDevices,
    Allocation,
    ClaimMeta,
    Consumer,
    DeviceClaim,
    DeviceRequest,
    DeviceResult,
    ExactDeviceRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
    ResourceClaimTemplate,
    TemplateSpec,
)
from volcano_py.api.effects import Bind, DeviceBinding, Evict, ExtendedClaim, ObjectRef, ReleaseDevices
from volcano_py.api.objects import (
    ApiObject,
    ContainerRequest,
    ExtendedClaimStatus,
    ObjectMeta,
    OwnerReference,
    Pod,
    PodClaimStatus,
)
from volcano_py.cluster.memory import MemoryCluster

GPU = ResourceClaimSpec(
    devices=DeviceClaim(requests=[DeviceRequest(name="gpu", exactly=ExactDeviceRequest(device_class_name="gpu"))])
)
TEMPLATE = ResourceClaimTemplate(
    metadata=ObjectMeta(namespace=NAMESPACE, name="one-gpu"),
    spec=TemplateSpec(metadata=ObjectMeta(labels={"team": "a"}, annotations={"note": "x"}), spec=GPU),
)
FIRST = Allocation(
    devices=AllocatedDevices(results=[DeviceResult(request="gpu", driver="d", pool="n1", device="gpu-0")])
)


def cluster(*objects: ApiObject) -> MemoryCluster:
    """A cluster whose controller has run once."""
    made = MemoryCluster(DeafSink())
    for each in objects:
        made.put(type(each).__name__, each)
    made.settle_devices()
    return made


def using(name: str, *entries: dict[str, Any], **fields: Any) -> Pod:
    made = pod(name, **fields)
    return replace(made, spec=replace(made.spec, resource_claims=list(entries)))


def by_template(name: str = "p", **fields: Any) -> Pod:
    return using(name, {"name": "gpu", "resourceClaimTemplateName": "one-gpu"}, **fields)


def claim(name: str = "shared", *users: str, allocation: Allocation | None = None, **meta: Any) -> ResourceClaim:
    return ResourceClaim(
        metadata=ClaimMeta(namespace=NAMESPACE, name=name, uid=f"claim-{name}", **meta),
        spec=GPU,
        status=ResourceClaimStatus(allocation=allocation, reserved_for=[user(each) for each in users]),
    )


def user(name: str) -> Consumer:
    return Consumer(resource="pods", name=name, uid=pod(name).metadata.uid)


def claims(made: MemoryCluster) -> dict[str, ResourceClaim]:
    return {each.metadata.name: each for each in made.objects("ResourceClaim", ResourceClaim)}


def the_claim(made: MemoryCluster) -> ResourceClaim:
    (found,) = claims(made).values()
    return found


def the_pod(made: MemoryCluster, name: str = "p") -> Pod:
    found = made.get("Pod", f"{NAMESPACE}/{name}", Pod)
    assert found is not None
    return found


def bind(claim: ResourceClaim, allocation: Allocation | None = FIRST, name: str = "p") -> Bind:
    reference = ObjectRef("ResourceClaim", NAMESPACE, claim.metadata.name, claim.metadata.uid)
    return Bind(pod_ref(name), "n1", "team/g", devices=(DeviceBinding(reference, allocation),))


def pod_ref(name: str) -> ObjectRef:
    return ObjectRef("Pod", NAMESPACE, name, pod(name).metadata.uid)


def end(made: MemoryCluster, name: str = "p", phase: str = "Succeeded") -> None:
    found = the_pod(made, name)
    made.put("Pod", replace(found, status=replace(found.status, phase=phase)))
    made.settle_devices()


def test_a_claim_is_generated_from_the_template_and_named_in_the_status() -> None:
    made = cluster(TEMPLATE, by_template())
    found = the_claim(made)
    assert found.metadata.name.startswith("p-gpu-")
    assert found.spec == GPU
    assert found.metadata.labels == {"team": "a"}
    assert found.metadata.annotations == {"note": "x", POD_CLAIM_NAME: "gpu"}
    (owner,) = found.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == ("Pod", "p", the_pod(made).metadata.uid, True)
    expected = [PodClaimStatus(name="gpu", resource_claim_name=found.metadata.name)]
    assert the_pod(made).status.resource_claim_statuses == expected


def test_it_is_generated_once_and_has_the_same_name_every_time() -> None:
    made = cluster(TEMPLATE, by_template())
    before = made.changes
    made.settle_devices()
    assert made.changes == before
    assert claims(cluster(TEMPLATE, by_template())).keys() == claims(made).keys()


def test_a_pod_gets_a_claim_for_each_of_its_entries_that_needs_one() -> None:
    entries = [
        {"name": "a", "resourceClaimTemplateName": "one-gpu"},
        {"name": "b", "resourceClaimName": "shared"},
        {"name": "c", "resourceClaimTemplateName": "one-gpu"},
    ]
    made = cluster(TEMPLATE, claim(), using("p", *entries))
    statuses = the_pod(made).status.resource_claim_statuses
    assert [each.name for each in statuses] == ["a", "c"]
    assert {each.resource_claim_name for each in statuses} == claims(made).keys() - {"shared"}


def test_a_claim_that_exists_but_is_not_named_in_the_status_is_named_now() -> None:
    owner = OwnerReference(kind="Pod", name="p", uid=pod("p").metadata.uid, controller=True)
    made = cluster(
        TEMPLATE, by_template(), claim("p-gpu-x", annotations={POD_CLAIM_NAME: "gpu"}, owner_references=[owner])
    )
    assert claims(made).keys() == {"p-gpu-x"}
    (status,) = the_pod(made).status.resource_claim_statuses
    assert status.resource_claim_name == "p-gpu-x"


def test_a_pod_waits_for_a_template_that_is_missing() -> None:
    made = cluster(by_template())
    assert (claims(made), the_pod(made).status.resource_claim_statuses) == ({}, [])
    made.put("ResourceClaimTemplate", TEMPLATE)
    made.settle_devices()
    assert len(claims(made)) == 1


def test_pods_that_have_ended_or_are_being_deleted_get_no_claims() -> None:
    made = cluster(TEMPLATE, by_template("a", phase="Failed"), by_template("b", deleting=True))
    assert claims(made) == {}


def test_an_entry_that_needs_no_claim_gets_none() -> None:
    made = by_template()
    status = replace(made.status, resource_claim_statuses=[PodClaimStatus(name="gpu")])
    assert claims(cluster(TEMPLATE, replace(made, status=status))) == {}


def test_a_bound_pod_has_its_devices() -> None:
    made = cluster(TEMPLATE, by_template())
    made.apply([bind(the_claim(made))])
    found = the_claim(made)
    assert found.status == ResourceClaimStatus(allocation=FIRST, reserved_for=[user("p")])
    assert found.metadata.finalizers == [DELETE_PROTECTION]
    assert the_pod(made).spec.node_name == "n1"


def test_the_second_user_of_a_claim_changes_nothing_of_its_devices() -> None:
    made = cluster(claim(), pod("p"), pod("q"))
    made.apply([bind(the_claim(made)), bind(the_claim(made), None, "q")])
    assert the_claim(made).status == ResourceClaimStatus(allocation=FIRST, reserved_for=[user("p"), user("q")])


def test_a_claim_that_is_another_one_by_now_is_left_alone() -> None:
    made = cluster(claim(), pod("p"))
    other = replace(claim(), metadata=replace(claim().metadata, uid="old"))
    made.apply([bind(other)])
    assert the_claim(made) == claim()


def test_a_claim_loses_its_devices_with_its_last_user() -> None:
    made = cluster(claim("shared", "p", "q", allocation=FIRST), pod("p"), pod("q"))
    end(made)
    assert the_claim(made).status == ResourceClaimStatus(allocation=FIRST, reserved_for=[user("q")])
    made.remove("Pod", f"{NAMESPACE}/q")
    made.settle_devices()
    assert the_claim(made).status == ResourceClaimStatus()


def test_a_namesake_is_no_user() -> None:
    stranger = Consumer(resource="pods", name="p", uid="old")
    shared = replace(claim(), status=ResourceClaimStatus(allocation=FIRST, reserved_for=[stranger]))
    assert the_claim(cluster(shared, pod("p"))).status == ResourceClaimStatus()


def test_users_that_are_no_pods_stay() -> None:
    other = Consumer(api_group="scheduling.k8s.io", resource="podgroups", name="g", uid="g")
    shared = replace(claim(), status=ResourceClaimStatus(allocation=FIRST, reserved_for=[other]))
    assert the_claim(cluster(shared)) == shared


def test_devices_without_users_stay_allocated() -> None:
    """Only the last user takes them along; an administrator may have allocated them."""
    assert the_claim(cluster(claim(allocation=FIRST))).status.allocation == FIRST


def test_a_generated_claim_goes_with_its_pod() -> None:
    made = cluster(TEMPLATE, by_template(), by_template("q"), claim())
    made.apply([bind(next(each for each in claims(made).values() if each.metadata.name.startswith("p-")))])
    end(made)
    made.remove("Pod", f"{NAMESPACE}/q")
    made.settle_devices()
    assert claims(made).keys() == {"shared"}


def test_a_claim_that_is_being_deleted_goes_when_nobody_uses_it() -> None:
    born = pod("p").metadata.creation_timestamp
    made = cluster(claim("shared", "p", allocation=FIRST, deletion_timestamp=born), pod("p"))
    assert claims(made).keys() == {"shared"}
    end(made)
    assert claims(made) == {}


def test_the_devices_of_an_evicted_pod_are_free_when_it_is_gone() -> None:
    made = cluster(claim("shared", "p", allocation=FIRST), pod("p", on="n1"))
    made.apply([Evict(pod_ref("p"), None, "preempt", "for q")])
    made.settle_devices()
    assert the_claim(made).status.allocation == FIRST
    made.settle()
    assert the_claim(made).status == ResourceClaimStatus()


def test_what_is_undone_has_its_devices_again() -> None:
    made = cluster(TEMPLATE, by_template())
    made.apply([bind(the_claim(made))])
    saved, before = made.saved(), claims(made)
    end(made)
    assert claims(made) == {}
    made.restore(saved)
    made.settle_devices()
    assert claims(made) == before


# -- claims of pods that wait ------------------------------------------------------------------------------------------


def release(*pods: str) -> ReleaseDevices:
    return ReleaseDevices(ObjectRef("ResourceClaim", NAMESPACE, "shared", "claim-shared"), tuple(map(pod_ref, pods)))


def test_a_claim_that_only_waiting_pods_have_loses_its_devices() -> None:
    made = cluster(claim("shared", "p", allocation=FIRST), pod("p"), pod("q"))
    made.apply([release("p", "q")])
    assert the_claim(made).status == ResourceClaimStatus()


def test_a_claim_that_another_pod_or_one_with_a_node_has_keeps_them() -> None:
    for others, node in (("pq", ""), ("p", "n1")):
        made = cluster(claim("shared", *others, allocation=FIRST), pod("p", on=node, phase="Pending"), pod("q"))
        made.apply([release("p")])
        assert the_claim(made).status.allocation == FIRST


def test_a_claim_that_was_replaced_keeps_them_too() -> None:
    made, effect = cluster(claim("shared", allocation=FIRST)), release()
    made.apply([replace(effect, claim=replace(effect.claim, uid="of-before"))])
    assert the_claim(made).status.allocation == FIRST


# -- extended resources --------------------------------------------------------------------------------------------


REQUEST = "container-0-request-0"
MAPPING = ContainerRequest(container_name="main", resource_name="example.com/gpu", request_name=REQUEST)


def bound_with(reference: ObjectRef, allocation: Allocation | None) -> Bind:
    ref = ObjectRef("Pod", NAMESPACE, "p", pod("p").metadata.uid)
    extended = ExtendedClaim(((REQUEST, "gpu", 1),), (MAPPING,))
    return Bind(ref, "n1", "team/g", devices=(DeviceBinding(reference, allocation, extended),))


def owned(name: str, **status: Any) -> ResourceClaim:
    owner = OwnerReference(kind="Pod", name="p", uid=pod("p").metadata.uid, controller=True)
    return claim(name, annotations={EXTENDED_CLAIM: "true"}, owner_references=[owner], **status)


def test_a_pod_gets_a_claim_for_its_extended_resources_and_names_it() -> None:
    made = cluster(pod("p"), owned("left"), claim("other"))
    made.apply([bound_with(ObjectRef("ResourceClaim", NAMESPACE, "to be made", ""), FIRST)])
    found = claims(made)
    (name,) = found.keys() - {"other"}
    assert name.startswith("p-extended-resources-")
    assert (found[name].status.allocation, [each.name for each in found[name].status.reserved_for]) == (FIRST, ["p"])
    (request,) = found[name].spec.devices.requests
    assert request.exactly is not None
    assert (request.name, request.exactly.device_class_name) == (REQUEST, "gpu")
    running = made.get("Pod", f"{NAMESPACE}/p", Pod)
    assert running is not None
    assert running.spec.node_name == "n1"
    assert running.status.extended_resource_claim_status == ExtendedClaimStatus(
        request_mappings=[MAPPING], resource_claim_name=name
    )
    made.settle()
    assert claims(made).keys() == {name, "other"}
    made.remove("Pod", f"{NAMESPACE}/p")
    made.settle()
    assert claims(made).keys() == {"other"}, "it goes with its pod"


def test_a_claim_that_was_left_with_its_devices_is_named() -> None:
    made = cluster(pod("p"), owned("left", allocation=FIRST))
    made.apply([bound_with(ObjectRef("ResourceClaim", NAMESPACE, "left", "claim-left"), None)])
    running = made.get("Pod", f"{NAMESPACE}/p", Pod)
    assert running is not None
    assert running.status.extended_resource_claim_status is not None
    assert running.status.extended_resource_claim_status.resource_claim_name == "left"
    assert claims(made).keys() == {"left"}


def test_a_claim_that_is_released_goes_and_its_pod_names_it_no_more() -> None:
    ref = ObjectRef("Pod", NAMESPACE, "p", pod("p").metadata.uid)
    named = ExtendedClaimStatus(request_mappings=[MAPPING], resource_claim_name="left")
    waiting = pod("p")
    waiting = replace(waiting, status=replace(waiting.status, extended_resource_claim_status=named))
    made = cluster(waiting, owned("left", allocation=FIRST))
    made.apply([ReleaseDevices(ObjectRef("ResourceClaim", NAMESPACE, "left", "claim-left"), (ref,))])
    found = made.get("Pod", f"{NAMESPACE}/p", Pod)
    assert found is not None
    assert (claims(made), found.status.extended_resource_claim_status) == ({}, None)
