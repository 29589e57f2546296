"""The plugin reservation over streams of jobs that come, run and end as declared.

- A place is held for one job at a time.
- A job starts no later than was foreseen when its place was held, if declared runtimes are honoured.
- Nothing is refused for ever: what could run has run in the end, whatever else waits.
- Where no job waits for long, nothing is decided otherwise than without the plugin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.sessions import node
from tests.support.timeline import BEGINNING, Timeline, job

_MINUTE: Final = 60
_WITHOUT: Final = (("priority", "gang"), ("predicates", "nodeorder"))


class Coming(msgspec.Struct, frozen=True):
    """A job that comes `at`, in seconds; times are whole minutes, as those in messages are. `declared`: for how long it
    says that it runs, None if it does not say."""

    name: str
    at: int
    pods: int
    cpu: int
    runs: int
    declared: int | None

    def objects(self) -> list[Any]:
        return job(self.name, pods=self.pods, cpu=str(self.cpu), at=self.at, runs=self.declared)


@st.composite
def streams(draw: st.DrawFn, *, declares: bool) -> tuple[list[int], list[Coming]]:
    """CPU of the nodes, and the jobs in the order in which they come."""
    nodes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    coming: list[Coming] = []
    at = 0
    for number in range(draw(st.integers(1, 14))):
        at += draw(st.integers(0, 3)) * _MINUTE
        is_large = draw(st.integers(0, 3)) == 0
        pods, cpu = (draw(st.integers(1, 5)), draw(st.integers(1, 4))) if is_large else (1, draw(st.integers(1, 2)))
        runs = draw(st.integers(1, 10)) * _MINUTE
        says = declares or draw(st.booleans())
        longer = draw(st.integers(0, 5)) * _MINUTE
        coming.append(Coming(f"j{number}", at, pods, cpu, runs, runs + longer if says else None))
    return nodes, coming


class Stream:
    """Lives through a stream, from event to event."""

    def __init__(self, cpus: list[int], coming: list[Coming], **how: Any) -> None:
        self.timeline = Timeline(*(node(f"n{number}", cpu=str(cpu)) for number, cpu in enumerate(cpus)), **how)
        self._coming = list(reversed(coming))
        self._runs = {each.name: each.runs for each in coming}
        self.started: dict[str, float] = {}
        """Job → when its pods got places."""

    def live(self, until: float, look: Callable[[float], None] = lambda _now: None) -> None:
        now = 0.0
        while now <= until:
            while self._coming and self._coming[-1].at <= now:
                self.timeline.add(*self._coming.pop().objects())
            ended = [pod for pod in self.timeline.placed if self._end(pod) <= now]
            self.timeline.finish(*ended)
            report = self.timeline.at(now)
            for pod in self.timeline.placed:
                self.started.setdefault(pod.rpartition("-")[0], now)
            look(now)
            moments = [self._end(pod) for pod in self.timeline.placed]
            moments += [float(self._coming[-1].at)] if self._coming else []
            due = max(report.recheck_at, report.look_again_at) - BEGINNING.timestamp()
            moments += [due] if due > now else []
            if not moments:
                return
            now = max(min(moments), now + 0.1)

    def _end(self, pod: str) -> float:
        name = pod.rpartition("-")[0]
        return self.started[name] + self._runs[name]


@settings(max_examples=150, deadline=None)
@given(streams(declares=True), st.sampled_from(["1s", "60s"]))
def test_a_job_starts_by_the_time_that_was_foreseen(stream: tuple[list[int], list[Coming]], after: str) -> None:
    lived = Stream(*stream, after=after)
    promised: dict[str, float] = {}

    def look(now: float) -> None:
        held = lived.timeline.holders
        assert len(held) <= 1
        for name in promised.keys() - set(held) - lived.started.keys():
            del promised[name]  # it gave way to a job that goes first
        for name in held:
            if (start := lived.timeline.foreseen(name)) is not None:
                promised.setdefault(name, start)
        for name, by in promised.items():
            # (where all is free already, the next cycle is meant)
            assert lived.started.get(name, now) <= by + 1, f"{name} was to start by {by}"

    lived.live(4000, look)


@settings(max_examples=100, deadline=None)
@given(streams(declares=False), st.sampled_from(["0%", "50%", "100%"]))
def test_nothing_is_refused_forever(stream: tuple[list[int], list[Coming]], max_idle: str) -> None:
    cpus, coming = stream
    lived = Stream(cpus, coming, after="30s", holdFor="2m", maxIdle=max_idle)

    def look(_now: float) -> None:
        assert len(lived.timeline.holders) <= 1

    lived.live(50_000, look)
    able = {each.name for each in coming if sum(cpu // each.cpu for cpu in cpus) >= each.pods}
    assert able <= lived.started.keys(), {
        name: lived.timeline.reported(f"{name}-0") for name in able - lived.started.keys()
    }


@settings(max_examples=60, deadline=None)
@given(streams(declares=False))
def test_where_no_job_waits_for_long_nothing_is_decided_otherwise(stream: tuple[list[int], list[Coming]]) -> None:
    cpus, coming = stream
    without, idle = Stream(cpus, coming, tiers=_WITHOUT), Stream(cpus, coming, after="100h")
    nodes: list[dict[float, dict[str, str]]] = []
    for lived in (without, idle):
        seen: dict[float, dict[str, str]] = {}
        lived.live(4000, lambda now, seen=seen, lived=lived: seen.update({now: lived.timeline.placed}))  # type: ignore[misc]
        nodes.append(seen)
    assert without.started == idle.started
    # Either may wake the scheduler once more: the plugin, and jobs that rest for room, which none do next to it.
    shared = nodes[0].keys() & nodes[1].keys()
    assert {at: nodes[0][at] for at in shared} == {at: nodes[1][at] for at in shared}
