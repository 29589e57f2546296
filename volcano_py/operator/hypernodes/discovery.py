"""Keeps the HyperNodes that follow from labels of nodes, or from what UFM says: creates what is missing, corrects what
differs, and deletes late.

HyperNodes without the source's label belong to others and are left alone. Nothing is deleted at once: nodes are
replaced and relabelled, and a source may be away. When a source names nothing at all, nothing is deleted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

import structlog

from volcano_py.api.effects import Event, JsonObject, ObjectRef
from volcano_py.api.hyper_nodes import HyperNode, HyperNodeSpec
from volcano_py.api.json_values import converted
from volcano_py.api.objects import ApiObject, Node
from volcano_py.cluster.kubernetes.http.errors import ConflictError
from volcano_py.cluster.kubernetes.writing.turns import CLUSTER
from volcano_py.operator.controller import Controller
from volcano_py.operator.hypernodes.labels import hyper_nodes_of
from volcano_py.operator.hypernodes.sources import LABEL, SOURCE_LABEL, UFM, Sources, UfmSource, read_sources
from volcano_py.operator.hypernodes.ufm import Port, hyper_nodes_of_ports
from volcano_py.operator.hypernodes.ufm_client import Credentials, UfmError, read_credentials, read_ports
from volcano_py.operator.kube_api import IsActive, KubeApi, Record, delete_object, hyper_node_path

log = structlog.get_logger(__name__)

PortsOf = Callable[[UfmSource, Credentials], Awaitable[Sequence[Port]]]
FAILED: Final = "DiscoveryFailed"
"""Reason of the event on the ConfigMap."""
_INTERVAL: Final = 1.0
"""Seconds for which changes are collected."""
_ASK_AGAIN_AFTER: Final = 60.0
"""Seconds after a question to UFM that failed, where the interval is longer."""
_CONFIGURATION: Final = "configuration"


class HyperNodeDiscovery(Controller[str]):
    """A `Sink` for HyperNodes and nodes; `run` does the work, while there is a source (`configure`)."""

    def __init__(self, api: KubeApi, *, active: IsActive, record: Record, ports_of: PortsOf = read_ports) -> None:
        """`ports_of` asks UFM, as `read_ports` does."""
        super().__init__("hypernode discovery", lambda _source: CLUSTER, active=active, workers=2)
        self._api, self._record, self._ports_of = api, record, ports_of
        self._sources = Sources()
        self._config: ObjectRef | None = None
        self._reported: dict[str, str] = {}
        self._nodes: dict[str, Mapping[str, str]] = {}
        self._known: dict[str, HyperNode] = {}
        self._surplus_since: dict[str, dict[str, float]] = {}
        self._ports: Sequence[Port] | None = None
        self._ask_at = 0.0

    def configure(self, text: str, config: ObjectRef | None = None) -> None:
        """The configuration is this now, from the ConfigMap `config`; "" for none. A source that is taken out stops,
        and its HyperNodes stay."""
        before, self._sources, self._config = self._sources, read_sources(text), config
        self._report(_CONFIGURATION, "; ".join(self._sources.problems))
        if self._sources.ufm != before.ufm:
            self._ports, self._ask_at = None, 0.0
        self._changed()

    def leadership_gained(self) -> None:
        super().leadership_gained()
        self._reported.clear()  # what the leader before has recorded is not known
        self._report(_CONFIGURATION, "; ".join(self._sources.problems))

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
        for source in self._keys():
            self._work.add(source, _INTERVAL)

    def _keys(self) -> Iterable[str]:
        given = {LABEL: self._sources.labels, UFM: self._sources.ufm}
        return [name for name, source in given.items() if source is not None]

    async def _reconcile(self, key: str) -> None:
        labels, ufm = self._sources.labels, self._sources.ufm
        if key == LABEL and labels is not None:
            wanted = await asyncio.to_thread(hyper_nodes_of, labels, list(self._nodes.values()))
            await self._bring_about(LABEL, wanted, labels.keeps, "no node has the labels of the topology")
        elif key == UFM and ufm is not None:
            ports = await self._ask(ufm)
            if ports is None:
                return
            wanted = await asyncio.to_thread(hyper_nodes_of_ports, ports, frozenset(self._nodes))
            await self._bring_about(UFM, wanted, ufm.interval, "UFM names no node of the cluster")

    async def _ask(self, source: UfmSource) -> Sequence[Port] | None:
        """The ports that UFM named last, None for none yet; it is asked when it is time."""
        now = asyncio.get_running_loop().time()
        if now >= self._ask_at:
            self._ask_at = now + source.interval
            try:
                ports = await self._ports_of(source, await read_credentials(self._api, source))
            except UfmError as error:
                self._ask_at = now + min(source.interval, _ASK_AGAIN_AFTER)
                self._report(UFM, str(error))
            else:
                self._report(UFM, "")
                if source == self._sources.ufm:  # it may have been exchanged meanwhile
                    self._ports = ports
        self._work.add(UFM, max(self._ask_at - now, _INTERVAL))
        return self._ports

    def _report(self, about: str, problem: str) -> None:
        """Log what is wrong, and record it on the ConfigMap; again only when it is another problem."""
        if self._reported.get(about, "") == problem:
            return
        self._reported[about] = problem
        if not problem:
            log.info("discovery of HyperNodes recovered", about=about)
            return
        log.error("discovery of HyperNodes failed", about=about, problem=problem)
        if self._config is not None and self._active():
            self._record(Event(self._config, "Warning", FAILED, problem))

    async def _bring_about(self, source: str, wanted: Mapping[str, JsonObject], keeps: float, if_none: str) -> None:
        """The HyperNodes of the source are those that are wanted; what is too much goes after `keeps` seconds."""
        for name, body in sorted(wanted.items()):
            await self._keep(source, name, body)
        ours = [name for name, found in self._known.items() if found.metadata.labels.get(SOURCE_LABEL) == source]
        surplus = [name for name in ours if name not in wanted] if wanted else []
        self._report(
            f"what {source} names", f"{if_none}; its {len(ours)} HyperNodes stay" if ours and not wanted else ""
        )
        await self._delete_late(source, surplus, keeps)

    async def _keep(self, source: str, name: str, body: JsonObject) -> None:
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
        if has.get(SOURCE_LABEL) != source:
            log.warning(
                "HyperNode not changed: another source has discovered it, or a user has created it", hyper_node=name
            )
        elif not is_as_wanted:
            precondition = {"uid": known.metadata.uid, "resourceVersion": known.metadata.resource_version}
            patch = {"metadata": {**precondition, "labels": labels}, "spec": body["spec"]}
            await self._api.patch(hyper_node_path(name), patch)

    async def _delete_late(self, source: str, surplus: Sequence[str], keeps: float) -> None:
        now = asyncio.get_running_loop().time()
        before = self._surplus_since.get(source, {})
        self._surplus_since[source] = {name: before.get(name, now) for name in surplus}
        for name, since in sorted(self._surplus_since[source].items()):
            left = since + keeps - now
            if left > 0:
                self._work.add(source, left)
            elif name in self._known:
                await delete_object(self._api, hyper_node_path(name), self._known[name].metadata.uid)
                log.info("HyperNode deleted", hyper_node=name)

    def _failed(self, key: str, error: Exception, failures: int) -> bool:
        self._log_failure("HyperNodes not updated", error, failures, source=key)
        return True
