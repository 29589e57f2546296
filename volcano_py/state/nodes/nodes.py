"""Nodes: a row for each that exists, and for each that does not exist but is named by a pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from volcano_py.api.effects import ObjectRef
from volcano_py.api.objects import Node, ObjectMeta
from volcano_py.state.infos import NodeInfo
from volcano_py.state.readers import ParsedNode, read_node
from volcano_py.state.table.axis import TooManyResourcesError
from volcano_py.state.table.change import Change

if TYPE_CHECKING:
    from volcano_py.api.objects import ApiObject
    from volcano_py.state.table.ledger import Ledger
    from volcano_py.state.unreadable_values import UnreadableOfObjects

log = structlog.get_logger(__name__)

_NO_NODE = NodeInfo("")


class Nodes:
    """Store of nodes.

    Attributes:
        infos: by row; rows that are free have an empty name.
        version: another number whenever an info or the existence of a row has changed.
        offers_version: another number whenever an existing node has changed in more than its images, came or went.
    """

    def __init__(self, ledger: Ledger, unreadable: UnreadableOfObjects) -> None:
        self._ledger, self._unreadable = ledger, unreadable
        self.infos: list[NodeInfo] = []
        self.version = 0
        self.offers_version = 0
        self._parsed: dict[str, tuple[str, ParsedNode]] = {}
        self._usable: frozenset[str] | None = None
        self._rows: dict[str, int] = {}

    def upsert(self, node: Node) -> Change:
        name, uid = node.metadata.name, node.metadata.uid
        reading = read_node(node)
        _, known = self._parsed.get(name, ("", None))
        self._parsed[name] = (uid, reading)
        self._unreadable.put(ObjectRef("Node", "", name, uid), reading.unreadable)
        if known == reading:
            return Change.NONE
        self._count(name, reading, known)
        row = self.row(name)
        nodes = self._ledger.nodes.change(row)
        nodes.present[row] = self._usable is None or name in self._usable
        nodes.allocatable[row] = self._ledger.axis.vector(reading.allocatable)
        self.infos[row] = reading.info
        self.version += 1
        if known is not None and known.differs_in_images_only(reading):
            return Change.LATER
        self.offers_version += 1
        return Change.DECISION

    def delete(self, node: Node) -> Change:
        name = node.metadata.name
        uid, known = self._parsed.get(name, ("", None))
        if known is None or uid != node.metadata.uid:
            return Change.NONE
        del self._parsed[name]
        self._unreadable.take("Node", name)
        row = self._rows[name]
        nodes = self._ledger.nodes.change(row)
        nodes.present[row], nodes.allocatable[row] = False, 0
        self.infos[row] = NodeInfo(name)
        self.version += 1
        self.offers_version += 1
        self.forget_if_empty(row)
        return Change.DECISION

    def use_only(self, names: frozenset[str] | None) -> None:
        """From now on no other nodes are for this scheduler's pods; None: all are.

        The others stay known: their labels and pods count where pods look at each other.
        """
        self._usable = names
        rows = [self._rows[name] for name in self._parsed]
        self._ledger.nodes.change(rows).present[rows] = [names is None or name in names for name in self._parsed]
        self.version += 1
        self.offers_version += 1

    def known(self) -> list[ApiObject]:
        return [Node(metadata=ObjectMeta(name=name, uid=uid)) for name, (uid, _) in self._parsed.items()]

    def row(self, name: str) -> int:
        """The row of a node, made for it when need be: a pod that names an unknown node is kept on it."""
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = self._ledger.nodes.new_row()
            if row == len(self.infos):
                self.infos.append(_NO_NODE)
            self.infos[row] = NodeInfo(name)
            self.version += 1
        return row

    def existing_row(self, name: str) -> int | None:
        """The row of a node that exists."""
        return self._rows[name] if name in self._parsed else None

    def usable_row(self, name: str) -> int | None:
        """The row of a node that exists and is for this scheduler's pods."""
        return self.existing_row(name) if self._usable is None or name in self._usable else None

    def forget_if_empty(self, row: int) -> None:
        """Give back the row of a node that neither exists nor has pods."""
        nodes = self._ledger.nodes
        if self.infos[row].name not in self._parsed and nodes.tasks[row] == 0:
            del self._rows[self.infos[row].name]
            nodes.free_row(row)
            self.infos[row] = _NO_NODE
            self.version += 1

    def _count(self, name: str, reading: ParsedNode, known: ParsedNode | None) -> None:
        """Make columns for what the node offers; what cannot be counted is reported as a problem of the node."""
        if known is not None and (known.allocatable, known.problems) == (reading.allocatable, reading.problems):
            return
        problems = list(reading.problems)
        try:
            self._ledger.cover(reading.allocatable)
        except TooManyResourcesError as error:
            problems.append(str(error))
        if problems:
            log.warning("a node offers what cannot be counted; it is used without that", node=name, problems=problems)
