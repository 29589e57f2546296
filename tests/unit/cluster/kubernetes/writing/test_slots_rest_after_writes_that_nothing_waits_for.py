"""Statuses and events of one namespace leave the API server time for others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from tests.unit.cluster.fakes import FakeClock, pod_ref
from volcano_py.api.effects import Event, ObjectRef, PodCondition, PodGroupStatusUpdate
from volcano_py.api.reasons import Reason
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.writing.events import EventRecorder
from volcano_py.cluster.kubernetes.writing.rest import LONGEST, TIMES
from volcano_py.cluster.kubernetes.writing.status_writer import StatusWriter

T = TypeVar("T")


class SlowServer:
    """Takes a while for each write, and notes when each began."""

    def __init__(self, seconds: float, clock: FakeClock) -> None:
        self.began: list[float] = []
        """Seconds since the test began."""
        self._seconds, self._clock, self._start = seconds, clock, clock.monotonic()

    async def _write(self, *_arguments: Any, **_options: Any) -> None:
        self.began.append(self._clock.monotonic() - self._start)
        await self._clock.sleep(self._seconds)

    patch = post = _write

    async def read(self, _path: ApiPath, kind: Callable[..., T]) -> T:
        """Discovery: nothing has a status as a subresource."""
        return kind(resources=[])


def condition(name: str) -> PodCondition:
    return PodCondition(pod_ref(name), "Unschedulable", "0/3 nodes are available", Reason.NODES_REFUSE)


def status_writer(server: Any, clock: FakeClock) -> StatusWriter:
    return StatusWriter(server, in_flight=1, clock=clock)


def recorder(server: Any, clock: FakeClock) -> EventRecorder:
    return EventRecorder(server, "volcano", in_flight=1, clock=clock)


def event(name: str) -> Event:
    return Event(pod_ref(name), "Warning", "FailedScheduling", "no room")


@pytest.mark.parametrize(("seconds", "pause"), [(0.1, TIMES * 0.1), (2.0, LONGEST)])
async def test_the_next_condition_waits_some_times_as_long_as_the_last_took(
    seconds: float, pause: float, clock: FakeClock
) -> None:
    server = SlowServer(seconds, clock)
    writer = status_writer(server, clock)
    writer.submit([condition("a"), condition("b"), condition("c")])
    await clock.advance(30)
    step = seconds + pause
    assert server.began == pytest.approx([0, step, 2 * step])


async def test_a_podgroup_that_was_admitted_waits_for_no_rest(clock: FakeClock) -> None:
    server = SlowServer(0.1, clock)
    writer = status_writer(server, clock)
    groups = [ObjectRef("PodGroup", "ns", name, name) for name in ("g", "h")]
    writer.submit([condition("a"), *(PodGroupStatusUpdate(group, "Inqueue", (), 0, 0, 0) for group in groups)])
    await clock.advance(30)
    assert server.began == pytest.approx([0, 0, 0.1])


async def test_events_rest_too(clock: FakeClock) -> None:
    server = SlowServer(0.1, clock)
    recorder(server, clock).submit([event("a"), event("b")])
    await clock.advance(30)
    assert server.began == pytest.approx([0, 0.1 * (1 + TIMES)])


async def test_statuses_left_at_the_end_of_the_process_are_written_without_a_rest(clock: FakeClock) -> None:
    server = SlowServer(0.1, clock)
    writer = status_writer(server, clock)
    writer.submit([condition("a"), condition("b"), condition("c")])
    draining = asyncio.create_task(writer.drain(5))
    await clock.advance(30)
    assert await draining == 0
    assert server.began == pytest.approx([0, 0.1, 0.2])


async def test_events_left_at_the_end_of_the_process_are_written_without_a_rest(clock: FakeClock) -> None:
    server = SlowServer(0.1, clock)
    events = recorder(server, clock)
    events.submit([event("a"), event("b")])
    draining = asyncio.create_task(events.drain(5))
    await clock.advance(30)
    assert await draining == 0
    assert server.began == pytest.approx([0, 0.1])
