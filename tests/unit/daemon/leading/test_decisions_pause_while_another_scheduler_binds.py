"""What becomes of foreign bindings: decisions pause, and metrics, status, log and an event report it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest_asyncio
import structlog

from tests.support.sessions import node, pod
from tests.unit.cluster.fakes import FakeClock
from volcano_py.api.effects import Bind, Event, ObjectRef
from volcano_py.daemon.leading.foreign_bindings import SETTLE
from volcano_py.daemon.leading.other_scheduler import OtherScheduler
from volcano_py.observe.metrics import Metrics
from volcano_py.state.cluster_state import ClusterState

SILENCE = 30.0


class Bench:
    """A daemon's state with waiting pods, and what is reported."""

    def __init__(self, silence: float = SILENCE, is_ours: Callable[[str], bool] | None = None) -> None:
        self.clock, self.metrics, self.state = FakeClock(), Metrics(), ClusterState()
        self.events: list[Event] = []
        self.resumptions: list[float] = []
        self.other = OtherScheduler(
            self.state,
            self.metrics,
            silence=silence,
            record=self.events.append,
            resumed=self._resume,
            is_ours=is_ours,
            clock=self.clock,
        )
        self.state.upsert("Node", node("n1", cpu="8"))

    def waits(self, *names: str, scheduler: str = "volcano") -> None:
        for name in names:
            self._show(name, "", scheduler)

    def bound(self, *names: str, scheduler: str = "volcano") -> None:
        """The API server shows these pods on a node."""
        for name in names:
            self._show(name, "n1", scheduler)

    def value(self, name: str) -> float | None:
        return self.metrics.registry.get_sample_value(name)

    def _show(self, name: str, on: str, scheduler: str) -> None:
        shown = pod(name, on=on, scheduler=scheduler)
        self.other.upsert("Pod", shown)
        self.state.upsert("Pod", shown)

    def _resume(self) -> None:
        self.resumptions.append(self.clock.monotonic())


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    """It leads, where no replica of ours led before."""
    bench = Bench()
    bench.other.lead(after_ours=False)
    task = asyncio.create_task(bench.other.run())
    yield bench
    task.cancel()


async def test_decisions_pause_until_the_other_has_been_silent(bench: Bench) -> None:
    bench.waits("a", "b", "c")
    bench.bound("a")
    assert not bench.other.is_present()
    bench.bound("b")
    assert bench.other.is_present()
    await bench.clock.advance(SILENCE - 1)
    bench.bound("c")
    await bench.clock.advance(SILENCE - 1)
    assert bench.other.is_present()
    assert not bench.resumptions
    await bench.clock.advance(SILENCE)
    assert not bench.other.is_present(), "the silence is half as long again at most"
    assert len(bench.resumptions) == 1


async def test_it_is_reported(bench: Bench) -> None:
    bench.waits("a", "b")
    assert bench.other.status() is None
    with structlog.testing.capture_logs() as logs:
        bench.bound("a", "b")
    assert [(each["log_level"], each["pod"], each["node"]) for each in logs] == [("error", "team/b", "n1")]
    assert bench.value("volcano_other_scheduler") == 1
    assert bench.value("volcano_foreign_bindings_total") == 2
    status = bench.other.status()
    assert status is not None
    assert (status["lastPod"], status["lastNode"], status["secondsAgo"]) == ("team/b", "n1", 0.0)
    assert SILENCE <= status["resumesIn"] <= 1.5 * SILENCE
    (event,) = bench.events
    assert (event.about.key, event.type, event.reason) == ("team/b", "Warning", "OtherScheduler")
    assert "to node n1" in event.message
    assert "scheduler name volcano" in event.message
    await bench.clock.advance(2 * SILENCE)
    assert bench.value("volcano_other_scheduler") == 0
    assert bench.other.status() is None


async def test_own_bindings_do_not_pause_decisions(bench: Bench) -> None:
    bench.waits("a", "b")
    uids = [pod(name).metadata.uid for name in ("a", "b")]
    binds = [Bind(ObjectRef("Pod", "team", name, uid), "n1", "") for name, uid in zip("ab", uids, strict=True)]
    assert all(bench.state.assume_all_bound(binds))
    bench.other.sent(binds)
    bench.bound("a", "b")
    assert not bench.other.is_present()
    assert bench.value("volcano_foreign_bindings_total") == 0


async def test_pods_that_were_never_seen_waiting_do_not_count(bench: Bench) -> None:
    """They were created with a node, or bound before the first list."""
    bench.bound("a", "b", "c")
    bench.bound("a", "b", "c")
    assert not bench.other.is_present()


async def test_pods_of_other_schedulers_do_not_count(bench: Bench) -> None:
    bench.waits("a", "b", "c", scheduler="default-scheduler")
    bench.bound("a", "b", "c", scheduler="default-scheduler")
    assert not bench.other.is_present()


async def test_last_requests_of_a_predecessor_do_not_count() -> None:
    bench = Bench()
    bench.waits("a", "b", "c", "d")
    bench.other.lead(after_ours=True)
    bench.bound("a", "b")
    assert not bench.other.is_present()
    await bench.clock.advance(SETTLE)
    bench.bound("c", "d")
    assert bench.other.is_present()


async def test_it_can_be_switched_off() -> None:
    bench = Bench(silence=0.0)
    bench.other.lead(after_ours=False)
    bench.waits("a", "b")
    bench.bound("a", "b")
    assert not bench.other.is_present()
    assert bench.value("volcano_foreign_bindings_total") == 0


async def test_bindings_to_nodes_of_other_shards_are_those_of_their_schedulers() -> None:
    bench = Bench(is_ours=lambda node: node != "n1")
    bench.other.lead(after_ours=False)
    bench.waits("a", "b")
    bench.bound("a", "b")
    assert not bench.other.is_present()
    assert bench.value("volcano_foreign_bindings_total") == 0
