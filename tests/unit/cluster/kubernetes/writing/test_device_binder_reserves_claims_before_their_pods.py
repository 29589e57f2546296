"""Claims get the devices that were chosen, and their pods as users; only then these pods are bound."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.cluster.device_bench import CLAIMS, ClaimServer, DeviceBench, bind, gets, user, written
from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    Reply,
    eventually,
    pod_ref,
    refusal,
    settle,
)
from volcano_py.api.devices.claims import DELETE_PROTECTION, ClaimMeta
from volcano_py.api.effects import Bind
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.device_binder import DeviceBinder
from volcano_py.cluster.kubernetes.writing.live import LiveCluster

FULL = [user(f"p{number}") for number in range(256)]


async def test_a_claim_gets_its_devices_and_the_pod_as_user(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    """The finalizer first, then all of the status at once; parameters of drivers stay as they are, nulls included."""
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"])
    assert device_bench.prepared == ["a"]
    first, second = api.sent("PATCH")
    assert (first.path, first.body) == (
        f"{CLAIMS}/gpus",
        {"metadata": {"uid": "uid-gpus", "resourceVersion": "5", "finalizers": [DELETE_PROTECTION]}},
    )
    assert second.path == f"{CLAIMS}/gpus/status"
    assert second.headers["Content-Type"] == "application/json-patch+json"
    assert second.body == [
        {"op": "replace", "path": "/metadata/resourceVersion", "value": "6"},
        {"op": "add", "path": "/status/reservedFor", "value": [user("a")]},
        {"op": "add", "path": "/status/allocation", "value": written("gpu-0")},
    ]
    await settle()
    assert (device_bench.binder.waiting, device_bench.outcomes.lines) == (0, [])


async def test_a_claim_that_is_known_to_have_no_devices_is_not_read(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    known(device_bench, version="5", finalizers=["example.com/mine"])
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"])
    assert api.sent("GET") == []
    assert claims.claims["gpus"]["metadata"]["finalizers"] == ["example.com/mine", DELETE_PROTECTION]
    assert (claims.users(), claims.allocation()) == (["a"], written("gpu-0"))


@pytest.mark.parametrize("has", [{}, {"allocation": written("gpu-0"), "reservedFor": [user("b")]}])
async def test_if_what_is_known_is_outdated_the_claim_is_read(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench, has: dict[str, Any]
) -> None:
    claims.add(**has)
    known(device_bench, version="4")
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"], device_bench.clock)
    assert len(api.sent("GET")) == 1
    assert claims.users() == [*(["b"] if has else []), "a"]


async def test_a_pod_that_brings_no_devices_reads_the_claim(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    """Another pod has brought them, which the watch does not show yet."""
    known(device_bench, version="4")
    claims.protected(allocation=written("gpu-0"), reservedFor=[user("b")])
    device_bench.binder.submit([bind("a", gets())])
    await eventually(lambda: device_bench.ready == ["a"])
    assert (len(api.sent("GET")), claims.users()) == (1, ["b", "a"])


async def test_a_claim_that_was_deleted_meanwhile_is_named(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    known(device_bench, version="5")
    api.on("PATCH", f"{CLAIMS}/gpus", refusal(404, "NotFound"))
    device_bench.binder.submit([bind()])
    assert await device_bench.failed() == "ResourceClaim ns/gpus was deleted"


def known(bench: DeviceBench, *, version: str, finalizers: Sequence[str] = ()) -> None:
    """The watch has shown the claim so."""
    bench.vacant["ns/gpus"] = ClaimMeta(
        namespace="ns", name="gpus", uid="uid-gpus", resource_version=version, finalizers=list(finalizers)
    )


async def test_other_finalizers_and_users_stay(api: FakeApi, claims: ClaimServer, device_bench: DeviceBench) -> None:
    claims.add(finalizers=("example.com/mine",), allocation=written("gpu-0"), reservedFor=[user("b")])
    device_bench.binder.submit([bind("a", gets())])
    await eventually(lambda: device_bench.ready == ["a"])
    assert claims.claims["gpus"]["metadata"]["finalizers"] == ["example.com/mine", DELETE_PROTECTION]
    assert claims.users() == ["b", "a"]


async def test_a_claim_with_devices_is_only_reserved(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    claims.protected(allocation=written("gpu-0"))
    device_bench.binder.submit([bind("a", gets())])
    await eventually(lambda: device_bench.ready == ["a"])
    assert claims.log == ["gpus/status"]


async def test_a_claim_that_is_reserved_already_is_left_alone(claims: ClaimServer, device_bench: DeviceBench) -> None:
    """As after a restart between the reservation and the binding."""
    claims.add(allocation=written("gpu-0"), reservedFor=[*FULL[:255], user("a")])
    device_bench.binder.submit([bind("a", gets())])
    await eventually(lambda: device_bench.ready == ["a"])
    assert claims.log == []


async def test_all_claims_of_a_pod_are_written_one_after_the_other(
    claims: ClaimServer, device_bench: DeviceBench
) -> None:
    for name in ("c1", "c2"):
        claims.add(name)
    device_bench.binder.submit([bind("a", gets("c1", "gpu-0"), gets("c2", "gpu-1", "gpu-2"))])
    await eventually(lambda: device_bench.ready == ["a"])
    assert claims.log == ["c1", "c1/status", "c2", "c2/status"]
    assert [claims.allocation(name) for name in ("c1", "c2")] == [written("gpu-0"), written("gpu-1", "gpu-2")]


async def test_pods_that_share_a_claim_need_one_write_each(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    """No conflicts, and no read but the first: each goes on from what the one before it has written."""
    device_bench.binder.submit([bind("p0"), *(bind(f"p{number}", gets()) for number in range(1, 20))])
    await eventually(lambda: len(device_bench.ready) == 20)
    assert sorted(claims.users()) == sorted(f"p{number}" for number in range(20))
    assert claims.log == ["gpus"] + 20 * ["gpus/status"]
    assert len(api.sent("GET")) == 1
    assert len(api.sent("PATCH")) == 21


async def test_a_pod_waits_for_the_devices_that_another_brings(
    claims: ClaimServer, device_bench: DeviceBench, clock: FakeClock
) -> None:
    device_bench.binder.submit([bind("b", gets())])
    await settle()
    await clock.advance(5)
    assert device_bench.ready == []
    device_bench.binder.submit([bind("a")])
    await eventually(lambda: device_bench.ready == ["a", "b"], clock)
    assert claims.users() == ["a", "b"]


async def test_a_pod_does_not_wait_for_devices_without_end(claims: ClaimServer, device_bench: DeviceBench) -> None:
    device_bench.binder.submit([bind("a", gets())])
    expected = "has no devices: they were to come with another pod that uses it, or were given back"
    assert await device_bench.failed() == f"ResourceClaim ns/gpus {expected}"
    assert claims.log == []


async def test_a_change_in_between_is_looked_at_again(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench, clock: FakeClock
) -> None:
    def overtaken(_request: object) -> Reply:
        claims.protected()
        claims.change(devices=[{"driver": "gpu.example.com"}])
        return refusal(409, "Conflict")

    api.on("PATCH", f"{CLAIMS}/gpus", overtaken)
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"], clock)
    assert (claims.users(), len(api.sent("GET"))) == (["a"], 2)


async def test_an_answer_that_was_lost_is_no_other_scheduler(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench, clock: FakeClock
) -> None:
    """The first attempt has been carried out: what the second finds is our own."""

    def lost(_request: object) -> Reply:
        claims.change(allocation=written("gpu-0"), reservedFor=[user("a")])
        return Reply(drop=True)

    claims.protected()
    api.on("PATCH", f"{CLAIMS}/gpus/status", lost)
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"], clock)
    assert len(api.sent("PATCH")) == 1


@pytest.mark.parametrize(
    ("claim", "binding", "why"),
    [
        pytest.param(
            {"metadata": {"name": "gpus", "namespace": "ns", "uid": "new"}},
            gets("gpus", "gpu-0"),
            "was replaced by another one (UID new)",
            id="a namesake",
        ),
        pytest.param(
            {"metadata": {"name": "gpus", "uid": "uid-gpus", "deletionTimestamp": "2026-11-21T09:00:00Z"}},
            gets("gpus", "gpu-0"),
            "is being deleted",
            id="being deleted",
        ),
        pytest.param(
            {"metadata": {"name": "gpus", "uid": "uid-gpus"}, "status": {"allocation": written("gpu-1")}},
            gets("gpus", "gpu-0"),
            "was given other devices meanwhile; is there another scheduler for these devices?",
            id="allocated by somebody else",
        ),
        pytest.param(
            {
                "metadata": {"name": "gpus", "uid": "uid-gpus"},
                "status": {"allocation": written("gpu-0"), "reservedFor": FULL},
            },
            gets(),
            "is reserved for 256 pods already, which is the limit",
            id="no room for another pod",
        ),
        pytest.param(
            {"metadata": {"name": "gpus", "uid": "uid-gpus"}, "status": {"allocation": written("g", node="node-2")}},
            gets(),
            "has devices that cannot be used from node node-1",
            id="allocated elsewhere",
        ),
    ],
)
async def test_a_claim_that_turns_out_otherwise_fails_the_pod(
    api: FakeApi, device_bench: DeviceBench, claim: dict[str, Any], binding: Any, why: str
) -> None:
    api.on("GET", f"{CLAIMS}/gpus", Reply(body=claim))
    device_bench.binder.submit([bind("a", binding)])
    assert await device_bench.failed() == f"ResourceClaim ns/gpus {why}"
    assert (api.sent("PATCH"), device_bench.ready) == ([], [])


async def test_a_claim_that_is_gone_fails_the_pod_but_the_pod_is_not_gone(device_bench: DeviceBench) -> None:
    device_bench.binder.submit([bind()])
    assert await device_bench.failed() == "ResourceClaim ns/gpus was deleted"


async def test_a_node_that_has_gone_meanwhile_fails_the_pod(claims: ClaimServer, device_bench: DeviceBench) -> None:
    claims.protected(allocation=written("gpu-0"))
    device_bench.gone = ["node-1"]
    device_bench.binder.submit([bind("a", gets())])
    assert await device_bench.failed() == "ResourceClaim ns/gpus is not needed on node node-1, which is gone"


async def test_a_server_that_is_away_is_asked_again(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench, clock: FakeClock
) -> None:
    api.on("GET", f"{CLAIMS}/gpus", refusal(503, "ServiceUnavailable"), Reply(body=claims.claims["gpus"]))
    device_bench.binder.submit([bind()])
    await eventually(lambda: device_bench.ready == ["a"], clock)


async def test_nothing_is_written_without_the_lease(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    device_bench.leads = False
    device_bench.binder.submit([bind()])
    assert "the lease is lost" in await device_bench.failed()
    assert api.requests == []


async def test_once_stopped_everything_is_given_up(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    api.on("PATCH", f"{CLAIMS}/gpus", Reply(hold=asyncio.Event()))
    device_bench.binder.submit([bind()])
    await eventually(lambda: api.held)
    device_bench.binder.stop_new()
    assert "the lease is lost" in await device_bench.failed()
    device_bench.binder.submit([bind("b")])
    assert device_bench.outcomes.lines == ["failed a", "failed b"]


async def test_the_end_waits_for_what_is_being_written(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    device_bench.binder.submit([bind()])
    assert await device_bench.binder.drain(30) == 0
    assert device_bench.ready == ["a"]


async def test_what_is_stopped_before_it_has_begun_is_reported_too(
    client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    binder = DeviceBinder(client, outcomes, lambda _binds: None, in_flight=2, clock=clock)
    binder.submit([bind("a")])
    binder.stop_new()
    assert await binder.drain(20) == 0, "in a time that does not pass here"
    assert outcomes.lines == ["failed a"]


@pytest.fixture
def live(client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock) -> LiveCluster:
    return LiveCluster(client, outcomes, component="volcano", binds_in_flight=64, clock=clock)


async def test_in_the_live_cluster_pods_are_bound_when_their_claims_are_reserved(
    api: FakeApi, claims: ClaimServer, live: LiveCluster, outcomes: RecordingOutcomes
) -> None:
    reserved: dict[str, list[str]] = {}

    def bound(request: Any) -> Reply:
        reserved[request.path.split("/")[-2]] = claims.users()
        return Reply(201)

    for name in "ab":
        api.on("POST", f"/api/v1/namespaces/ns/pods/{name}/binding", bound)
    live.apply([bind("a"), Bind(pod_ref("b"), "node-1", "ns/gang")])
    await eventually(lambda: sorted(outcomes.lines) == ["bound a", "bound b"])
    assert reserved["a"] == ["a"]
    assert await live.drain(30) == 0


async def test_a_live_cluster_that_loses_its_lease_writes_no_claims_any_more(
    api: FakeApi, claims: ClaimServer, live: LiveCluster, outcomes: RecordingOutcomes
) -> None:
    api.on("PATCH", f"{CLAIMS}/gpus", Reply(hold=asyncio.Event()))
    live.apply([bind("a")])
    await eventually(lambda: api.held)
    live.stop_new()
    await eventually(lambda: outcomes.lines == ["failed a"])
    await live.aclose()
