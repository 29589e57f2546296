"""A pod that is not bound after all leaves no reservation behind, and no devices that nobody uses."""

from __future__ import annotations

import pytest

from tests.unit.cluster.device_bench import CLAIMS, PODS, ClaimServer, DeviceBench, bind, gets, user, written
from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    Reply,
    eventually,
    pod,
    refusal,
    settle,
)
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import RequestError, StoppedError, UnreachableError
from volcano_py.cluster.kubernetes.writing.live import LiveCluster

REFUSED = UnreachableError("POST", "/binding", "refused")


@pytest.fixture(autouse=True)
def _pods(api: FakeApi) -> None:
    for name in "ab":
        api.on("GET", f"{PODS}/{name}", Reply(body=pod(name, 7)))


async def reserved(bench: DeviceBench, *pods: str) -> None:
    """These share the claim; the first brings its devices."""
    bench.binder.submit([bind(name) if name == pods[0] else bind(name, gets()) for name in pods])
    await eventually(lambda: len(bench.ready) == len(pods))
    await settle()


async def test_a_claim_without_other_users_gives_its_devices_back(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    await reserved(device_bench, "a")
    device_bench.binder.bind_failed(bind(), REFUSED, gone=False)
    assert device_bench.outcomes.lines == [], "first what was written is taken back"
    await eventually(lambda: device_bench.outcomes.lines == ["failed a"])
    assert device_bench.outcomes.errors == [REFUSED]
    assert claims.claims["gpus"]["status"] == {}
    assert api.sent("PATCH")[-1].body == {
        "metadata": {"uid": "uid-gpus", "resourceVersion": "7"},
        "status": {"allocation": None, "reservedFor": None},
    }


async def test_a_claim_that_others_use_keeps_its_devices(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    await reserved(device_bench, "a", "b")
    device_bench.binder.bind_failed(bind(), REFUSED, gone=False)
    await eventually(lambda: device_bench.outcomes.lines == ["failed a"])
    assert (claims.users(), claims.allocation()) == (["b"], written("gpu-0"))

    device_bench.binder.bind_failed(bind("b", gets()), REFUSED, gone=False)
    await eventually(lambda: device_bench.outcomes.lines == ["failed a", "failed b"])
    assert claims.claims["gpus"]["status"] == {}, "the last one takes all along"


async def test_a_pod_that_is_gone_leaves_nothing_either(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    await reserved(device_bench, "a")
    api.on("GET", f"{PODS}/a", refusal(404, "NotFound"))
    device_bench.binder.bind_failed(bind(), REFUSED, gone=True)
    await eventually(lambda: device_bench.outcomes.lines == ["failed a gone"])
    assert claims.claims["gpus"]["status"] == {}


async def test_a_pod_that_another_scheduler_has_bound_keeps_its_claims(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    await reserved(device_bench, "a")
    api.on("GET", f"{PODS}/a", Reply(body=pod("a", 8, nodeName="node-2")))
    device_bench.binder.bind_failed(bind(), REFUSED, gone=False)
    await eventually(lambda: device_bench.outcomes.lines == ["failed a"])
    assert claims.users() == ["a"]


async def test_what_was_there_before_is_not_taken_back(claims: ClaimServer, device_bench: DeviceBench) -> None:
    """Two claims, one of which the pod had already: nothing of that one was written."""
    claims.add("own", allocation=written("gpu-1"), reservedFor=[user("a")])
    both = bind("a", gets("own"), gets("gpus", "gpu-0"))
    device_bench.binder.submit([both])
    await eventually(lambda: device_bench.ready)
    device_bench.binder.bind_failed(both, REFUSED, gone=False)
    await eventually(lambda: device_bench.outcomes.lines == ["failed a"])
    assert (claims.users("own"), claims.users()) == (["a"], [])


async def test_the_first_claims_are_taken_back_when_a_later_one_fails(
    claims: ClaimServer, device_bench: DeviceBench
) -> None:
    claims.add("other", allocation=written("gpu-1"))
    device_bench.binder.submit([bind("a", gets("gpus", "gpu-0"), gets("other", "gpu-2"))])
    assert "was given other devices meanwhile" in await device_bench.failed()
    assert claims.log == ["gpus", "gpus/status", "gpus/status"]
    assert claims.claims["gpus"]["status"] == {}
    assert device_bench.ready == []


async def test_a_write_whose_outcome_is_unknown_is_taken_back_too(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    """It was carried out, and then the server refuses."""

    def lost(_request: object) -> Reply:
        claims.change(allocation=written("gpu-0"), reservedFor=[user("a")])
        claims.protected(**claims.claims["gpus"]["status"])
        api.on("GET", f"{CLAIMS}/gpus", refusal(400, "BadRequest"), Reply(body=claims.claims["gpus"]))
        return Reply(drop=True)

    claims.protected()
    api.on("PATCH", f"{CLAIMS}/gpus/status", lost)
    device_bench.binder.submit([bind()])
    assert "400 BadRequest" in await device_bench.failed()
    assert claims.claims["gpus"]["status"] == {}


async def test_what_is_not_found_again_needs_no_taking_back(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    await reserved(device_bench, "a")
    api.on("GET", f"{CLAIMS}/gpus", refusal(404, "NotFound"))
    device_bench.binder.bind_failed(bind(), REFUSED, gone=False)
    await eventually(lambda: device_bench.outcomes.lines == ["failed a"])


async def test_a_server_that_refuses_to_take_back_delays_no_report(
    api: FakeApi, claims: ClaimServer, device_bench: DeviceBench
) -> None:
    await reserved(device_bench, "a")
    api.on("PATCH", f"{CLAIMS}/gpus/status", refusal(403, "Forbidden"))
    device_bench.binder.bind_failed(bind(), REFUSED, gone=False)
    await eventually(lambda: device_bench.outcomes.lines == ["failed a"])
    assert claims.users() == ["a"]


@pytest.mark.parametrize("error", [REFUSED, StoppedError("bind", "the lease is lost")])
async def test_who_leads_no_longer_takes_nothing_back(
    claims: ClaimServer, device_bench: DeviceBench, error: RequestError
) -> None:
    """The next leader may have bound the pod already."""
    await reserved(device_bench, "a")
    if error is REFUSED:
        device_bench.binder.stop_new()
    device_bench.binder.bind_failed(bind(), error, gone=False)
    assert device_bench.outcomes.lines == ["failed a"]
    assert claims.users() == ["a"]


async def test_a_pod_that_was_bound_is_forgotten(claims: ClaimServer, device_bench: DeviceBench) -> None:
    await reserved(device_bench, "a")
    device_bench.binder.bound(bind(), 0.0)
    device_bench.binder.bind_failed(bind(), REFUSED, gone=False)
    assert device_bench.outcomes.lines == ["bound a", "failed a"]
    assert claims.users() == ["a"]


async def test_in_the_live_cluster_a_refused_binding_frees_the_devices(
    api: FakeApi,
    claims: ClaimServer,
    client: KubernetesClient,
    outcomes: RecordingOutcomes,
    clock: FakeClock,
) -> None:
    api.on("POST", f"{PODS}/a/binding", refusal(403, "Forbidden", "not on this node"))
    live = LiveCluster(client, outcomes, component="volcano", binds_in_flight=64, clock=clock)
    live.apply([bind("a")])
    await eventually(lambda: outcomes.lines == ["failed a"])
    assert "not on this node" in str(outcomes.errors[0])
    assert claims.claims["gpus"]["status"] == {}
    assert await live.drain(30) == 0


async def test_after_a_bug_of_ours_the_pod_keeps_nothing(claims: ClaimServer, device_bench: DeviceBench) -> None:
    """The first claim is written, the second one meets the bug."""
    claims.protected("other", allocation=written("gpu-1"))
    device_bench.gone = None  # type: ignore[assignment]
    device_bench.binder.submit([bind("a", gets("gpus", "gpu-0"), gets("other"))])
    assert "could not be written" in await device_bench.failed()
    assert claims.claims["gpus"]["status"] == {}
