"""A claim that only waiting pods have loses its devices, and no other one does."""

from __future__ import annotations

import pytest

from tests.unit.cluster.device_bench import CLAIMS, PODS, ClaimServer, DeviceBench, bind, gets, user, written
from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    Reply,
    Request,
    eventually,
    pod,
    pod_ref,
    refusal,
)
from volcano_py.api.effects import ObjectRef, ReleaseDevices
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.live import LiveCluster


@pytest.fixture(autouse=True)
def _pods(api: FakeApi) -> None:
    for name in "ab":
        api.on("GET", f"{PODS}/{name}", Reply(body=pod(name, 7)))


def release(*pods: str, uid: str = "uid-gpus") -> ReleaseDevices:
    return ReleaseDevices(ObjectRef("ResourceClaim", "ns", "gpus", uid), tuple(map(pod_ref, pods)))


def held(claims: ClaimServer, *pods: str) -> None:
    """The claim has a device, and these may use it."""
    claims.protected(allocation=written("gpu-1"), reservedFor=[user(each) for each in pods])


async def carried_out(bench: DeviceBench, *effects: ReleaseDevices) -> None:
    bench.binder.release(effects)
    await eventually(lambda: bench.binder.waiting == 0, bench.clock)


async def test_allocation_and_reservations_are_cleared_in_one_write(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    held(claims, "a", "b")
    await carried_out(device_bench, release("a", "b"))
    assert claims.claims["gpus"]["status"] == {}
    (sent,) = api.sent("PATCH")
    assert sent.body == {
        "metadata": {"uid": "uid-gpus", "resourceVersion": "5"},
        "status": {"allocation": None, "reservedFor": None},
    }


async def test_one_that_is_reserved_for_no_pod_is_cleared_without_a_look_at_pods(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    held(claims)
    await carried_out(device_bench, release())
    assert (claims.allocation(), len(api.sent("GET"))) == (None, 1)


async def test_one_that_is_reserved_for_another_pod_by_now_stays(
    claims: ClaimServer, device_bench: DeviceBench
) -> None:
    held(claims, "a", "b")
    await carried_out(device_bench, release("a"))
    assert (claims.users(), claims.allocation()) == (["a", "b"], written("gpu-1"))


async def test_one_whose_pod_has_a_node_after_all_stays(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    held(claims, "a")
    api.on("GET", f"{PODS}/a", Reply(body=pod("a", 8, nodeName="node-2")))
    await carried_out(device_bench, release("a"))
    assert claims.users() == ["a"]


async def test_what_changed_meanwhile_is_looked_at_again(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    """Pod b is added after the claim was read."""
    held(claims, "a")

    def overtaken(_request: Request) -> Reply:
        claims.change(allocation=written("gpu-1"), reservedFor=[user("a"), user("b")])
        return refusal(409, "Conflict", "the object has been modified")

    api.on("PATCH", f"{CLAIMS}/gpus/status", overtaken)
    await carried_out(device_bench, release("a"))
    assert claims.users() == ["a", "b"]
    assert len(api.sent("PATCH")) == 1


async def test_a_claim_that_is_gone_or_replaced_or_has_nothing_is_left_alone(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    claims.protected()
    await carried_out(device_bench, release("a"))
    held(claims, "a")
    await carried_out(device_bench, release("a", uid="of-before"))
    api.on("GET", f"{CLAIMS}/gpus", refusal(404, "NotFound"))
    await carried_out(device_bench, release("a"))
    assert api.sent("PATCH") == []


async def test_a_refused_release_is_left_to_later_cycles(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    held(claims, "a")
    api.on("PATCH", f"{CLAIMS}/gpus/status", refusal(403, "Forbidden"))
    await carried_out(device_bench, release("a"))
    assert (claims.users(), device_bench.outcomes.lines) == (["a"], [])


async def test_a_server_that_is_away_for_long_finds_the_release_over(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    """By then the pod may be about to be bound with what the claim has."""
    held(claims, "a")
    began = device_bench.clock.monotonic()

    def away(_request: Request) -> Reply:
        is_back = device_bench.clock.monotonic() >= began + 12
        return Reply(body=claims.claims["gpus"]) if is_back else Reply(drop=True)

    api.on("GET", f"{CLAIMS}/gpus", away)
    await carried_out(device_bench, release("a"))
    assert device_bench.clock.monotonic() >= began + 12
    assert claims.users() == ["a"]


@pytest.mark.parametrize("how", ["stopped", "not leading"])
async def test_only_the_leader_releases(api: FakeApi, claims: ClaimServer, device_bench: DeviceBench, how: str) -> None:
    held(claims, "a")
    if how == "stopped":
        device_bench.binder.stop_new()
    device_bench.leads = False
    await carried_out(device_bench, release("a"))
    assert api.sent("PATCH") == []


async def test_devices_that_come_with_the_next_place_are_written_after_the_release(
    claims: ClaimServer, device_bench: DeviceBench
) -> None:
    held(claims, "a")
    await carried_out(device_bench, release("a"))
    device_bench.binder.submit([bind("a", gets("gpus", "gpu-0"))])
    await eventually(lambda: device_bench.ready == ["a"])
    assert claims.users() == ["a"]
    assert [each["device"] for each in claims.allocation()["devices"]["results"]] == ["gpu-0"]


async def test_the_live_cluster_releases(
    claims: ClaimServer, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    held(claims, "a")
    live = LiveCluster(client, outcomes, component="volcano", binds_in_flight=64, clock=clock)
    live.apply([release("a")])
    await eventually(lambda: claims.allocation() is None)
    assert await live.drain(30) == 0
