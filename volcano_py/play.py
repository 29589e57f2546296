"""A simulation in which time matters: work comes when it was created, runs for a while, and ends.

The cluster is there from the beginning; pods, PodGroups, and what pods are made for come at their creation times. With
annotations, an object comes again and again, and a pod says how long it really runs (otherwise as long as is declared:
its running estimate, or up to its deadline; without either it never ends). A step is made when something happens, so
hours pass in seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from volcano_py.api.go_values import format_duration, parse_duration
from volcano_py.api.names import GROUP_NAME, RUNNING_ESTIMATE, SIMULATE_EVERY, SIMULATE_RUNS_FOR, SIMULATE_TIMES
from volcano_py.api.objects import ApiObject, Pod, PodGroup, metadata_of
from volcano_py.cluster.manifests import VOLCANO_JOB, ManifestError, Stored
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.registry import Registry
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.simulation import CYCLE_SECONDS, Simulation, SimulationResult

T = TypeVar("T", bound=ApiObject)

MOST_COPIES: Final = 10_000
"""How often one object may come."""
_MOST_STEPS: Final = 100_000
_COMING: Final = frozenset({"Pod", "PodGroup", VOLCANO_JOB, "Job", "ReplicaSet", "StatefulSet"})
_NUMBER: Final = re.compile(r"[1-9]\d{0,5}", re.ASCII)


class Run(msgspec.Struct):
    """One pod on its node, in seconds since the beginning. `ended` is None while it runs."""

    pod: str
    node: str
    started: float
    ended: float | None = None


class Work(msgspec.Struct, frozen=True):
    """What became of one object, and of its copies.

    Attributes:
        name: namespace/name as in the manifest.
        came, started, ended: how many PodGroups did so far.
        waits: seconds from coming to starting, of those that have started, and so far of those that have not.
    """

    name: str
    came: int
    started: int
    ended: int
    waits: tuple[float, ...]

    @property
    def mean_wait(self) -> float:
        return sum(self.waits) / len(self.waits) if self.waits else 0.0

    @property
    def longest_wait(self) -> float:
        return max(self.waits, default=0.0)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "came": self.came,
            "started": self.started,
            "ended": self.ended,
            "meanWait": format_duration(timedelta(seconds=round(self.mean_wait))),
            "longestWait": format_duration(timedelta(seconds=round(self.longest_wait))),
        }


class PlayResult(msgspec.Struct, frozen=True):
    """How it went. `utilisation`: resource → share of the cluster that was in use, over the whole time."""

    seconds: float
    work: tuple[Work, ...]
    utilisation: Mapping[str, float]
    runs: tuple[Run, ...]
    simulation: SimulationResult

    def as_json(self) -> dict[str, Any]:
        played = {
            "time": format_duration(timedelta(seconds=self.seconds)),
            "work": [work.as_json() for work in self.work],
            "utilisation": {name: round(share, 4) for name, share in self.utilisation.items()},
        }
        return {**self.simulation.as_json(), "played": played}


class Play:
    """See the module; `items` are objects as an API server would store them.

    Raises:
        ManifestError: an annotation of ours cannot be read.
    """

    def __init__(
        self,
        items: Iterable[Stored],
        configuration: SchedulerConfiguration,
        registry: Registry,
        *,
        rules: GroupRules | None = None,
    ) -> None:
        there: list[Stored] = []
        coming: list[tuple[float, Stored]] = []
        self._origin: dict[str, str] = {}
        for kind, obj in items:
            if kind not in _COMING:
                there.append((kind, obj))
                continue
            for copy in _copies(kind, obj):
                meta = metadata_of(copy)
                self._origin[meta.uid] = metadata_of(obj).key
                coming.append((meta.created, (kind, copy)))
        self._coming = sorted(coming, key=lambda each: each[0], reverse=True)
        self._simulation = Simulation(there, configuration, registry, rules=rules)
        self._begun = self._coming[-1][0] if self._coming else self._simulation.now
        self._runs: dict[str, Run] = {}
        self._groups: dict[str, PodGroup] = {}
        """By UID, all that have been seen: controllers delete those of Jobs that have ended."""
        self._starts: dict[str, list[float]] = {}
        """namespace/name of a PodGroup → when its pods began to run, in order (seconds since the epoch)."""
        self._integral: NDArray[np.float64] = np.zeros(0)

    def run(self, seconds: float) -> PlayResult:
        """So much time from the first object that comes."""
        simulation, now, last = self._simulation, self._begun, self._begun + seconds
        for _ in range(_MOST_STEPS):
            self._advance(now)
            simulation.now = now - CYCLE_SECONDS
            changed = simulation.step()
            self._note(now)
            following = now + CYCLE_SECONDS if changed else self._next_event(now)
            if following is None or following > last:
                break
            self._use(following - now)
            now = following
        self._use(last - now)
        return self._result(seconds, last)

    # -- time --------------------------------------------------------------------------------------------------------

    def _advance(self, now: float) -> None:
        """What comes and ends until now."""
        cluster = self._simulation.cluster
        for pod in [*self._running()]:
            if self._end_of(pod) <= now:
                run = self._runs.get(pod.metadata.uid)
                if run is not None:
                    run.ended = self._end_of(pod) - self._begun
                killed = pod.spec.active_deadline_seconds is not None and _runs_for(pod) > _deadline(pod)
                status = replace(pod.status, phase="Failed" if killed else "Succeeded")
                cluster.put("Pod", replace(pod, status=status))
        while self._coming and self._coming[-1][0] <= now:
            _, (kind, obj) = self._coming.pop()
            cluster.put(kind, obj)

    def _next_event(self, now: float) -> float | None:
        moments = [self._end_of(pod) for pod in self._running()]
        moments += [self._coming[-1][0]] if self._coming else []
        moments += [self._simulation.look_again_at] if self._simulation.look_again_at else []
        soonest = min((moment for moment in moments if moment < float("inf")), default=None)
        return None if soonest is None else max(soonest, now + CYCLE_SECONDS / 100)

    def _running(self) -> Iterator[Pod]:
        return (pod for pod in self._simulation.cluster.objects("Pod", Pod) if pod.status.phase == "Running")

    def _end_of(self, pod: Pod) -> float:
        """When the pod ends, infinite for never."""
        begun = pod.status.start_time.timestamp() if pod.status.start_time is not None else pod.metadata.created
        runs_for = _runs_for(pod)
        if runs_for == float("inf"):
            group = self._group_of(pod)
            said = None if group is None else group.metadata.annotations.get(RUNNING_ESTIMATE)
            runs_for = _seconds(said, RUNNING_ESTIMATE, pod) if said is not None else runs_for
        return begun + min(runs_for, _deadline(pod))

    def _group_of(self, pod: Pod) -> PodGroup | None:
        name = pod.metadata.annotations.get(GROUP_NAME, "")
        return self._simulation.cluster.get("PodGroup", f"{pod.metadata.namespace}/{name}", PodGroup)

    # -- what happened -----------------------------------------------------------------------------------------------

    def _note(self, now: float) -> None:
        cluster = self._simulation.cluster
        for pod in self._running():
            if pod.metadata.uid not in self._runs:
                started = pod.status.start_time.timestamp() if pod.status.start_time is not None else now
                self._runs[pod.metadata.uid] = Run(pod.metadata.key, pod.spec.node_name, started - self._begun)
                group = f"{pod.metadata.namespace}/{pod.metadata.annotations.get(GROUP_NAME, '')}"
                self._starts.setdefault(group, []).append(started)
        self._groups |= {group.metadata.uid: group for group in cluster.objects("PodGroup", PodGroup)}

    def _use(self, seconds: float) -> None:
        """What is in use now is in use for so long."""
        nodes = self._simulation.state.ledger.nodes
        used = np.where(nodes.present[:, None], nodes.used, 0).sum(axis=0) * max(seconds, 0.0)
        used[: len(self._integral)] += self._integral
        self._integral = used

    def _result(self, seconds: float, last: float) -> PlayResult:
        state = self._simulation.state
        nodes = state.ledger.nodes
        total = self._simulation.offered().total(nodes.present) * seconds
        shares = {
            name: float(self._integral[dim] / total[dim])
            for dim, name in enumerate(state.ledger.axis.names)
            if total[dim] > 0 and name != "pods"
        }
        runs = tuple(sorted(self._runs.values(), key=lambda run: (run.started, run.pod)))
        result = self._simulation.result(settled=True)
        return PlayResult(seconds, tuple(self._work(last)), shares, runs, result)

    def _work(self, last: float) -> Iterator[Work]:
        groups: dict[str, list[PodGroup]] = {}
        for group in self._groups.values():
            owner = group.metadata.controller
            uid = group.metadata.uid if owner is None else owner.uid
            groups.setdefault(self._origin.get(uid, group.metadata.key), []).append(group)
        for name, of_name in groups.items():
            started = [self._started_at(group) for group in of_name]
            waits = [
                (last if moment is None else moment) - group.metadata.created
                for group, moment in zip(of_name, started, strict=True)
            ]
            yield Work(
                name=name,
                came=len(of_name),
                started=sum(moment is not None for moment in started),
                ended=sum(map(self._has_ended, of_name)),
                waits=tuple(max(wait, 0.0) for wait in waits),
            )

    def _started_at(self, group: PodGroup) -> float | None:
        """When its minimum ran."""
        starts, minimum = self._starts.get(group.metadata.key, []), max(group.spec.min_member, 1)
        return starts[minimum - 1] if len(starts) >= minimum else None

    def _has_ended(self, group: PodGroup) -> bool:
        """All of its pods, or its Job, whose PodGroup is deleted then."""
        is_there = self._simulation.cluster.get("PodGroup", group.metadata.key, PodGroup) is not None
        return group.status.phase == "Completed" or not is_there


def _copies(kind: str, obj: T) -> Iterator[T]:
    """The object as often as it comes."""
    meta: Any = metadata_of(obj)
    text = meta.annotations.get(SIMULATE_TIMES)
    if text is None:
        yield obj
        return
    if _NUMBER.fullmatch(text) is None or int(text) > MOST_COPIES:
        raise ManifestError(f"{kind} {meta.key}: {SIMULATE_TIMES} is {text!r}: write a number from 1 to {MOST_COPIES}")
    every = _seconds(meta.annotations.get(SIMULATE_EVERY, "1m"), SIMULATE_EVERY, obj)
    for number in range(int(text)):
        moment = datetime.fromtimestamp(meta.created + number * every, UTC)
        name = f"{meta.name}-{number}"
        metadata = replace(meta, name=name, uid=f"{meta.uid}-{number}", creation_timestamp=moment)
        copy: Any = replace(obj, metadata=metadata)
        yield copy


def _runs_for(pod: Pod) -> float:
    """Seconds that the pod really runs, if nothing ends it before; infinite where it does not say."""
    text = pod.metadata.annotations.get(SIMULATE_RUNS_FOR)
    return float("inf") if text is None else _seconds(text, SIMULATE_RUNS_FOR, pod)


def _deadline(pod: Pod) -> float:
    return float(pod.spec.active_deadline_seconds or float("inf"))


def _seconds(text: str, key: str, obj: ApiObject) -> float:
    try:
        seconds = parse_duration(text).total_seconds()
    except ValueError as error:
        raise ManifestError(f"{metadata_of(obj).key}: {key}: {error}") from error
    if seconds <= 0:
        raise ManifestError(f"{metadata_of(obj).key}: {key} is {text}: write a duration above 0")
    return seconds
