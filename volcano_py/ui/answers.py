"""Answers that need a run of the scheduler over a copy of the cluster: explanations, trials and plans."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from volcano_py.api.objects import Pod
from volcano_py.capture.kinds import essentials
from volcano_py.capture.model import Capture, CapturedEvent
from volcano_py.capture.start import rules_of
from volcano_py.cluster.manifests import Document, ManifestError, bounded, read_text
from volcano_py.cluster.memory_pods import group_of
from volcano_py.config import SchedulerConfiguration, format_problems, parse_configuration
from volcano_py.explain.of_node import explain_node
from volcano_py.explain.of_queue import explain_queue
from volcano_py.explain.of_workload import explain_workload
from volcano_py.explain.target import ExplainError
from volcano_py.explain.world import World
from volcano_py.ui.cluster import Cluster
from volcano_py.ui.rights.explanations import reduced
from volcano_py.ui.rights.sight import CONFIGURATION, EVENTS, JOBS, NODES, POD_GROUPS, PODS, QUEUES, Sight
from volcano_py.what_if import changes as of
from volcano_py.what_if.changes import ChangeError
from volcano_py.what_if.trial import tried

_FRESH_FOR: Final = 5.0
"""Seconds for which a copy of a cluster that changes serves the next questions, too."""


class AnswerError(ValueError):
    """A question without an answer; the text says why."""


class Changes(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """What the form asks for, as the options of `volcano-py what-if` have it; `submit` is YAML."""

    delete: tuple[str, ...] = ()
    remove_node: tuple[str, ...] = ()
    add_nodes: tuple[str, ...] = ()
    cordon: tuple[str, ...] = ()
    submit: str = ""
    set: tuple[str, ...] = ()

    def as_changes(self) -> Sequence[of.Change]:
        """In the order in which they are made.

        Raises:
            AnswerError: there is none, or the YAML cannot be read.
        """
        found: list[of.Change] = [
            *map(of.Delete, self.delete),
            *map(of.RemoveNode, self.remove_node),
            *map(of.AddNodes, self.add_nodes),
            *map(of.Cordon, self.cordon),
            *([of.Submit(_documents(self.submit))] if self.submit.strip() else ()),
            *map(of.SetField, self.set),
        ]
        if not found:
            raise AnswerError("name a change to try, such as 3 more nodes like one that is there")
        return found


class Answers:
    """Each answer is worked out in a thread, one after the other: the copy is changed while remedies are tried."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._lock = asyncio.Lock()
        self._world: tuple[int, float, World] | None = None

    async def explain(self, kind: str, name: str, sight: Sight) -> dict[str, Any]:
        """As `volcano-py explain KIND NAME -o json`, as far as it may be seen. `name` is namespace/name for a podgroup,
        job or pod.

        Raises:
            AnswerError: there is no such object, or it may not be seen.
        """
        namespace, slash, _ = name.partition("/")
        needed = {"queue": (QUEUES,), "node": (NODES,), "job": (POD_GROUPS, PODS, JOBS)}.get(kind, (POD_GROUPS, PODS))
        if not all(sight.may(resource, namespace if slash else "") for resource in needed):
            raise AnswerError(f"{kind} {name} does not exist, or is not yours to see")
        has_events = slash and sight.may(EVENTS, namespace)
        events, unread = await self._cluster.events(namespace) if has_events else ((), None)
        async with self._lock:
            try:
                found = await self._explained(kind, name, events)
            except AnswerError:
                if self._world is not None and self._world[0] == self._cluster.number:
                    raise
                self._world = None  # a new copy has what was created since
                found = await self._explained(kind, name, events)
        missing = (*self._cluster.unread, *([unread] if unread is not None else []))
        answer: dict[str, Any] = msgspec.to_builtins(reduced(replace(found, unread=tuple(map(str, missing))), sight))
        return answer

    def pods(self, group: str, sight: Sight) -> list[dict[str, Any]]:
        """The pods of a PodGroup (namespace/name) as they are, by name: for the map of a gang.

        Raises:
            AnswerError: they may not be seen.
        """
        if not sight.may(PODS, group.partition("/")[0]):
            raise AnswerError("its pods are not yours to see")
        found = [pod for pod in self._cluster.objects("Pod", Pod) if group_of(pod) == group]
        return [_pod(pod) for pod in sorted(found, key=lambda pod: pod.metadata.key)]

    async def try_changes(self, asked: Changes, sight: Sight) -> dict[str, Any]:
        """As `volcano-py what-if -o json`.

        Raises:
            AnswerError: a change cannot be made, or too little can be read or seen.
        """
        _must_see_all(sight)
        return await self._tried(asked.as_changes(), None)

    async def plan(self, text: str, sight: Sight) -> dict[str, Any]:
        """As `volcano-py config plan -o json`, for an edited configuration, with the warnings about it.

        Raises:
            AnswerError: it is invalid, or too little can be read or seen.
        """
        _must_see_all(sight, CONFIGURATION)
        parsed = parse_configuration(text, self._cluster.registry.catalogue(), source="your edit")
        if parsed.config is None:
            raise AnswerError(format_problems(parsed.errors, text, source="your edit"))
        found = await self._tried((), parsed.config)
        return {**found, "warnings": [str(problem) for problem in parsed.warnings]}

    async def _tried(
        self, changes: Sequence[of.Change], configuration: SchedulerConfiguration | None
    ) -> dict[str, Any]:
        capture = self._cluster.capture()
        if missing := [each.what for each in essentials(capture.unread)]:
            raise AnswerError(f"nothing can be tried without {' and '.join(missing)} objects, which you may not list")
        async with self._lock:
            return await asyncio.to_thread(
                _difference, self._cluster, capture, self._cluster.configuration, changes, configuration
            )

    async def _explained(self, kind: str, name: str, events: Sequence[CapturedEvent]) -> Any:
        decides = not essentials(self._cluster.unread)
        return await asyncio.to_thread(_explanation, await self._world_now(), kind, name, events, decides=decides)

    async def _world_now(self) -> World:
        number, now = self._cluster.number, time.monotonic()
        if self._world is not None and (self._world[0] == number or now - self._world[1] < _FRESH_FOR):
            return self._world[2]
        capture, configuration = self._cluster.capture(), self._cluster.configuration
        world = await asyncio.to_thread(
            World, capture.items, configuration, self._cluster.registry, rules=rules_of(capture), live=capture.taken
        )
        self._world = number, now, world
        return world


def _must_see_all(sight: Sight, *more: str) -> None:
    """A trial tells of all work in the cluster, so it is only for who may see all of it."""
    if not sight.sees_all_work or not all(map(sight.may, more)):
        raise AnswerError(
            "a trial tells of all work: it takes the rights to list pods, podgroups, queues, nodes and hypernodes"
            f" everywhere{', and to get the ConfigMap of the configuration' if more else ''}"
        )


def _explanation(world: World, kind: str, name: str, events: Sequence[CapturedEvent], *, decides: bool) -> Any:
    try:
        if kind == "queue":
            return explain_queue(world, name)
        if kind == "node":
            return explain_node(world, name)
        return explain_workload(world, kind, name, events, decides=decides)
    except ExplainError as error:
        raise AnswerError(str(error)) from error


def _difference(
    cluster: Cluster,
    capture: Capture,
    configuration: SchedulerConfiguration,
    changes: Sequence[of.Change],
    new: SchedulerConfiguration | None,
) -> dict[str, Any]:
    try:
        return tried(capture, cluster.registry, configuration, changes=changes, new_configuration=new).as_json()
    except ChangeError as error:
        raise AnswerError(str(error)) from error


def _documents(text: str) -> tuple[Document, ...]:
    try:
        return tuple(read_text(bounded(text, "your manifest"), "your manifest"))
    except ManifestError as error:
        raise AnswerError(str(error)) from error


def _pod(pod: Pod) -> dict[str, Any]:
    leaving = pod.metadata.deletion_timestamp is not None
    return {
        "name": pod.metadata.name,
        "node": pod.spec.node_name,
        "phase": "Terminating" if leaving else pod.status.phase,
    }
