"""Between the choice of a volume and the binding of its pod others choose, too: what came of it is looked at again."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cluster.claim_bench import (
    CLAIMS,
    ORDERED,
    VOLUMES,
    Bench,
    bind,
    claim_body,
    heard,
    usable_from,
    volume_body,
    written,
)
from tests.unit.cluster.fakes import FakeApi, FakeClock, Reply, eventually, refusal
from volcano_py.api.volumes import BIND_COMPLETED, SELECTED_NODE

OUT_OF_REACH = (
    "PersistentVolumeClaim ns/data was bound to volume made, which by its nodeAffinity cannot be used from node "
    "node-1; "
    "correct the labels of the node, or create the claim again"
)


@pytest.fixture(autouse=True)
def elsewhere(server: FakeApi) -> None:
    """What is ordered is made for another node."""
    server.on("GET", f"{VOLUMES}/made", Reply(body=volume_body("made", **usable_from("node-2"))))


async def test_a_volume_that_was_created_out_of_reach_fails_the_pod(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind("a", ORDERED)])
    await written(server)
    bench.hear(heard(version=10, volume="made", node="node-1"))
    assert await bench.failed() == OUT_OF_REACH


async def test_a_claim_that_is_given_to_another_node_meanwhile_fails_the_pod(server: FakeApi, bench: Bench) -> None:
    """As when kube-scheduler, for a pod that shares the claim, orders again what was given up."""
    bench.binder.submit([bind("a", ORDERED)])
    await written(server)
    bench.hear(heard(version=10, node="node-2"))
    assert await bench.failed() == "PersistentVolumeClaim ns/data gets its volume for node node-2, not for node-1"


async def test_and_so_when_that_is_noticed_only_once_it_is_bound(server: FakeApi, bench: Bench) -> None:
    bench.binder.submit([bind("a", ORDERED)])
    await written(server)
    bench.hear(heard(version=10, node="node-2"))
    bench.hear(heard(version=11, volume="made", node="node-2"))
    assert await bench.failed() == OUT_OF_REACH


async def test_a_claim_that_was_bound_out_of_reach_before_anything_was_written_fails_the_pod(
    server: FakeApi, bench: Bench
) -> None:
    done = claim_body(volume="made", annotations={BIND_COMPLETED: "yes", SELECTED_NODE: "node-2"})
    server.on("GET", f"{CLAIMS}/data", Reply(body=done))
    bench.binder.submit([bind("a", ORDERED)])
    assert await bench.failed() == OUT_OF_REACH
    assert server.sent("PATCH") == []


async def test_a_volume_that_can_be_used_from_everywhere_does_whomever_it_was_made_for(
    server: FakeApi, bench: Bench
) -> None:
    server.on("GET", f"{VOLUMES}/made", Reply(body=volume_body("made")))
    bench.binder.submit([bind("a", ORDERED)])
    await written(server)
    bench.hear(heard(version=10, volume="made", node="node-2"))
    await eventually(lambda: bench.ready == ["a"])


async def test_a_volume_that_has_vanished_fails_the_pod(server: FakeApi, bench: Bench) -> None:
    server.on("GET", f"{VOLUMES}/made", refusal(404, "NotFound"))
    bench.binder.submit([bind("a", ORDERED)])
    await written(server)
    bench.hear(heard(version=10, volume="made", node="node-1"))
    assert await bench.failed() == "PersistentVolumeClaim ns/data cannot use volume made, which does not exist"


async def test_a_server_that_is_away_is_asked_again_for_the_volume(
    server: FakeApi, bench: Bench, clock: FakeClock
) -> None:
    there = Reply(body=volume_body("made", **usable_from("node-1")))
    server.on("GET", f"{VOLUMES}/made", refusal(503, "ServiceUnavailable"), there)
    bench.binder.submit([bind("a", ORDERED)])
    await written(server)
    bench.hear(heard(version=10, volume="made", node="node-1"))
    await eventually(lambda: bench.ready == ["a"], clock)


@pytest.mark.parametrize(
    ("volume", "why"),
    [
        pytest.param(volume_body(), ": it is no longer reserved for the claim", id="set free"),
        pytest.param(
            volume_body(claimRef={"namespace": "ns", "name": "data"}),
            ": it is no longer reserved for the claim",
            id="left to the name",
        ),
        pytest.param(
            volume_body(claimRef={"namespace": "ns", "name": "other", "uid": "x"}),
            ", which belongs to ns/other",
            id="given to another",
        ),
    ],
)
async def test_a_volume_that_is_taken_off_the_claim_is_not_waited_for(
    server: FakeApi, bench: Bench, clock: FakeClock, volume: dict[str, Any], why: str
) -> None:
    """The claim itself says nothing of it, so no news comes."""
    bench.binder.submit([bind()])
    await written(server)
    server.on("GET", f"{VOLUMES}/pv-1", Reply(body=volume))
    assert await bench.failed() == f"PersistentVolumeClaim ns/data cannot use volume pv-1{why}"
    assert clock.monotonic() - 1000.0 < 60
