"""A copy of the cluster in which the scheduler has run until nothing changed, and in which changes can be tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import msgspec
import numpy as np

from volcano_py.api.names import IGNORED_ANNOTATION
from volcano_py.api.objects import ApiObject, Pod, PodGroup
from volcano_py.api.reasons import Reason
from volcano_py.api.report import CycleReport
from volcano_py.api.wording.explain import invalid_queue
from volcano_py.cluster.manifests import Stored
from volcano_py.cluster.memory_pods import group_of
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.job import Job
from volcano_py.framework.registry import Registry
from volcano_py.framework.session import Session
from volcano_py.operator.podgroups.generated_group import GroupRules, is_ours
from volcano_py.simulation import Mark, Simulation
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.table.axis import IntVector

T = TypeVar("T", bound=ApiObject)

_ALIVE: Final = ("Pending", "Running")
_WORK: Final = 150_000
"""Nodes and pods that are looked at again in trials: about a second's work."""
_MOST_STEPS: Final = 20
"""A cluster that still changes then, such as one in which evictions go on, is looked at as it stands."""


class Change(msgspec.Struct, frozen=True):
    """An object as it would be; `obj` is None for one that would be gone."""

    kind: str
    key: str
    obj: ApiObject | None


class World:
    """See the module. `live`: as for a simulation."""

    def __init__(
        self,
        items: Iterable[Stored],
        configuration: SchedulerConfiguration,
        registry: Registry,
        *,
        rules: GroupRules | None = None,
        live: float | None = None,
    ) -> None:
        self.items = tuple(items)
        self.rules = rules or GroupRules()
        self.registry = registry
        self._simulation = Simulation(self.items, configuration, registry, rules=self.rules, live=live)
        self._before: Mark | None = None
        """How all stood before `ahead`, until it stands like that again."""
        self.settle()
        self.report: CycleReport = self.simulation.reports[-1]
        self.evictions = tuple(self.simulation.cluster.evict_effects)
        """What the scheduler evicts next."""
        self._ignored: dict[tuple[str, str], dict[str, None]] = {}
        self._invalid: dict[str, dict[str, None]] = {}
        for event in self.simulation.cluster.events:
            if event.reason == IGNORED_ANNOTATION:
                self._ignored.setdefault((event.about.kind, event.about.key), {})[event.message] = None
            elif event.reason == Reason.INVALID_QUEUE.value:
                self._invalid.setdefault(event.about.name, {})[event.message] = None
        self.session = self._open()
        self.simulation.only_try()
        self.pods_by_group: dict[str, list[Pod]] = {}
        for pod in self.objects("Pod", Pod):
            self.pods_by_group.setdefault(group_of(pod), []).append(pod)
        self.jobs: Mapping[str, Job] = {job.key: job for job in self.session.all_jobs()}
        self.tries_left = self.affordable(least=16, most=1000)
        """How many remedies may still be tried: the larger the cluster, the fewer."""

    @property
    def simulation(self) -> Simulation:
        """The copy; what happened `ahead` is undone."""
        if self._before is not None:
            self._simulation.back_to(self._before)
            self._before = None
        return self._simulation

    @property
    def configuration(self) -> SchedulerConfiguration:
        return self.simulation.configuration

    def objects(self, kind: str, of: type[T]) -> list[T]:
        return self.simulation.cluster.objects(kind, of)

    def captured(self, kind: str, of: type[T]) -> Iterator[T]:
        """The objects of a kind as the cluster has them, before the scheduler ran over the copy."""
        return (obj for each, obj in self.items if each == kind and isinstance(obj, of))

    def ignored(self, kind: str, key: str) -> tuple[str, ...]:
        """What the events of the object say that the scheduler ignores of it, as it cannot be read."""
        return tuple(self._ignored.get((kind, key), ()))

    def ignored_of_queue(self, name: str) -> tuple[str, ...]:
        """The same of a queue, and its fields that cannot be used as they are; each names the queue."""
        queue = self.session.queues.get(name)
        problems = () if queue is None else queue.problems
        return tuple(invalid_queue(name, each) for each in (*problems, *self.ignored("Queue", name)))

    def invalid_queue(self, name: str) -> tuple[str, ...]:
        """What the events of a queue say that keeps its jobs from starting; each names the queue."""
        ignored = self.ignored_of_queue(name)
        return tuple(text for text in self._invalid.get(name, ()) if text not in ignored)

    def affordable(self, *, least: int, most: int) -> int:
        """How many trials a cluster of this size allows."""
        size = int(self.session.ledger.nodes.present.sum()) + sum(map(len, self.pods_by_group.values()))
        return min(max(_WORK // max(size, 1), least), most)

    def group(self, key: str) -> PodGroup | None:
        return self.simulation.cluster.get("PodGroup", key, PodGroup)

    def placed(self, group: str) -> int:
        """How many pods of the PodGroup (namespace/name) have a node and have not ended."""
        return sum(bool(pod.spec.node_name) and pod.status.phase in _ALIVE for pod in self.pods_of(group))

    def pods_of(self, group: str) -> list[Pod]:
        """The pods of the PodGroup (namespace/name); those of other schedulers do not count for it."""
        return [pod for pod in self.simulation.cluster.pods_of(group) if is_ours(pod, self.rules)]

    def group_of_pod(self, key: str) -> str:
        """Its PodGroup as namespace/name; a pod without one is its own."""
        pod = self.simulation.cluster.get("Pod", key, Pod)
        return (group_of(pod) if pod is not None else "") or key

    def amounts(self, vector: IntVector) -> dict[str, int]:
        """[R] as resource name → whole units, without zeros."""
        names = self.session.ledger.axis.names
        return {name: int(value) for name, value in zip(names, vector.tolist(), strict=False) if value}

    @contextmanager
    def trial(
        self,
        changes: Sequence[Change],
        configuration: SchedulerConfiguration | None = None,
        until: Callable[[], bool] = lambda: False,
    ) -> Iterator[None]:
        """Inside, the changes have been made and the scheduler has run, until nothing changes or `until` holds;
        afterwards all is as it was before."""
        with self.simulation.aside(configuration):
            for change in changes:
                if change.obj is None:
                    self.simulation.cluster.remove(change.kind, change.key)
                else:
                    self.simulation.cluster.put(change.kind, change.obj)
            self.settle(until)
            yield

    @contextmanager
    def ahead(self) -> Iterator[Simulation]:
        """Inside, time may go on in the copy that is given. That is undone when this world is used next: mostly it is
        not, and in a large cluster that would take half as long as what happened."""
        simulation = self.simulation
        mark = simulation.mark()
        simulation.forget()
        try:
            yield simulation
        finally:
            self._before = mark

    def settle(self, until: Callable[[], bool] = lambda: False) -> None:
        """Run the scheduler and the controllers until nothing changes. A Volcano Job whose status says that its pods
        could not be created gets none (`operator.jobs.in_memory`). When `until` holds, it stops in the middle of a
        cycle, and the world has to go back to how it was before."""
        simulation = self.simulation

        def holds() -> bool:
            return not simulation.cluster.pods_leave and until()  # (those on their way out may be of those that count)

        for _ in range(_MOST_STEPS):
            if not simulation.step(holds) or holds():
                break

    def _open(self) -> Session:
        """A session over the cluster as it stands, in which nothing is decided."""
        snapshot = self.simulation.state.snapshot(self.simulation.now)
        index = NodeIndex(snapshot.nodes, snapshot.nodes_version)
        return Session(
            snapshot,
            self.configuration,
            self.registry,
            node_index=index,
            emit=lambda _effects: None,
            tie_rank=np.asarray(index.name_rank),
        )
