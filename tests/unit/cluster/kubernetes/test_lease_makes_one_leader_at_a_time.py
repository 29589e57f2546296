"""Leader election against a Lease that the test keeps, in time that passes only on request."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from tests.unit.cluster.conftest import Background
from tests.unit.cluster.fakes import FakeApi, FakeClock, Reply, Request, eventually, refusal
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.lease import LeaderElector

LEASE_DURATION, RENEW_DEADLINE, RETRY_PERIOD = 15.0, 10.0, 2.0

LEASES = "/apis/coordination.k8s.io/v1/namespaces/volcano-system/leases"
LEASE = f"{LEASES}/volcano"


class Server:
    """The API server's side: one Lease, with versions as preconditions."""

    def __init__(self, api: FakeApi) -> None:
        self.spec: dict[str, Any] | None = None
        self.labels = {"team": "batch"}
        self.version = 1
        self.uid = 1
        api.on("GET", LEASE, self._get)
        api.on("POST", LEASES, self._create)
        api.on("PATCH", LEASE, self._patch)

    def held_by(self, holder: str, **more: Any) -> None:
        """Another replica takes or renews the Lease."""
        self.version += 1
        self.spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-11-21T09:00:00.000000Z",
            "renewTime": f"2026-11-21T09:00:{self.version:02}.000000Z",
            "leaseTransitions": 4,
            **more,
        }

    def deleted(self) -> None:
        """The Lease is deleted; the next one is another object."""
        self.spec = None
        self.uid += 1

    def _get(self, _: Request) -> Reply:
        if self.spec is None:
            return refusal(404, "NotFound")
        metadata = {
            "name": "volcano",
            "uid": str(self.uid),
            "resourceVersion": str(self.version),
            "labels": self.labels,
        }
        return Reply(body={"metadata": metadata, "spec": self.spec})

    def _create(self, request: Request) -> Reply:
        if self.spec is not None:
            return refusal(409, "AlreadyExists")
        self.spec = request.body["spec"]
        return Reply(201, self.spec)

    def _patch(self, request: Request) -> Reply:
        if request.body["metadata"]["resourceVersion"] != str(self.version):
            return refusal(409, "Conflict")
        self.version += 1
        assert self.spec is not None
        self.spec.update(request.body["spec"])
        return Reply()


class Candidate:
    """An elector and what it called, in order."""

    def __init__(self, client: KubernetesClient, clock: FakeClock, identity: str = "me") -> None:
        self.calls: list[str] = []
        self.elector = LeaderElector(
            client,
            "volcano-system",
            "volcano",
            identity=identity,
            on_started_leading=lambda: self.calls.append("started"),
            on_stopped_leading=lambda: self.calls.append("stopped"),
            lease_duration=LEASE_DURATION,
            renew_deadline=RENEW_DEADLINE,
            retry_period=RETRY_PERIOD,
            clock=clock,
        )


@pytest.fixture
def server(api: FakeApi) -> Server:
    return Server(api)


@pytest.fixture
def candidate(client: KubernetesClient, clock: FakeClock) -> Candidate:
    return Candidate(client, clock)


async def test_a_lease_that_does_not_exist_is_created_as_ours(
    server: Server, candidate: Candidate, background: Background
) -> None:
    background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)

    assert server.spec == {
        "holderIdentity": "me",
        "leaseDurationSeconds": 15,
        "acquireTime": "2026-11-21T09:30:00.000000Z",
        "renewTime": "2026-11-21T09:30:00.000000Z",
        "leaseTransitions": 0,
    }
    assert candidate.calls == ["started"]
    assert candidate.elector.holder == "me"


async def test_the_lease_is_renewed_and_nothing_else_in_it_is_touched(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    server.held_by("")
    background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    for _ in range(20):
        version = server.version
        await clock.advance(2)
        await eventually(lambda before=version: server.version > before)  # type: ignore[misc]
        assert candidate.elector.is_leader()

    assert server.spec is not None
    assert server.spec["acquireTime"] == "2026-11-21T09:30:00.000000Z"
    assert server.spec["renewTime"] == "2026-11-21T09:30:40.000000Z"
    assert server.spec["leaseTransitions"] == 5
    assert server.labels == {"team": "batch"}
    assert candidate.calls == ["started"]


async def test_a_living_leader_keeps_its_lease(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    server.held_by("another")
    background(candidate.elector.run())
    await eventually(lambda: candidate.elector.holder == "another")
    for _ in range(10):
        await clock.advance(10)
        server.held_by("another")
        await eventually(lambda: clock.asleep)

    assert not candidate.elector.is_leader()
    assert server.spec is not None
    assert server.spec["holderIdentity"] == "another"


async def test_a_dead_leaders_lease_is_taken_when_it_has_run_out_for_us(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    # Its times are long past by the wall clock; what counts is how long we have seen no renewal.
    server.held_by("another", renewTime="2020-01-01T00:00:00.000000Z")
    background(candidate.elector.run())
    await eventually(lambda: clock.asleep)
    seen_at = clock.time
    while not candidate.elector.is_leader():
        await clock.advance(0.5)
        await eventually(lambda: clock.asleep or candidate.elector.is_leader())

    assert 15 <= clock.time - seen_at <= 19
    assert server.spec is not None
    assert server.spec["leaseTransitions"] == 5


@pytest.mark.parametrize("jump", [pytest.param(1e6, id="forward"), pytest.param(-1e6, id="back")])
async def test_setting_the_clock_neither_steals_a_lease_nor_guards_a_dead_one(
    jump: float,
    server: Server,
    candidate: Candidate,
    clock: FakeClock,
    background: Background,
) -> None:
    server.held_by("another")
    background(candidate.elector.run())
    await eventually(lambda: clock.asleep)

    clock.start += timedelta(seconds=jump)
    for _ in range(12):
        await clock.advance(1)
        await eventually(lambda: clock.asleep)
    assert server.spec is not None
    assert server.spec["holderIdentity"] == "another", "12 of 15 seconds have passed"

    await eventually(candidate.elector.is_leader, clock)
    assert server.spec["holderIdentity"] == "me"


async def test_a_lease_of_longer_duration_is_respected(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    server.held_by("another", leaseDurationSeconds=60)
    background(candidate.elector.run())
    await eventually(lambda: clock.asleep)
    for _ in range(59):
        await clock.advance(1)
        await eventually(lambda: clock.asleep)
        assert not candidate.elector.is_leader()

    await eventually(candidate.elector.is_leader, clock)


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(Reply(drop=True), id="connection lost"),
        pytest.param(Reply(502, b"<html>bad gateway</html>"), id="no JSON"),
        pytest.param(refusal(500, "InternalError"), id="server error"),
        pytest.param(refusal(403, "Forbidden"), id="forbidden"),
        pytest.param(Reply(200, b"[]"), id="nonsense"),
    ],
)
async def test_any_error_is_a_failed_renewal_and_too_many_lose_the_lease(
    trouble: Reply, api: FakeApi, server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    campaign = background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    renewed = clock.time
    api.on("GET", LEASE, trouble)
    while not campaign.done():
        await clock.advance(0.5)
        await eventually(lambda: clock.asleep or campaign.done())
        if clock.time - renewed < 10:
            assert candidate.calls == ["started"], "one failure is no loss"

    assert candidate.calls == ["started", "stopped"]
    assert not candidate.elector.is_leader()
    assert clock.time - renewed <= 12.5
    assert api.sent("PATCH") == [], "what is lost is not given back"


async def test_a_renewal_that_hangs_cannot_prolong_leadership(
    api: FakeApi, server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    campaign = background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    hanging = Reply(hold=asyncio.Event())
    api.on("GET", LEASE, hanging, hanging, server._get)

    await clock.advance(9.9)
    assert candidate.elector.is_leader()
    # The fence falls by the clock alone, before any task has run.
    clock.time += 0.1
    assert not candidate.elector.is_leader()

    await eventually(campaign.done, clock)
    assert candidate.calls == ["started", "stopped"]
    # Bindings that were sent may still be under way: a successor has to wait until the lease runs out.
    assert api.sent("PATCH") == []


async def test_one_hanging_request_leaves_time_for_another_attempt(
    api: FakeApi, server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    api.on("GET", LEASE, Reply(hold=asyncio.Event()), server._get)
    await clock.advance(2)
    await eventually(lambda: len(api.sent("GET", LEASE)) == 2)
    await clock.advance(5)
    await clock.advance(2)
    await eventually(lambda: api.sent("PATCH"))
    await eventually(lambda: clock.sleeps[-1] == RETRY_PERIOD)

    await clock.advance(8)
    assert candidate.elector.is_leader()
    assert candidate.calls == ["started"]


async def test_a_lease_that_another_replica_took_is_not_taken_back(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    campaign = background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    server.held_by("usurper")

    await eventually(campaign.done, clock)

    assert candidate.calls == ["started", "stopped"]
    assert server.spec is not None
    assert server.spec["holderIdentity"] == "usurper"


async def test_stopping_steps_down_first_and_then_gives_the_lease_back(
    api: FakeApi, server: Server, candidate: Candidate, background: Background
) -> None:
    campaign = background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)

    candidate.elector.stop()
    await eventually(campaign.done)

    assert candidate.calls == ["started", "stopped"]
    assert not candidate.elector.is_leader()
    assert server.spec is not None
    assert (server.spec["holderIdentity"], server.spec["leaseDurationSeconds"]) == ("", 1)


async def test_a_lease_given_back_is_taken_without_waiting(
    server: Server, client: KubernetesClient, clock: FakeClock, background: Background
) -> None:
    first, second = Candidate(client, clock, "first"), Candidate(client, clock, "second")
    campaign = background(first.elector.run())
    await eventually(first.elector.is_leader)
    background(second.elector.run())
    await eventually(lambda: second.elector.holder == "first")

    first.elector.stop()
    await eventually(campaign.done)
    given_back = clock.time
    await eventually(second.elector.is_leader, clock)

    assert clock.time - given_back <= 4
    assert not first.elector.is_leader()


async def test_a_candidate_that_is_stopped_leaves_the_leaders_lease_alone(
    api: FakeApi, server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    server.held_by("another")
    campaign = background(candidate.elector.run())
    await eventually(lambda: clock.asleep)

    candidate.elector.stop()
    await eventually(campaign.done)

    assert candidate.calls == []
    assert api.sent("PATCH") == []


async def test_a_cancelled_leader_has_stopped_leading(server: Server, candidate: Candidate) -> None:
    campaign = asyncio.create_task(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    campaign.cancel()
    await asyncio.gather(campaign, return_exceptions=True)

    assert candidate.calls == ["started", "stopped"]
    assert not candidate.elector.is_leader()


async def test_times_that_do_not_fit_each_other_are_refused(client: KubernetesClient) -> None:
    with pytest.raises(ValueError, match="lease_duration must be greater than renew_deadline"):
        LeaderElector(client, "ns", "name", lease_duration=10, renew_deadline=10, retry_period=RETRY_PERIOD)
    with pytest.raises(ValueError, match=r"renew_deadline must be greater than 1.2 \* retry_period"):
        LeaderElector(client, "ns", "name", lease_duration=LEASE_DURATION, renew_deadline=12, retry_period=10)
    with pytest.raises(ValueError, match="retry_period must be at least 1"):
        LeaderElector(
            client, "ns", "name", lease_duration=LEASE_DURATION, renew_deadline=RENEW_DEADLINE, retry_period=0.5
        )


async def test_a_leader_that_reads_of_another_one_ends_at_once(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    """The Lease was deleted, and another replica was the first to make it again."""
    background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    server.held_by("other")
    await clock.advance(RETRY_PERIOD)
    await eventually(lambda: candidate.calls == ["started", "stopped"])
    assert not candidate.elector.is_leader()


async def _until_leading(candidate: Candidate, clock: FakeClock) -> float:
    """The time at which it leads; half a second passes at a time."""
    while not candidate.elector.is_leader():
        await clock.advance(0.5)
        await eventually(lambda: clock.asleep or candidate.elector.is_leader())
    return clock.time


async def test_a_lease_that_vanished_is_created_again_only_when_its_holders_time_is_over(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    """The holder may not have noticed yet, and still bind."""
    server.held_by("another")
    background(candidate.elector.run())
    await eventually(lambda: candidate.elector.holder == "another" and clock.asleep)
    last_seen = clock.time
    server.deleted()

    led_from = await _until_leading(candidate, clock)

    assert 15 <= led_from - last_seen <= 18
    assert candidate.elector.alone_from <= led_from


async def test_a_lease_created_again_without_a_holder_was_not_given_back(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    server.held_by("another")
    background(candidate.elector.run())
    await eventually(lambda: candidate.elector.holder == "another" and clock.asleep)
    last_seen = clock.time
    server.deleted()
    server.held_by("")

    assert 15 <= await _until_leading(candidate, clock) - last_seen <= 18


async def test_a_leader_whose_lease_was_deleted_makes_it_again_and_goes_on(
    api: FakeApi, server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    server.deleted()
    await clock.advance(RETRY_PERIOD)
    await eventually(lambda: len(api.sent("POST", LEASES)) == 2)
    await clock.advance(9)

    assert candidate.elector.is_leader()
    assert candidate.calls == ["started"]
    assert server.spec is not None
    assert server.spec["holderIdentity"] == "me"


async def test_a_leader_that_is_too_late_to_recreate_its_lease_ends_with_that_attempt(
    api: FakeApi, server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    campaign = background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    server.held_by("another")
    api.on("GET", LEASE, refusal(404, "NotFound"), server._get)

    await clock.advance(RETRY_PERIOD)
    await eventually(campaign.done)

    assert len(api.sent("POST", LEASES)) == 2, "the second was refused: there is one"
    assert candidate.calls == ["started", "stopped"]


async def test_a_replica_that_has_never_seen_a_lease_assumes_that_there_was_one(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    """One may have been deleted a moment ago, and its holder may not know yet."""
    background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    assert candidate.elector.alone_from == clock.time + 15


async def test_a_replica_that_takes_a_released_lease_is_alone_from_then_on(
    server: Server, candidate: Candidate, clock: FakeClock, background: Background
) -> None:
    server.held_by("")
    background(candidate.elector.run())
    await eventually(candidate.elector.is_leader)
    assert candidate.elector.alone_from == clock.time
