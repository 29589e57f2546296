"""The HyperNode controller: writes how many nodes each HyperNode has, and what of it is not used.

A change of one HyperNode or node may alter the counts of others, so the tree is worked out as a whole, at most once in
`INTERVAL`; then the statuses that differ are written, each with the version that it was decided on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import structlog

from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ApiObject, Node
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.watching.versions import is_older
from volcano_py.cluster.kubernetes.writing.turns import CLUSTER
from volcano_py.operator.controller import Controller
from volcano_py.operator.hypernodes.status import Finding, changes, findings_of
from volcano_py.operator.kube_api import IsActive, KubeApi, hyper_node_path, patch_status
from volcano_py.state.infos import NodeInfo
from volcano_py.state.topology.hyper_nodes import HyperNodeInfo, read_hyper_node
from volcano_py.state.topology.tree import TreeBuilder

log = structlog.get_logger(__name__)

KINDS: Final = ("HyperNode", "Node")
"""The kinds to feed in."""
INTERVAL: Final = 1.0
"""Seconds for which changes are collected: while a cluster starts, nodes come by the hundreds."""
_WORKERS: Final = 4
_TREE: Final = ""
"""The key of the whole tree; the others are names."""
_HYPER_NODE: Final = Reader(HyperNode)


class HyperNodeController(Controller[str]):
    """A `Sink` for `KINDS`; `run` does the work. Without the Lease (`active`) it only keeps what it has seen."""

    def __init__(
        self, api: KubeApi, *, active: IsActive, interval: float = INTERVAL, clock: Clock = SYSTEM_CLOCK
    ) -> None:
        super().__init__("hypernode", lambda _name: CLUSTER, active=active, workers=_WORKERS)
        self._api, self._interval, self._clock = api, interval, clock
        self._hyper_nodes: dict[str, HyperNode] = {}
        self._infos: dict[str, HyperNodeInfo] = {}
        self._nodes: dict[str, NodeInfo] = {}
        self._builder = TreeBuilder()
        self._findings: Mapping[str, Finding] = {}

    # What is fed in.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        there = {obj.metadata.name for obj in objects if isinstance(obj, HyperNode | Node)}
        known = set(self._hyper_nodes if kind == "HyperNode" else self._nodes if kind == "Node" else ())
        for name in known - there:
            self._gone(kind, name)
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: new or changed."""
        match obj:
            case HyperNode():
                self._seen(obj)
            case Node():
                info = NodeInfo(obj.metadata.name, obj.metadata.labels)
                if self._nodes.get(info.name) != info:
                    self._nodes[info.name] = info
                    self._tree_changed()

    def delete(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: gone."""
        if isinstance(obj, HyperNode | Node):
            self._gone(kind, obj.metadata.name)

    def _gone(self, kind: str, name: str) -> None:
        if kind == "HyperNode":
            known: object = self._hyper_nodes.pop(name, None)
            self._infos.pop(name, None)
        else:
            known = self._nodes.pop(name, None)
        if known is not None:
            self._tree_changed()

    def _seen(self, hyper_node: HyperNode) -> None:
        name = hyper_node.metadata.name
        known = self._hyper_nodes.get(name)
        if known is not None and is_older(hyper_node.metadata, known.metadata):
            return
        self._hyper_nodes[name] = hyper_node
        if known is None or known.spec != hyper_node.spec or known.metadata.uid != hyper_node.metadata.uid:
            self._infos[name] = read_hyper_node(hyper_node)
            self._tree_changed()
        elif known.status != hyper_node.status:
            self._work.add(name)  # another client may have written it

    def _tree_changed(self) -> None:
        self._work.add(_TREE, self._interval)

    # The work.

    def _keys(self) -> Iterable[str]:
        return (_TREE,)

    async def _reconcile(self, key: str) -> None:
        if key == _TREE:
            await self._work_out()
            return
        hyper_node, finding = self._hyper_nodes.get(key), self._findings.get(key)
        if hyper_node is None or finding is None:
            return
        change = changes(hyper_node.status, finding, self._clock.now())
        if change:
            await patch_status(self._api, hyper_node_path(key), hyper_node.metadata, change, self._note)

    async def _work_out(self) -> None:
        """In a thread: with tens of thousands of nodes it takes longer than the event loop may be held."""
        infos = sorted(self._infos.values(), key=lambda info: info.name)
        nodes = list(self._nodes.values())
        self._findings = await asyncio.to_thread(findings_of, infos, nodes, self._builder)
        for name in self._findings:
            self._work.add(name)

    def _note(self, answer: bytes) -> None:
        self._seen(_HYPER_NODE.decode(answer))

    def _failed(self, key: str, error: Exception, failures: int) -> bool:
        self._log_failure("status of a HyperNode cannot be written", error, failures, hyper_node=key)
        return True
