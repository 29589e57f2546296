"""A pod gets a claim for its extended resources before it is bound, and loses it if it is not bound."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from tests.unit.cluster.device_bench import CLAIMS, PODS, ClaimServer, DeviceBench, devices, user, written
from tests.unit.cluster.fakes import FakeApi, Reply, Request, eventually, pod_ref, refusal, settle
from volcano_py.api.devices.claims import DELETE_PROTECTION
from volcano_py.api.effects import Bind, DeviceBinding, ExtendedClaim, ObjectRef, ReleaseDevices
from volcano_py.api.objects import ContainerRequest

RESOURCE = "example.com/gpu"
REQUEST = "container-0-request-1"
MADE = "a-extended-resources-x7k2p"
MAPPING = ContainerRequest(container_name="main", resource_name=RESOURCE, request_name=REQUEST)
NAMED = {
    "metadata": {"uid": "uid-a"},
    "status": {
        "extendedResourceClaimStatus": {
            "requestMappings": [{"containerName": "main", "resourceName": RESOURCE, "requestName": REQUEST}],
            "resourceClaimName": MADE,
        }
    },
}


def bind(uid: str = "", name: str = "extended resources of uid-a") -> Bind:
    extended = ExtendedClaim(((REQUEST, "gpu", 2),) if not uid else (), (MAPPING,))
    reference = ObjectRef("ResourceClaim", "ns", name, uid)
    binding = DeviceBinding(reference, None if uid else devices("gpu-0", "gpu-1"), extended)
    return Bind(pod_ref("a"), "node-1", "ns/gang", devices=(binding,))


@pytest.fixture
def server(api: FakeApi, claims: ClaimServer) -> ClaimServer:
    """Creates claims, and takes the status of pods."""
    claims.claims.clear()

    def create(request: Request) -> Reply:
        name = request.body["metadata"]["generateName"] + "x7k2p"
        claims.add(name)
        claims.claims[name] |= {"spec": request.body["spec"]}
        api.on("DELETE", f"{CLAIMS}/{name}", lambda _request: _delete(claims, name))
        return Reply(201, claims.claims[name])

    api.on("POST", CLAIMS, create)
    api.on("PATCH", f"{PODS}/a/status", Reply())
    api.on("GET", f"{PODS}/a", Reply(body={"metadata": {"name": "a", "uid": "uid-a"}}))
    return claims


def _deleted(claims: ClaimServer, name: str, _request: Request) -> Reply:
    return _delete(claims, name)


def _delete(claims: ClaimServer, name: str) -> Reply:
    if claims.claims[name]["metadata"]["finalizers"]:
        return Reply(body=claims.claims[name])
    del claims.claims[name]
    claims.log.append(f"{name} deleted")
    return Reply()


async def test_the_claim_is_created_gets_its_devices_and_the_pod_names_it(
    api: FakeApi, server: ClaimServer, device_bench: DeviceBench
) -> None:
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"])

    (created,) = api.sent("POST")
    assert created.body == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "generateName": "a-extended-resources-",
            "namespace": "ns",
            "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "uid-a", "controller": True}],
        },
        "spec": {"devices": {"requests": [{"name": REQUEST, "exactly": {"deviceClassName": "gpu", "count": 2}}]}},
    }
    assert (server.users(MADE), server.allocation(MADE)) == (["a"], written("gpu-0", "gpu-1"))
    assert server.claims[MADE]["metadata"]["finalizers"] == [DELETE_PROTECTION]
    assert [each.body for each in api.sent("PATCH", f"{PODS}/a/status")] == [NAMED]
    assert api.sent("GET") == [], "what was created need not be read"
    assert api.requests[-1].path == f"{PODS}/a/status", "the pod names a claim that has its devices"
    device_bench.binder.bound(bind(), 0.0)
    await settle()
    assert ([*server.claims], device_bench.binder.waiting) == ([MADE], 0)


async def test_a_claim_that_has_its_devices_already_is_only_named(
    api: FakeApi, server: ClaimServer, device_bench: DeviceBench
) -> None:
    """A scheduler was stopped before the pod's status said so."""
    server.protected(MADE, allocation=written("gpu-0"), reservedFor=[user("a")])
    device_bench.binder.submit([bind(f"uid-{MADE}", MADE)])
    await eventually(lambda: device_bench.ready == ["a"])
    assert (api.sent("POST"), server.log) == ([], [])
    assert [each.body for each in api.sent("PATCH")] == [NAMED]


async def test_if_the_pod_is_not_bound_its_claim_is_deleted_before_that_is_reported(
    api: FakeApi, server: ClaimServer, device_bench: DeviceBench
) -> None:
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"])
    device_bench.binder.bind_failed(bind(), RuntimeError("no"), gone=False)
    assert await device_bench.failed() == "no"
    assert server.claims == {}
    assert server.log[-1] == f"{MADE} deleted"
    status = api.sent("PATCH", f"{PODS}/a/status")[-1].body
    assert status == {"metadata": {"uid": "uid-a"}, "status": {"extendedResourceClaimStatus": None}}


async def test_a_pod_that_is_gone_needs_no_status(api: FakeApi, server: ClaimServer, device_bench: DeviceBench) -> None:
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"])
    api.on("PATCH", f"{PODS}/a/status", refusal(404, "NotFound"))
    device_bench.binder.bind_failed(bind(), RuntimeError("no"), gone=False)
    assert await device_bench.failed() == "no"
    assert server.claims == {}


@pytest.mark.parametrize("failing", ["the claim's status", "the pod's status"])
async def test_a_claim_without_a_use_is_deleted(
    api: FakeApi, server: ClaimServer, device_bench: DeviceBench, failing: str
) -> None:
    path = f"{CLAIMS}/{MADE}/status" if failing == "the claim's status" else f"{PODS}/a/status"
    if failing == "the claim's status":
        server.add(MADE)  # (its answers are those of the claim that is created)

        def create(_request: Request) -> Reply:
            return Reply(201, server.claims[MADE])

        api.on("POST", CLAIMS, create)
        api.on("DELETE", f"{CLAIMS}/{MADE}", lambda _request: _delete(server, MADE))
    api.on("PATCH", path, refusal(422, "Invalid", "not so"))
    device_bench.binder.submit([bind()])
    assert "not so" in await device_bench.failed()
    assert (server.claims, device_bench.ready) == ({}, [])


async def test_if_no_claim_can_be_created_the_pod_waits(
    api: FakeApi, server: ClaimServer, device_bench: DeviceBench
) -> None:
    api.on("POST", CLAIMS, refusal(403, "Forbidden", "exceeded quota"))
    device_bench.binder.submit([bind()])
    assert "exceeded quota" in await device_bench.failed()
    assert api.sent("DELETE") == []


async def test_what_is_left_of_an_earlier_attempt_goes_first(
    api: FakeApi, server: ClaimServer, device_bench: DeviceBench
) -> None:
    """One that is gone already, and one of another pod that has got its name, are passed over."""
    server.protected("left", allocation=written("gpu-0"), reservedFor=[user("a")])
    server.add("another")
    for name in ("left", "another"):
        api.on("DELETE", f"{CLAIMS}/{name}", partial(_deleted, server, name))
    names: list[tuple[str, Any]] = [("left", "uid-left"), ("another", "uid-before"), ("gone", "uid-gone")]
    device_bench.left["uid-a"] = [ObjectRef("ResourceClaim", "ns", name, uid) for name, uid in names]
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"])
    assert server.claims.keys() == {"another", MADE}
    (deleted,) = api.sent("DELETE")
    assert (deleted.path, deleted.body["preconditions"]) == (f"{CLAIMS}/left", {"uid": "uid-left"})
    assert server.log.index("left deleted") < server.log.index(MADE)


async def test_a_claim_that_is_released_goes_and_its_pod_names_it_no_more(
    api: FakeApi, server: ClaimServer, device_bench: DeviceBench
) -> None:
    """The pod waits; on its next node it may need none."""
    server.protected("left", allocation=written("gpu-0"), reservedFor=[user("a")])
    server.claims["left"]["metadata"] |= {
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [{"kind": "Pod", "name": "a", "uid": "uid-a", "controller": True}],
    }
    api.on("DELETE", f"{CLAIMS}/left", partial(_deleted, server, "left"))
    device_bench.binder.release([ReleaseDevices(ObjectRef("ResourceClaim", "ns", "left", "uid-left"), (pod_ref("a"),))])
    await eventually(lambda: device_bench.binder.waiting == 0)
    assert (server.claims, server.log) == ({}, ["left/status", "left", "left deleted"])
    (status,) = [each.body["status"] for each in api.sent("PATCH", f"{PODS}/a/status")]
    assert status == {"extendedResourceClaimStatus": None}


async def test_nothing_is_created_by_a_scheduler_that_does_not_lead(
    api: FakeApi, server: ClaimServer, device_bench: DeviceBench
) -> None:
    device_bench.leads = False
    device_bench.binder.submit([bind()])
    assert "claims" in await device_bench.failed()
    assert api.requests == []
