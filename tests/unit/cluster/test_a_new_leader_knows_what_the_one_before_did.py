"""Whoever gets the Lease may decide once it knows all that the leader before has done, and not later than that."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.unit.cluster.conftest import Background
from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingSink, Reply, eventually, page, pod, refusal
from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.cluster.kubernetes.informers import Informers
from volcano_py.cluster.kubernetes.kinds import NODE, POD
from volcano_py.daemon.leadership import Leadership
from volcano_py.daemon.options import DaemonOptions, LeaderElectionOptions

LEASES = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases"
OPTIONS = DaemonOptions(election=LeaderElectionOptions(enabled=True, namespace="volcano-system", name="volcano"))


class Replica:
    """What `Leadership` asks for, noted down."""

    def __init__(self, client: KubernetesClient) -> None:
        self.asked: list[str] = []
        self.caught_up = asyncio.Event()
        self.leadership = Leadership(OPTIONS, client, gained=lambda: None, lost=lambda: None, catch_up=self._catch_up)

    async def _catch_up(self, given_back: str) -> None:
        self.asked.append(given_back)
        await self.caught_up.wait()


@pytest.fixture
def replica(client: KubernetesClient) -> Replica:
    return Replica(client)


def lease(version: int, holder: str = "", **spec: Any) -> Reply:
    """The Lease as it stands; without a holder, somebody gave it back."""
    body = {"leaseDurationSeconds": 1, "leaseTransitions": 3, "holderIdentity": holder, **spec}
    return Reply(body={"metadata": {"name": "volcano", "resourceVersion": str(version)}, "spec": body})


async def test_where_there_was_no_leader_there_is_nothing_to_catch_up_with(
    api: FakeApi, replica: Replica, background: Background
) -> None:
    api.on("GET", f"{LEASES}/volcano", refusal(404, "NotFound"))
    api.on("POST", LEASES, Reply(201))
    background(replica.leadership.run())
    await eventually(replica.leadership.is_leading)
    assert replica.leadership.may_decide()
    assert replica.asked == []


async def test_one_that_has_given_the_lease_back_was_through_when_it_did(
    api: FakeApi, replica: Replica, background: Background
) -> None:
    api.on("GET", f"{LEASES}/volcano", lease(17))
    api.on("PATCH", f"{LEASES}/volcano", Reply())
    background(replica.leadership.run())
    await eventually(replica.leadership.is_leading)
    await eventually(lambda: replica.asked)
    assert replica.asked == ["17"]
    assert not replica.leadership.may_decide()
    replica.caught_up.set()
    await eventually(replica.leadership.may_decide)


@pytest.mark.parametrize(
    ("given_back", "known"),
    [("20", True), ("21", False), ("", False)],
    ids=["lists are as new", "one list is older", "nobody knows"],
)
async def test_lists_that_are_as_new_as_the_lease_show_all_that_was_done_under_it(
    given_back: str,
    known: bool,
    api: FakeApi,
    client: KubernetesClient,
    sink: RecordingSink,
    clock: FakeClock,
    background: Background,
) -> None:
    api.on("GET", "/api/v1/pods", page(20, pod("a", 3)))
    api.on("GET", "/api/v1/nodes", page(25))
    informers = Informers(client, sink, [POD, NODE], clock=clock)
    assert not informers.have_seen(given_back, POD.name, NODE.name)
    background(informers.run())
    await informers.wait_synced()
    assert informers.have_seen(given_back, POD.name, NODE.name) is known
