"""Claims get what was decided for them, and only then their pods are bound."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cluster.claim_bench import (
    CLAIMS,
    HOST,
    KIND,
    ORDERED,
    VOLUMES,
    Bench,
    bind,
    claim_body,
    claim_ref,
    heard,
    patches,
    volume_body,
    written,
)
from tests.unit.cluster.fakes import (
    FakeApi,
    FakeClock,
    RecordingOutcomes,
    Reply,
    Request,
    eventually,
    pod_ref,
    refusal,
    settle,
)
from volcano_py.api.effects import Bind, ClaimBinding
from volcano_py.api.volumes import BIND_COMPLETED, SELECTED_NODE, PersistentVolumeClaim
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.writing.live import LiveCluster
from volcano_py.cluster.kubernetes.writing.volume_binder import VolumeBinder
from volcano_py.state.infos import NodeInfo


async def test_a_volume_is_reserved_and_the_pod_is_bound_when_the_claim_is(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind()])
    await written(server)
    assert patches(server) == [
        (
            "pv-1",
            {
                "metadata": {
                    "uid": "uid-pv-1",
                    "resourceVersion": "7",
                    "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
                },
                "spec": {
                    "claimRef": {"kind": KIND, "apiVersion": "v1", "namespace": "ns", "name": "data", "uid": "uid-data"}
                },
            },
        )
    ]
    assert (bench.ready, bench.binder.waiting) == ([], 1)

    bench.hear(heard(volume="pv-1"))
    await eventually(lambda: bench.ready == ["a"])
    assert bench.prepared == ["a"]
    await settle()
    assert (bench.binder.waiting, bench.outcomes.lines) == (0, [])


async def test_a_volume_is_ordered_for_the_node_and_waited_for(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind("a", ORDERED)])
    await written(server)
    expected = {"uid": "uid-data", "resourceVersion": "5", "annotations": {SELECTED_NODE: "node-1"}}
    assert patches(server) == [("data", {"metadata": expected})]

    bench.hear(heard(version=6))  # from before our change: it lacks the node and says nothing
    bench.hear(heard(version=9, node="node-1"))
    await settle()
    assert (bench.ready, bench.outcomes.lines) == ([], [])
    bench.hear(heard(version=10, volume="made", node="node-1"))
    await eventually(lambda: bench.ready == ["a"])


async def test_pods_wait_for_all_their_claims_and_not_for_those_of_others(api: FakeApi, bench: Bench) -> None:
    for number in (1, 2, 3):
        body = claim_body(f"c{number}", annotations={SELECTED_NODE: "node-1"})
        api.on("GET", f"{CLAIMS}/c{number}", Reply(body=body))
        api.on("GET", f"{VOLUMES}/v{number}", Reply(body=volume_body(f"v{number}")))
    bench.binder.submit(
        [
            bind("a", ClaimBinding(claim_ref("c1")), ClaimBinding(claim_ref("c2"))),
            bind("b", ClaimBinding(claim_ref("c3"))),
        ]
    )
    await eventually(lambda: len(api.sent("GET")) == 3)
    bench.hear(heard("c2", volume="v2"))
    bench.hear(heard("c3", volume="v3"))
    await eventually(lambda: bench.ready == ["b"])
    bench.hear(heard("c1", volume="v1"))
    await eventually(lambda: bench.ready == ["b", "a"])
    assert patches(api) == []  # the node was on the claims already


async def test_waiting_pods_do_not_keep_others_from_being_written(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind(name, ORDERED) for name in "abcd"])
    await written(server, 4)
    assert bench.binder.waiting == 4
    bench.hear(heard(volume="made", node="node-1"))
    await eventually(lambda: sorted(bench.ready) == ["a", "b", "c", "d"])


async def test_a_claim_that_was_bound_meanwhile_is_left_alone(server: FakeApi, bench: Bench) -> None:
    done = claim_body(volume="pv-1", annotations={BIND_COMPLETED: "yes"})
    server.on("GET", f"{CLAIMS}/data", Reply(body=done))
    bench.binder.submit([bind()])
    await eventually(lambda: bench.ready == ["a"])
    assert patches(server) == []


async def test_a_volume_that_its_maker_kept_for_the_claim_stays_so(server: FakeApi, bench: Bench) -> None:
    server.on("GET", f"{VOLUMES}/pv-1", Reply(body=volume_body(claimRef={"namespace": "ns", "name": "data"})))
    bench.binder.submit([bind()])
    await written(server)
    assert patches(server)[0][1]["metadata"]["annotations"] == {}


async def test_a_change_in_between_is_looked_at_again(server: FakeApi, bench: Bench, clock: FakeClock) -> None:
    server.on("PATCH", f"{VOLUMES}/pv-1", refusal(409, "Conflict"), Reply(body=volume_body()))
    bench.binder.submit([bind()])
    await eventually(lambda: len(server.sent("PATCH")) == 2, clock)
    assert len(server.sent("GET", f"{VOLUMES}/pv-1")) == 2
    assert bench.outcomes.lines == []


def _of(key: str, uid: str = "") -> dict[str, Any]:
    return volume_body(claimRef={"namespace": "ns", "name": key, "uid": uid})


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        pytest.param(_of("other", "x"), "cannot use volume pv-1, which belongs to ns/other", id="another's"),
        pytest.param(_of("data", "old"), "cannot use volume pv-1, which belongs to ns/data", id="a namesake's"),
        pytest.param(
            {"metadata": {"name": "pv-1", "deletionTimestamp": "2026-11-21T09:00:00Z"}},
            "cannot use volume pv-1, which is being deleted",
            id="being deleted",
        ),
    ],
)
async def test_an_unavailable_volume_fails_the_pod(
    server: FakeApi, bench: Bench, volume: dict[str, Any], why: str
) -> None:
    server.on("GET", f"{VOLUMES}/pv-1", Reply(body=volume))
    bench.binder.submit([bind()])
    assert await bench.failed() == f"PersistentVolumeClaim ns/data {why}"
    assert patches(server) == []


@pytest.mark.parametrize(
    ("news", "why"),
    [
        pytest.param(heard(volume="pv-2"), "was bound to volume pv-2, not pv-1", id="another volume"),
        pytest.param(heard(uid="new"), "was replaced by another one (UID new)", id="a namesake"),
        pytest.param(heard(phase="Lost"), "has lost its volume ", id="lost"),
    ],
)
async def test_a_claim_that_turns_out_otherwise_fails_the_pod(
    server: FakeApi, bench: Bench, news: PersistentVolumeClaim, why: str
) -> None:
    bench.binder.submit([bind()])
    await written(server)
    bench.hear(news)
    assert await bench.failed() == f"PersistentVolumeClaim ns/data {why}"


async def test_a_claim_that_is_deleted_fails_the_pod(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind()])
    await written(server)
    bench.binder.claims.delete(KIND, heard())
    assert await bench.failed() == "PersistentVolumeClaim ns/data was deleted"


async def test_a_node_that_has_gone_meanwhile_fails_the_pod(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind()])
    await written(server)
    bench.gone = ["node-1"]
    bench.hear(heard(volume="pv-1"))
    assert await bench.failed() == "PersistentVolumeClaim ns/data is bound, but node node-1 is gone"


async def test_a_provisioner_that_gives_up_fails_the_pod(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind("a", ORDERED)])
    await written(server)
    bench.hear(heard(version=9))
    expected = "will get no volume on node node-1: its provisioner has given up"
    assert await bench.failed() == f"PersistentVolumeClaim ns/data {expected}"


async def test_a_claim_ordered_for_another_node_fails_the_pod(server: FakeApi, bench: Bench) -> None:
    server.on("GET", f"{CLAIMS}/data", Reply(body=claim_body(annotations={SELECTED_NODE: "node-2"})))
    bench.binder.submit([bind("a", ORDERED)])
    assert await bench.failed() == "PersistentVolumeClaim ns/data gets its volume for node node-2, not for node-1"


async def test_waiting_has_an_end(server: FakeApi, bench: Bench, clock: FakeClock) -> None:
    bench.binder.submit([bind(within=45)])
    await written(server)
    expected = "is not bound 45 s after its volume was chosen; its events may say more"
    assert await bench.failed() == f"PersistentVolumeClaim ns/data {expected}"
    assert clock.monotonic() - 1000.0 >= 45


async def test_an_event_that_was_lost_is_made_up_for(server: FakeApi, bench: Bench, clock: FakeClock) -> None:
    bench.binder.submit([bind()])
    await written(server)
    bound = claim_body(version=9, volume="pv-1", annotations={BIND_COMPLETED: "yes"})
    server.on("GET", f"{CLAIMS}/data", refusal(503, "ServiceUnavailable"), Reply(body=bound))
    await eventually(lambda: bench.ready == ["a"], clock)


async def test_a_server_that_refuses_fails_the_pod(server: FakeApi, bench: Bench) -> None:
    server.on("PATCH", f"{VOLUMES}/pv-1", refusal(403, "Forbidden", "not allowed"))
    bench.binder.submit([bind()])
    assert "403 Forbidden: not allowed" in await bench.failed()


async def test_a_server_that_is_away_is_asked_again(server: FakeApi, bench: Bench, clock: FakeClock) -> None:
    server.on("PATCH", f"{VOLUMES}/pv-1", refusal(503, "ServiceUnavailable"), Reply(body=volume_body()))
    bench.binder.submit([bind()])
    await eventually(lambda: len(server.sent("PATCH")) == 2, clock)
    bench.hear(heard(volume="pv-1"))
    await eventually(lambda: bench.ready == ["a"])


async def test_nothing_is_written_without_the_lease(server: FakeApi, bench: Bench) -> None:
    bench.leads = False
    bench.binder.submit([bind()])
    assert "the lease is lost" in await bench.failed()
    assert server.requests == []


async def test_once_stopped_everything_is_given_up(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind()])
    await written(server)
    bench.binder.stop_new()
    assert "the lease is lost" in await bench.failed()
    bench.binder.submit([bind("b")])
    assert bench.outcomes.lines == ["failed a", "failed b"]


async def test_the_end_waits_for_what_is_being_written_but_not_for_claims(server: FakeApi, bench: Bench) -> None:
    seen: list[Request] = []

    def answer(request: Request) -> Reply:
        seen.append(request)
        return Reply(body=volume_body())

    server.on("PATCH", f"{VOLUMES}/pv-1", answer)
    bench.binder.submit([bind()])
    assert await bench.binder.drain(30) == 1
    assert len(seen) == 1
    assert "the process ends" in await bench.failed()


async def test_in_the_live_cluster_only_pods_with_claims_wait_for_them(
    server: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    for name in "ab":
        server.on("POST", f"/api/v1/namespaces/ns/pods/{name}/binding", Reply(201))
    prepared: list[str] = []
    live = LiveCluster(
        client,
        outcomes,
        component="volcano",
        binds_in_flight=64,
        on_prepared=lambda each: prepared.append(each.pod.name),
        find_node=lambda name: NodeInfo(name, labels={HOST: name}),
        clock=clock,
    )
    live.apply([bind("a"), Bind(pod_ref("b"), "node-1", "ns/gang")])
    await eventually(lambda: outcomes.lines == ["bound b"])
    await written(server)

    live.volumes.claims.upsert(KIND, heard(volume="pv-1"))
    await eventually(lambda: outcomes.lines == ["bound b", "bound a"])
    assert prepared == ["a"]
    assert await live.drain(30) == 0


async def test_a_live_cluster_that_loses_its_lease_gives_up_on_claims(
    server: FakeApi, client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    live = LiveCluster(client, outcomes, component="volcano", binds_in_flight=64, clock=clock)
    live.apply([bind("a")])
    await written(server)
    live.stop_new()
    await eventually(lambda: outcomes.lines == ["failed a"])
    await live.aclose()


async def test_what_is_stopped_before_it_has_begun_is_reported_too(
    client: KubernetesClient, outcomes: RecordingOutcomes, clock: FakeClock
) -> None:
    binder = VolumeBinder(client, outcomes, lambda _binds: None, clock=clock)
    binder.submit([bind("a")])
    binder.stop_new()
    assert await binder.drain(20) == 0, "in a time that does not pass here"
    assert outcomes.lines == ["failed a"]
