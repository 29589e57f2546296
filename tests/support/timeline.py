"""A cluster in memory at moments of the test's choice; nothing comes or ends but what the test says.

    timeline = Timeline(node("n1", cpu="4"), *job("small", cpu="3", on=["n1"], runs=600), after="5m")
    timeline.add(*job("large", cpu="4", at=10))
    timeline.at(400)
    assert timeline.reported("late-0").startswith("PlacesHeld")

Times are seconds since the beginning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import yaml
from msgspec.structs import replace

from tests.support.registries import checked_registry
from tests.support.sessions import NAMESPACE, NOW, gang
from volcano_py.api.names import RUNNING_ESTIMATE
from volcano_py.api.objects import ApiObject, Condition, Node, Pod, PodGroup, PriorityClass, Queue, metadata_of
from volcano_py.api.report import CycleReport
from volcano_py.api.wording.pod_message import why_pod_waits
from volcano_py.config.parse import parse_configuration
from volcano_py.simulation import Simulation

T = TypeVar("T", bound=ApiObject)

BEGINNING: Final = NOW
_KINDS: Final[tuple[type[ApiObject], ...]] = (Node, Queue, PriorityClass, PodGroup, Pod)


def moment(seconds: float) -> datetime:
    return BEGINNING + timedelta(seconds=seconds)


def job(
    name: str,
    *,
    pods: int = 1,
    cpu: str = "1",
    at: float = 0.0,
    on: Sequence[str] = (),
    runs: int | None = None,
    estimate: str = "",
    condition: Condition | None = None,
    **more: Any,
) -> list[ApiObject]:
    """A PodGroup and its pods, which came, or began to run on nodes `on`, at `at`. `runs`: their
    activeDeadlineSeconds; `estimate`: the running estimate of the group."""
    made: list[ApiObject] = []
    for each in gang(name, pods=pods, cpu=cpu, running_on=on, **more):
        obj: Any = replace(each, metadata=replace(metadata_of(each), creation_timestamp=moment(at)))
        if isinstance(obj, PodGroup):
            annotations = {RUNNING_ESTIMATE: estimate} if estimate else {}
            status = replace(obj.status, conditions=[] if condition is None else [condition])
            obj = replace(obj, metadata=replace(obj.metadata, annotations=annotations), status=status)
        else:
            status = replace(obj.status, start_time=moment(at) if obj.spec.node_name else None)
            obj = replace(obj, spec=replace(obj.spec, active_deadline_seconds=runs), status=status)
        made.append(obj)
    return made


class Timeline:
    """See the module. `arguments` are those of the plugin reservation, `others` those of other plugins by name."""

    def __init__(
        self,
        *objects: ApiObject,
        tiers: Sequence[Sequence[str]] = (("priority", "gang", "reservation"), ("predicates", "nodeorder")),
        actions: str = "enqueue, allocate, backfill",
        others: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        of_plugins = {"reservation": arguments, **(others or {})}
        named = [[{"name": name, "arguments": of_plugins.get(name, {})} for name in tier] for tier in tiers]
        text = yaml.safe_dump({"actions": actions, "tiers": [{"plugins": tier} for tier in named]})
        registry = checked_registry()
        parsed = parse_configuration(text, registry.catalogue())
        assert parsed.config is not None, parsed.problems
        self._configuration, self._registry = parsed.config, registry
        self._simulation = self._begin(objects)

    def _begin(self, objects: Sequence[ApiObject]) -> Simulation:
        return Simulation([(type(each).__name__, each) for each in objects], self._configuration, self._registry)

    def restart(self) -> None:
        """Another scheduler, which knows what the API server knows."""
        objects = [each for kind in _KINDS for each in self._simulation.cluster.objects(kind.__name__, kind)]
        self._simulation = self._begin(objects)

    def at(self, seconds: float) -> CycleReport:
        """One cycle."""
        self._simulation.now = moment(seconds).timestamp() - 1
        self._simulation.step()
        report = self._simulation.reports[-1]
        assert not report.plugin_errors
        assert not report.action_errors
        return report

    def add(self, *objects: ApiObject) -> None:
        for each in objects:
            self._simulation.cluster.put(type(each).__name__, each)

    def finish(self, *pods: str) -> None:
        for name in pods:
            found = self.pod(name)
            self.add(replace(found, status=replace(found.status, phase="Succeeded")))

    def remove(self, kind: str, name: str) -> None:
        self._simulation.cluster.remove(kind, name)

    def pod(self, name: str) -> Pod:
        found = self._simulation.cluster.get("Pod", f"{NAMESPACE}/{name}", Pod)
        assert found is not None, name
        return found

    def node_of(self, pod: str) -> str:
        return self.pod(pod).spec.node_name

    @property
    def placed(self) -> dict[str, str]:
        """Pod → node, of all that have one and have not ended."""
        pods = self._simulation.cluster.objects("Pod", Pod)
        alive = (pod for pod in pods if pod.spec.node_name and pod.status.phase == "Running")
        return {pod.metadata.name: pod.spec.node_name for pod in alive}

    def reported(self, pod: str) -> str:
        return why_pod_waits(self.pod(pod))

    def group_reported(self, name: str) -> str:
        """The message of the condition Unschedulable of a PodGroup."""
        conditions = self.group(name).status.conditions
        return next((each.message for each in conditions if each.type == "Unschedulable"), "")

    def group(self, name: str) -> PodGroup:
        found = self._simulation.cluster.get("PodGroup", f"{NAMESPACE}/{name}", PodGroup)
        assert found is not None, name
        return found

    def condition(self, group: str) -> tuple[str, str, str] | None:
        """Status, reason and message of the condition PlaceHeld."""
        each = next((each for each in self.group(group).status.conditions if each.type == "PlaceHeld"), None)
        return None if each is None else (each.status, each.reason, each.message)

    def foreseen(self, group: str) -> float | None:
        """By when the job is to start, in seconds since the beginning; None if that is not known."""
        _, _, message = self.condition(group) or ("", "", "")
        _, _, by = message.partition("the job is expected to start by ")
        return (datetime.fromisoformat(by.replace(" UTC", "+00:00")) - BEGINNING).total_seconds() if by else None

    @property
    def holders(self) -> list[str]:
        """PodGroups whose condition says that a place is held for them."""
        groups = self._simulation.cluster.objects("PodGroup", PodGroup)
        return [
            group.metadata.name
            for group in groups
            if any(each.type == "PlaceHeld" and each.status == "True" for each in group.status.conditions)
        ]
