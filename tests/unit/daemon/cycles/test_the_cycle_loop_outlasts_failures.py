"""What the loop of cycles does when decisions are overtaken by events, or parts of it fail.

Real state, real scheduler, built-in configuration; only the writer is a list.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from tests.support.registries import checked_registry
from tests.support.sessions import NAMESPACE, gang, node, queue
from volcano_py.api.effects import Bind, Effect, Evict, ObjectRef
from volcano_py.api.objects import ApiObject
from volcano_py.cluster.kubernetes.clock import SystemClock
from volcano_py.config.defaults import default_configuration_text
from volcano_py.config.parse import parse_configuration
from volcano_py.daemon.cycles import CycleLoop, CycleTiming
from volcano_py.daemon.wakeup import Wakeup
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.snapshot import Snapshot


class Leaping(SystemClock):
    """The machine's time, `ahead` by so many seconds."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=self.ahead)


class Bench:
    """A loop of cycles and what it has sent."""

    def __init__(self) -> None:
        self.clock = Leaping()
        self.state = ClusterState()
        self.sent: list[Effect] = []
        self.evictions: list[Sequence[Evict]] = []
        self.failures: list[str] = []
        self.after_snapshot: list[Callable[[], None]] = []
        """Called once each, between the next snapshot and what is decided on it."""
        self._snapshot = self.state.copy
        self.state.copy = self._take_snapshot  # type: ignore[method-assign]
        registry = checked_registry()
        configuration = parse_configuration(default_configuration_text(), registry.catalogue()).config
        self.wakeup = Wakeup(self.clock)
        self.loop = CycleLoop(
            self.state,
            registry,
            self,
            self.wakeup,
            configuration=lambda: configuration,
            active=lambda: True,
            timing=CycleTiming(period=0.02, decisive_pause=0.001, status_pause=0.001),
            seed=1,
            on_evictions=self.evictions.append,
            on_failure=lambda: self.failures.append("a cycle"),
            clock=self.clock,
        )

    def apply(self, effects: Sequence[Effect]) -> None:
        """The writer."""
        self.sent += effects

    def put(self, *objects: ApiObject) -> None:
        for obj in objects:
            self.state.upsert(type(obj).__name__, obj)

    def remove(self, obj: ApiObject) -> None:
        self.state.delete(type(obj).__name__, obj)

    @property
    def binds(self) -> dict[str, str]:
        """Pod → node, as sent."""
        return {effect.pod.name: effect.node for effect in self.sent if isinstance(effect, Bind)}

    def _take_snapshot(self, now: float, former: Snapshot | None = None) -> Snapshot:
        taken = self._snapshot(now, former)
        while self.after_snapshot:
            # Before the worker thread hands anything over, as that waits for the loop.
            asyncio.get_running_loop().call_soon(self.after_snapshot.pop())
        return taken


@pytest_asyncio.fixture
async def bench() -> AsyncIterator[Bench]:
    bench = Bench()
    bench.put(queue("default"))
    yield bench
    bench.loop.stop()


async def eventually(check: Callable[[], bool]) -> None:
    """Fails by the test's own time limit."""
    while not check():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0.002)


async def running(bench: Bench) -> asyncio.Task[None]:
    return asyncio.create_task(bench.loop.run())


async def test_a_gang_is_not_begun_when_one_of_its_pods_has_gone_meanwhile(bench: Bench) -> None:
    """Decided together, handed over together: half a gang would hold its places for nothing."""
    members = gang("train", pods=3, cpu="1")
    *_, last = members
    bench.put(node("n1", cpu="8"), *members)
    bench.after_snapshot.append(lambda: bench.remove(last))

    task = await running(bench)
    await eventually(lambda: bench.loop.last_report is not None and bench.loop.last_report.number > 1)
    assert bench.binds == {}
    assert bench.state.drift() == 0

    bench.put(last)
    await eventually(lambda: len(bench.binds) == 3)
    bench.loop.stop()
    await task


async def test_a_gang_that_finds_no_room_any_more_is_decided_again(bench: Bench) -> None:
    """Another client's pod takes the room while the cycle decides; nothing else happens that would wake the loop."""
    rival = gang("rival", pods=1, cpu="6", running_on=["n1"])[-1]
    bench.put(node("n1", cpu="8"), node("n2", cpu="2"), *gang("train", pods=4, cpu="1", min_member=4))
    bench.after_snapshot.append(lambda: bench.put(rival))

    task = await running(bench)
    await eventually(lambda: len(bench.binds) == 4)
    assert sorted(bench.binds.values()) == ["n1", "n1", "n2", "n2"]
    bench.loop.stop()
    await task


async def test_a_retry_that_falls_due_during_a_cycle_is_not_missed(bench: Bench) -> None:
    """The moment has passed when the cycle ends, and no event will ever come for it."""
    bench.put(node("n1", cpu="8"), *gang("train", pods=1, cpu="1"))
    task = await running(bench)
    await eventually(lambda: len(bench.binds) == 1)
    (bind,) = (effect for effect in bench.sent if isinstance(effect, Bind))
    bench.sent.clear()

    # Due after the snapshot of the next cycle, and over before that cycle ends.
    def an_hour_passes() -> None:
        bench.clock.ahead = 3600.0

    bench.after_snapshot.append(an_hour_passes)
    bench.state.bind_failed(bind.pod.uid, retry_at=bench.clock.now().timestamp() + 1800.0)

    await eventually(lambda: len(bench.binds) == 1)
    bench.loop.stop()
    await task


async def test_a_loop_that_failed_can_be_run_again(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The supervisor starts it again; it must then work as before."""
    bench.put(node("n1", cpu="8"), *gang("train", pods=1, cpu="1"))

    def fail(_pause: float) -> Any:
        raise RuntimeError("a defect of ours")

    with monkeypatch.context() as patch:
        patch.setattr(bench.loop, "_woken", fail)
        with pytest.raises(RuntimeError, match="a defect of ours"):
            await bench.loop.run()

    task = await running(bench)
    await eventually(lambda: len(bench.binds) == 1)
    bench.loop.stop()
    await task


@pytest.mark.parametrize("part", ["snapshot", "report"])
async def test_a_cycle_that_fails_is_tried_again(bench: Bench, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it fails."""
    failures = iter([RuntimeError("a defect of ours")])

    def fail_once(*_: object) -> None:
        for failure in failures:
            raise failure

    if part == "snapshot":
        bench.after_snapshot.append(fail_once)
        take = bench.state.copy

        def snapshot(now: float, former: Snapshot | None) -> Any:
            fail_once()
            return take(now, former)

        monkeypatch.setattr(bench.state, "copy", snapshot)
    else:
        monkeypatch.setattr(bench.loop, "_on_report", fail_once)
    bench.put(node("n1", cpu="8"), *gang("train", pods=1, cpu="1"))

    task = await running(bench)
    await eventually(lambda: len(bench.binds) == 1)
    bench.put(*gang("later", pods=1, cpu="1"))
    await eventually(lambda: len(bench.binds) == 2)
    bench.loop.stop()
    await task
    assert bench.failures == ["a cycle"]


async def test_a_cycle_that_was_asked_for_comes_although_nothing_happens(bench: Bench) -> None:
    """Whoever asks has something that only a cycle can say again."""
    task = await running(bench)
    bench.put(node("n1", cpu="8"))
    await eventually(lambda: bench.loop.last_report is not None)
    before = bench.loop.last_report
    assert before is not None

    bench.wakeup.wake_later(0.02)
    bench.wakeup.wake_later(0.03)

    await eventually(lambda: bench.loop.last_report is not before)
    bench.loop.stop()
    await task


def test_evictions_are_reported_together_without_those_of_pods_that_are_gone(bench: Bench) -> None:
    bench.put(node("n1", cpu="8"), *gang("low", pods=2, cpu="1", running_on=["n1", "n1"]))
    group = ObjectRef("PodGroup", NAMESPACE, "low", "")
    evictions = [
        Evict(ObjectRef("Pod", NAMESPACE, name, f"pod-{NAMESPACE}-{name}"), group, "preempt", "for another")
        for name in ("low-0", "low-1", "gone")
    ]
    bench.loop._assume(evictions)
    assert bench.evictions == [evictions[:2]]
    assert bench.sent == evictions[:2]
