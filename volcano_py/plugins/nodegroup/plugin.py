"""nodegroup: a label puts nodes into groups, and queues say which groups their pods use.

A node's group is its label `volcano.sh/nodegroup-name`. A queue's `spec.affinity` names groups: its pods go to those in
`nodeGroupAffinity` (required or preferred) but not to those required in `nodeGroupAntiAffinity`; what is only preferred
there is used last. A queue without rules uses no group, and without `strict` the nodes that are in none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.names import NODE_GROUP, NODE_GROUP_LIMITS
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.explain import invalid_queue
from volcano_py.api.wording.summarize import summarize
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.framework.job import Placement
from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import FITS, Codes, NodeView, Scores
from volcano_py.plugins.nodegroup.arguments import NodeGroupArguments
from volcano_py.plugins.nodegroup.holdings import Holdings
from volcano_py.plugins.nodegroup.rules import Affinity, RulesError, read_affinity, read_limits
from volcano_py.plugins.queues.queue_amounts import charged
from volcano_py.plugins.refusals import refusal_for_good
from volcano_py.state.infos import QueueInfo
from volcano_py.state.nodes.index import LabelColumn
from volcano_py.state.queues.queue_tree import lay
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass

_WITHOUT: Final = "node(s) were in no node group"
_NO_GROUP: Final = "uses none of the node groups: add nodes that are in no group"


def _outside(queue: str) -> str:
    return f"node(s) were in no node group of queue {queue}"


def _full(queue: str) -> str:
    return f"node(s) were in a node group whose limit queue {queue} has reached"


class _Queue(msgspec.Struct):
    """What is known of one queue in a cycle."""

    codes: Codes
    """[N] what each node says to its pods, limits apart."""
    scores: Scores
    """[N]"""
    holdings: Holdings | None
    """None where no limit is set."""
    full: int
    """The refusal of a node whose group is full."""
    problem: Refusal | None = None
    """Its rules cannot be read, so none of its pods is placed."""
    groups: tuple[str, ...] = ()
    """The node groups that its rules name for it."""


class NodeGroup(Plugin):
    """With `enableHierarchy` a queue without rules has those of the nearest queue above that has any."""

    name = "nodegroup"
    allows_series = True
    predicate_lasts = True
    sees_jobs_alike = True
    evictions_last = True
    arguments_type = NodeGroupArguments

    def task_variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> Sequence[str]:
        info = cluster.snapshot.jobs[job_row]
        return [info.queue if info is not None else ""] * len(rows)

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn
        self._column: LabelColumn = ssn.nodes.label(NODE_GROUP)
        self._queues: dict[str, _Queue] = {}
        self._parents = (
            lay({name: queue.parent for name, queue in ssn.queues.items()}) if self.flags.hierarchy else None
        )

    def pre_predicate(self, task_class: TaskClass) -> Refusal | None:
        return self._queue(task_class).problem

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        queue = self._queue(task_class)
        codes = queue.codes.take(view.rows)
        if queue.holdings is not None:
            full = queue.holdings.full(task_class).take(view.rows)
            codes[full & (codes == FITS)] = queue.full
        return codes

    def predicate_for_good(self, task_class: TaskClass, view: NodeView) -> Codes:
        """All but that a node group is full: it follows from the queue's annotations and the labels of nodes."""
        return self._queue(task_class).codes.take(view.rows)

    def predicate_advice(self, task_class: TaskClass, refused: Refused) -> list[str]:
        queue = self._queue(task_class)
        if queue.problem is not None:
            return []
        name, sentences = task_class.variant[self.name], []
        if _outside(name) in refused or _WITHOUT in refused:
            labelled = f"uses nodes with label {NODE_GROUP} {summarize(queue.groups)}: label more so"
            uses = labelled if queue.groups else _NO_GROUP
            sentences.append(f"Queue {name} {uses}, or name others in spec.affinity of the queue")
        if _full(name) in refused and queue.holdings is not None:
            may_pass = queue.holdings.may_pass(task_class, queue.codes == FITS)
            what = f"Wait until pods of queue {name} there end" if may_pass else "Ask for no more than that limit"
            sentences.append(f"{what}, or raise its annotation {NODE_GROUP_LIMITS}")
        return sentences

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.STATIC if self._queue(task_class).holdings is None else Reach.DOMAIN

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        return self._queue(task_class).scores.take(view.rows)

    def on_allocate(self, placement: Placement) -> None:
        self._move(placement, 1)

    def on_deallocate(self, placement: Placement) -> None:
        self._move(placement, -1)

    def _move(self, placement: Placement, sign: int) -> None:
        for slot, _ in charged(self._ssn, placement):
            queue = self._queues.get(self._ssn.snapshot.queue_names[slot])
            if queue is not None and queue.holdings is not None:
                queue.holdings.move(placement, sign)

    # -- queues ----------------------------------------------------------------------------------------------------

    def _queue(self, task_class: TaskClass) -> _Queue:
        name = task_class.variant[self.name]
        known = self._queues.get(name)
        if known is None:
            known = self._queues[name] = self._read(self._ssn.queues[name])
        return known

    def _read(self, queue: QueueInfo) -> _Queue:
        try:
            affinity = self._affinity(queue)
            limits = read_limits(queue)
        except RulesError as error:
            refusal = Refusal(Reason.INVALID_QUEUE, invalid_queue(queue.name, str(error)))
            everywhere = np.full(len(self._column.codes), refusal_for_good(self._ssn, refusal.message), dtype=np.int32)
            return _Queue(everywhere, np.zeros(len(everywhere)), None, FITS, refusal)
        column = self._column
        return _Queue(
            codes=self._codes(queue.name, affinity),
            scores=self._scores(affinity),
            holdings=Holdings(self._ssn, queue.slot, limits, column.codes, column.values) if limits else None,
            full=refusal_for_good(self._ssn, _full(queue.name)),
            groups=affinity.used(),
        )

    def _affinity(self, queue: QueueInfo) -> Affinity:
        """The queue's own rules, or, in a hierarchy, those that it inherits."""
        affinity = read_affinity(queue)
        if affinity or self._parents is None:
            return affinity
        for name in self._parents.above(queue.name):
            above = self._ssn.queues.get(name)
            if above is not None and (inherited := read_affinity(above)):
                return inherited
        return affinity

    def _codes(self, queue: str, affinity: Affinity) -> Codes:
        """[N]"""
        outside = refusal_for_good(self._ssn, _outside(queue))
        takes_all = not self.arguments.strict and not affinity
        without = FITS if takes_all else refusal_for_good(self._ssn, _WITHOUT)
        per_group = [FITS if affinity.allows(group) else outside for group in self._column.values]
        return self._column.per_node(np.array([*per_group, without], dtype=np.int32))

    def _scores(self, affinity: Affinity) -> Scores:
        """[N]"""
        ordered = self.arguments.preferred_order
        per_group = [affinity.score(group, ordered=ordered) for group in self._column.values]
        return self._column.per_node(np.array([*per_group, 0.0]))
