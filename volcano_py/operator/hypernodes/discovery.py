"""Keeps the HyperNodes that follow from labels of nodes: creates what is missing, corrects what differs, and deletes
late.

HyperNodes without the source's label belong to others and are left alone. Nothing is deleted at once: nodes are
replaced and relabelled, and a source may be away. When the labels of no node name anything, nothing is deleted at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import structlog

from volcano_py.api.effects import JsonObject
from volcano_py.api.hyper_nodes import HyperNode, HyperNodeSpec
from volcano_py.api.json_values import converted
from volcano_py.api.objects import ApiObject, Node
from volcano_py.cluster.kubernetes.http.errors import ConflictError
from volcano_py.cluster.kubernetes.writing.turns import CLUSTER
from volcano_py.operator.controller import Controller
from volcano_py.operator.hypernodes.labels import SOURCE_LABEL, hyper_nodes_of
from volcano_py.operator.hypernodes.sources import LABEL, LabelSource, read_sources
from volcano_py.operator.kube_api import IsActive, KubeApi, delete_object, hyper_node_path

log = structlog.get_logger(__name__)

_INTERVAL: Final = 1.0
"""Seconds for which changes are collected."""


class HyperNodeDiscovery(Controller[str]):
    """A `Sink` for HyperNodes and nodes; `run` does the work, while there is a source (`configure`)."""

    def __init__(self, api: KubeApi, *, active: IsActive) -> None:
        super().__init__("hypernode discovery", lambda _source: CLUSTER, active=active, workers=1)
        self._api = api
        self._source: LabelSource | None = None
        self._problems: tuple[str, ...] = ()
        self._nodes: dict[str, Mapping[str, str]] = {}
        self._known: dict[str, HyperNode] = {}
        self._surplus_since: dict[str, float] = {}

    def configure(self, text: str) -> None:
        """This is the configuration now; "" for none. A source that is taken out stops, and its HyperNodes stay."""
        found = read_sources(text)
        for problem in found.problems:
            if problem not in self._problems:
                log.error("discovery of HyperNodes: configuration ignored in part", problem=problem)
        self._source, self._problems = found.labels, found.problems
        self._changed()

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        if kind == "Node":
            self._nodes.clear()
        elif kind == "HyperNode":
            self._known.clear()
        for obj in objects:
            self.upsert(kind, obj)
        self._changed()

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: new or changed."""
        match obj:
            case Node():
                name, labels = obj.metadata.name, obj.metadata.labels
                if self._nodes.get(name) != labels:
                    self._nodes[name] = labels
                    self._changed()
            case HyperNode():
                known = self._known.get(obj.metadata.name)
                self._known[obj.metadata.name] = obj
                if known is None or known.spec != obj.spec or known.metadata.labels != obj.metadata.labels:
                    self._changed()

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: gone."""
        match obj:
            case Node():
                self._nodes.pop(obj.metadata.name, None)
            case HyperNode():
                self._known.pop(obj.metadata.name, None)
        self._changed()

    def _changed(self) -> None:
        if self._source is not None:
            self._work.add(LABEL, _INTERVAL)

    def _keys(self) -> Iterable[str]:
        return (LABEL,)

    async def _reconcile(self, key: str) -> None:  # noqa: ARG002 - there is one source
        source = self._source
        if source is None:
            return
        wanted = await asyncio.to_thread(hyper_nodes_of, source, list(self._nodes.values()))
        for name, body in sorted(wanted.items()):
            await self._keep(name, body)
        ours = [name for name, found in self._known.items() if found.metadata.labels.get(SOURCE_LABEL) == LABEL]
        surplus = [name for name in ours if name not in wanted] if wanted else []
        if ours and not wanted:
            log.warning("no node has the labels of the topology; its HyperNodes stay", hyper_nodes=len(ours))
        await self._delete_late(surplus, source.keeps)

    async def _keep(self, name: str, body: JsonObject) -> None:
        """Create the HyperNode, or correct its spec and labels."""
        known = self._known.get(name)
        if known is None:
            try:
                await self._api.post(hyper_node_path(), body)
            except ConflictError:
                return  # the watch brings it
            log.info("HyperNode created", hyper_node=name)
            return
        labels, has = body["metadata"]["labels"], known.metadata.labels
        is_as_wanted = known.spec == converted(body["spec"], HyperNodeSpec) and labels.items() <= has.items()
        if has.get(SOURCE_LABEL) != LABEL:
            log.warning("HyperNode not changed: it is not one of this source", hyper_node=name)
        elif not is_as_wanted:
            precondition = {"uid": known.metadata.uid, "resourceVersion": known.metadata.resource_version}
            patch = {"metadata": {**precondition, "labels": labels}, "spec": body["spec"]}
            await self._api.patch(hyper_node_path(name), patch)

    async def _delete_late(self, surplus: Sequence[str], keeps: float) -> None:
        now = asyncio.get_running_loop().time()
        self._surplus_since = {name: self._surplus_since.get(name, now) for name in surplus}
        for name, since in sorted(self._surplus_since.items()):
            left = since + keeps - now
            if left > 0:
                self._work.add(LABEL, left)
            else:
                await delete_object(self._api, hyper_node_path(name), self._known[name].metadata.uid)
                log.info("HyperNode deleted", hyper_node=name)

    def _failed(self, key: str, error: Exception, failures: int) -> bool:
        self._log_failure("HyperNodes cannot be kept", error, failures, source=key)
        return True
