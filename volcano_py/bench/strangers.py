"""The effect of an attack on other tenants: small gangs and Jobs at a steady rate, and how soon they are bound."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from volcano_py.bench.figures import AuditLog, Timeline
from volcano_py.bench.loads.attacks import group, job, pod, task
from volcano_py.bench.news import News
from volcano_py.bench.tenants import Tenant

PROBES: Final = ("pods", "job")
"""`pods`: a PodGroup and its two pods; from the last pod's creation to the last binding. `job`: a Volcano Job of two
pods; from the Job's creation to the last binding."""

_SIZE: Final = 2  # pods of a probe
_WANTED: Final = {"cpu": "20m", "memory": "32Mi"}  # by both
_EVERY: Final = 0.25  # seconds between two probes, of either kind in turn
_PATIENCE: Final = 30.0  # seconds after a phase until a probe that is not bound is given up
_LOOK_AGAIN: Final = 0.2  # seconds


@dataclass(frozen=True, slots=True)
class Latency:
    """In seconds, over one phase. A probe that was not bound counts with the time until it was given up."""

    probes: int
    unbound: int
    p50: float
    p90: float
    worst: float

    @classmethod
    def of(cls, seconds: Sequence[float], unbound: int) -> Latency:
        """`seconds` are all of them, the unbound too."""
        if not seconds:
            return cls(0, unbound, 0.0, 0.0, 0.0)
        p50, p90 = np.percentile(seconds, (50, 90))
        return cls(len(seconds), unbound, float(p50), float(p90), float(max(seconds)))

    def as_json(self) -> dict[str, Any]:
        return {
            "probes": self.probes,
            "unbound": self.unbound,
            "p50_seconds": self.p50,
            "p90_seconds": self.p90,
            "worst_seconds": self.worst,
        }


@dataclass(frozen=True, slots=True)
class Phase:
    """What strangers saw for some seconds.

    The others are 90th percentiles over their own pods. `write_p90` and `news_p90` are the API server's part, which no
    scheduler can avoid: how long it took to create a pod, and how long afterwards a watch of the bench's own showed it.
    `rest_p90` is from then until the binding, for both pods of a probe together.
    """

    latency: dict[str, Latency]
    write_p90: float
    news_p90: float
    rest_p90: float

    def as_json(self) -> dict[str, Any]:
        return {
            **{probe: latency.as_json() for probe, latency in self.latency.items()},
            "write_p90_seconds": self.write_p90,
            "news_p90_seconds": self.news_p90,
            "rest_p90_seconds": self.rest_p90,
        }


class Strangers:
    """One more tenant, with small requests that should be served soon."""

    def __init__(self, tenant: Tenant, audit: AuditLog, news: News) -> None:
        self._tenant, self._audit, self._news = tenant, audit, news
        self._made = 0

    async def phase(self, seconds: float, since: asyncio.Event | None = None) -> Phase:
        """Send probes at once and until `seconds` after `since` is set; wait for their bindings, and report."""
        first, started = self._made, time.monotonic()
        end = float("inf")
        async with asyncio.TaskGroup() as sending:
            while time.monotonic() < end:
                if end == float("inf") and (since is None or since.is_set()):
                    end = time.monotonic() + seconds
                sending.create_task(self._send(self._made))
                self._made += 1
                await asyncio.sleep(max(0.0, started + (self._made - first) * _EVERY - time.monotonic()))
        probes, namespace = range(first, self._made), self._tenant.namespace
        await self._wait_bound(probes)
        return summary(self._audit.timeline(namespace), self._news.seen, namespace, probes, time.time())

    async def clear(self) -> None:
        """Delete all probes."""
        await self._tenant.clear()

    async def _wait_bound(self, probes: range) -> None:
        """Return when all pods are bound, or when patience is at an end."""
        expected = {key for number in probes for key in _pods(self._tenant.namespace, number)}
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if expected <= self._audit.timeline(self._tenant.namespace).bound.keys():
                return
            await asyncio.sleep(_LOOK_AGAIN)

    async def _send(self, number: int) -> None:
        name = _name(number)
        if _kind(number) == "job":
            await self._tenant.create([job(name, task("t", _SIZE))])
        else:
            await self._tenant.create([group(name, _SIZE, minResources=_WANTED)])
            await self._tenant.create(pod(f"{name}-t-{member}", group=name) for member in range(_SIZE))


def summary(timeline: Timeline, seen: Mapping[str, float], namespace: str, probes: range, now: float) -> Phase:
    """The latencies of these probes; those that are not bound have waited until `now`. `seen`: when a watch showed each
    pod. Moments are in seconds since the epoch."""
    mine = [_pods(namespace, number) for number in probes if _kind(number) == "pods"]
    created = [key for pods in mine for key in pods if key in timeline.created]
    return Phase(
        {kind: _latency(timeline, namespace, [n for n in probes if _kind(n) == kind], now) for kind in PROBES},
        write_p90=_p90([timeline.writes[key] for key in created if key in timeline.writes]),
        # An event may overtake the answer, after which a pod counts as created.
        news_p90=_p90([max(0.0, seen.get(key, now) - timeline.created[key]) for key in created]),
        rest_p90=_p90([_from_seen_to_bound(timeline, seen, pods, now) for pods in mine if seen.keys() >= set(pods)]),
    )


def _latency(timeline: Timeline, namespace: str, probes: Sequence[int], now: float) -> Latency:
    waits = [_wait(timeline, namespace, number, now) for number in probes]
    return Latency.of([seconds for seconds, _ in waits], sum(not is_bound for _, is_bound in waits))


def _from_seen_to_bound(timeline: Timeline, seen: Mapping[str, float], pods: Sequence[str], now: float) -> float:
    """Seconds from when a watch had shown all pods of a probe until all were bound."""
    return max(0.0, max(timeline.bound.get(key, now) for key in pods) - max(seen[key] for key in pods))


def _p90(seconds: Sequence[float]) -> float:
    """0 of nothing."""
    return float(np.percentile(seconds, 90)) if seconds else 0.0


def _wait(timeline: Timeline, namespace: str, number: int, now: float) -> tuple[float, bool]:
    """How long a probe has waited, and whether it is bound."""
    pods = _pods(namespace, number)
    if _kind(number) == "job":
        created = timeline.jobs.get(f"{namespace}/{_name(number)}", now)
    else:
        created = max(timeline.created.get(key, now) for key in pods)
    is_bound = all(key in timeline.bound for key in pods)
    return (max(timeline.bound[key] for key in pods) if is_bound else now) - created, is_bound


def _kind(number: int) -> str:
    return PROBES[number % len(PROBES)]


def _name(number: int) -> str:
    return f"probe-{number}"


def _pods(namespace: str, number: int) -> list[str]:
    """namespace/name of a probe's pods; those of a Job are called JOB-TASK-INDEX."""
    return [f"{namespace}/{_name(number)}-t-{member}" for member in range(_SIZE)]
