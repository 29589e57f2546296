"""Nothing is decided while one kind is behind the others; the queues are listed before decisions go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.support.sessions import pod as task
from tests.support.sessions import pod_group, queue
from tests.unit.cluster.fakes import FakeApi, FakeClock, RecordingSink, Reply, eventually, kubeconfig, page
from tests.unit.daemon.cycling import Bench
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.watching.informers import Informers
from volcano_py.cluster.kubernetes.watching.kinds import STATE_KINDS
from volcano_py.daemon.leading.picture import LONG, Picture
from volcano_py.state.table.change import Change


class Queues:
    """What stands for kopf: queues that are listed when the test says so."""

    def __init__(self, clock: FakeClock) -> None:
        self.listed_from = clock.monotonic()
        self.behind = 0.0
        self.on_current: Callable[[], None] = lambda: None
        self.wanted: list[float] = []
        self.answer = asyncio.Event()

    async def list_since(self, moment: float) -> None:
        self.wanted.append(moment)
        await self.answer.wait()
        self.listed_from = moment
        self.on_current()


class Subject:
    """A picture of all kinds, fed by informers from a server."""

    def __init__(self, api: FakeApi, client: KubernetesClient, clock: FakeClock) -> None:
        self.api, self.clock, self.whole = api, clock, 0
        self.queues = Queues(clock)
        self.informers = Informers(client, RecordingSink(), STATE_KINDS, clock=clock)
        kopf: Any = self.queues
        self.picture = Picture(self.informers, kopf, whole=self._whole, clock=clock)

    def _whole(self) -> None:
        self.whole += 1

    async def until_followed(self) -> None:
        """Until all watches are open."""
        await eventually(lambda: len(self.api._open) == len(STATE_KINDS))

    async def break_nodes(self) -> None:
        """Its watch breaks, and the server does not list them either."""
        self.api.on("GET", "/api/v1/nodes", Reply(503))
        watches = {watch.request.path: watch for watch in self.api._open}
        self.api.refuse_watch(*[Reply(503)] * 3)
        watches["/api/v1/nodes"].drop()
        await eventually(lambda: self.informers.behind("Node"), self.clock)


@pytest.fixture
async def subject(tmp_path: Path) -> AsyncIterator[Subject]:
    api, clock = FakeApi(), FakeClock()
    await api.start()
    for kind in STATE_KINDS:
        api.on("GET", kind.path, page(10))
    client = await KubernetesClient.connect(kubeconfig(tmp_path / "kubeconfig", api.url), clock=clock)
    async with client:
        found = Subject(api, client, clock)
        running = asyncio.create_task(found.informers.run())
        await found.informers.wait_synced()
        await found.until_followed()
        yield found
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    await api.stop()


async def test_while_all_is_well_nothing_waits(subject: Subject) -> None:
    assert subject.picture.is_current()
    assert subject.picture.problem() is None
    assert (subject.whole, subject.queues.wanted) == (0, []), "nor is anything woken"


async def test_one_kind_that_is_behind_pauses_decisions_until_the_queues_are_listed_too(subject: Subject) -> None:
    with capture_logs() as logs:
        await subject.break_nodes()
        assert not subject.picture.is_current()
        assert not subject.picture.is_current()

        subject.api.on("GET", "/api/v1/nodes", page(20))
        await eventually(lambda: subject.queues.wanted, subject.clock)
        assert set(subject.picture.behind()) == {"Queue"}
        assert not subject.picture.is_current()
        assert subject.whole == 0
        subject.queues.answer.set()
        await eventually(lambda: subject.whole)

    assert subject.picture.is_current()
    assert subject.whole == 1
    said = [entry for entry in logs if entry["event"].startswith("decisions")]
    assert [entry["event"] for entry in said] == [
        "decisions paused: not all kinds are watched",
        "decisions resumed: all kinds are watched",
    ]
    assert said[0]["kinds"] == ["Node"]


async def test_queues_that_are_behind_alone_pause_decisions_until_they_are_listed_or_watched(subject: Subject) -> None:
    subject.queues.behind = 2.5
    assert subject.picture.behind() == {"Queue": 2.5}
    assert not subject.picture.is_current()
    subject.queues.on_current()
    assert subject.whole == 0, "they are still behind"
    subject.queues.behind = 0.4
    subject.queues.on_current()
    assert subject.whole == 1
    assert subject.picture.is_current()


async def test_a_kind_that_stays_behind_makes_the_replica_unready_with_its_name(subject: Subject) -> None:
    await subject.break_nodes()
    assert subject.picture.problem() is None, "a restart of the server is no reason"
    await eventually(lambda: subject.picture.behind()["Node"] > LONG, subject.clock)
    problem = subject.picture.problem() or ""
    assert problem.startswith("decisions are paused because some kinds are not watched: Node for 3")
    assert problem.endswith(" s; see the log")


async def test_no_cycle_begins_on_an_old_picture_and_none_is_lost(bench: Bench) -> None:
    bench.current = False
    bench.put(queue("q"), pod_group("g", queue="q", min_member=1), task("p", group="g", cpu="1"))
    assert await bench.after(5) == 0
    bench.current = True
    bench.wakeup.wake(Change.STATUS)
    assert await bench.after(1) >= 1
    assert bench.binds == {"p": "n1"}
