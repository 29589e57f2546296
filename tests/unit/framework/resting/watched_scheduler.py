"""A small cluster whose scheduler shows which jobs each cycle looks at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

import numpy as np

from tests.support.registries import ACTIONS, PLUGINS
from tests.support.sessions import NOW, priority_class, queue
from tests.unit.state.watched import with_status
from volcano_py.api.effects import Bind, Effect, Evict, PodCondition, PodGroupStatusUpdate, QueueAllocated
from volcano_py.api.objects import ApiObject, Condition, Pod, PodGroup, Queue, metadata_of
from volcano_py.api.report import CycleReport
from volcano_py.config import parse_configuration
from volcano_py.framework.job import Job
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.registry import Registry
from volcano_py.framework.views import Codes, NodeView
from volcano_py.scheduler import Scheduler
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.task_class import Refusal, TaskClass

CONFIGURATION: Final = """
actions: "{actions}"
tiers:
{first}- plugins: [{{name: gang}}, {{name: predicates}}, {{name: {owner}}}, {{name: watcher}}{more}]
"""


class Watcher(Plugin):
    """Notes which jobs are looked at."""

    name = "watcher"
    evictions_last = True
    jobs: ClassVar[set[str]] = set()

    def job_valid(self, job: Job) -> Refusal | None:
        self.jobs.add(job.info.ref.name)
        return None


class Talker(Plugin):
    """Says more than which nodes refuse, and does not say what of it lasts."""

    name = "talker"

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        return np.zeros(len(view), dtype=np.int32)

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> Sequence[str]:
        return []


class Silent(Plugin):
    """Does not say what its answers about evictions follow from."""

    name = "silent"


class Faulty(Talker):
    """Fails when it is asked."""

    name = "faulty"

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes:
        raise RuntimeError("broken")


class Cluster:
    """State and scheduler; whatever is written shows at once."""

    def __init__(
        self,
        *objects: ApiObject,
        actions: str = "enqueue, allocate, backfill",
        owner: str = "proportion",
        more: str = "",
        first: str = "",
    ) -> None:
        """`owner`: the plugin that divides the cluster among queues. `first`: a plugin in a tier before all others."""
        registry = Registry.of((*PLUGINS, Watcher, Talker, Silent, Faulty), ACTIONS)
        before = f"- plugins: [{first}]\n" if first else ""
        parsed = parse_configuration(
            CONFIGURATION.format(actions=actions, owner=owner, more=more, first=before), registry.catalogue()
        )
        assert parsed.config is not None, parsed.problems
        self.configuration = parsed.config
        self.state = ClusterState()
        self.objects: dict[tuple[str, str], ApiObject] = {}
        self.sent: list[Effect] = []
        self.now = NOW.timestamp()
        self._scheduler = Scheduler(registry, self.sent.extend)
        self.put(queue("default"), *objects)

    def put(self, *objects: ApiObject) -> None:
        for obj in objects:
            self.objects[type(obj).__name__, metadata_of(obj).name] = obj
            self.state.upsert(type(obj).__name__, obj)

    def pod(self, name: str) -> Pod:
        found = self.objects["Pod", name]
        assert isinstance(found, Pod)
        return found

    def cycle(self) -> CycleReport:
        self.sent.clear()
        Watcher.jobs.clear()
        report = self._scheduler.run_cycle(self.state.snapshot(self.now), self.configuration)
        for effect in list(self.sent):
            self._write(effect)
        return report

    def _write(self, effect: Effect) -> None:
        match effect:
            case Bind():
                assert self.state.assume_bound(effect.pod.uid, effect.node)
            case Evict():
                assert self.state.assume_evicted(effect.pod.uid)
            case PodCondition():
                messages = Condition(type="PodScheduled", status="False", reason=effect.reason, message=effect.message)
                self.put(with_status(self.pod(effect.pod.name), conditions=[messages]))
            case PodGroupStatusUpdate():
                group = self.objects["PodGroup", effect.group.name]
                assert isinstance(group, PodGroup)
                counts = {"running": effect.running, "succeeded": effect.succeeded, "failed": effect.failed}
                self.put(with_status(group, phase=effect.phase, conditions=[*effect.conditions], **counts))
            case QueueAllocated():
                found = self.objects["Queue", effect.queue]
                assert isinstance(found, Queue)
                self.put(with_status(found, allocated=dict(effect.allocated)))
            case _:
                pass

    def cycles(self) -> Iterator[CycleReport]:
        """Until none is due."""
        for _ in range(50):
            report = self.cycle()
            yield report
            if not report.look_again_at:
                return
            self.now = report.look_again_at
        raise AssertionError("cycles without end")

    def bound(self) -> list[str]:
        """The pods that the last cycle has bound, by name."""
        return sorted(effect.pod.name for effect in self.sent if isinstance(effect, Bind))

    def settle(self) -> CycleReport:
        """Until everything has been reported and is known to be."""
        for _ in range(3):
            report = self.cycle()
        return report

    def looked_at(self) -> set[str]:
        """The jobs that another cycle looks at."""
        self.cycle()
        return set(Watcher.jobs)

    def looked_at_after_any_change(self) -> set[str]:
        """The jobs that another cycle looks at once something has changed that concerns none of them."""
        assert self.looked_at() == set()
        self.put(priority_class("unused", 1))
        return self.looked_at()
