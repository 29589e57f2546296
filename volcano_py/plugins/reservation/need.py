"""What a job needs to start, and which nodes would take it."""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.framework.job import Job
from volcano_py.framework.placement.class_filters import DomainFilters
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.topology.topology import WHOLE
from volcano_py.framework.views import FITS, Counts, NodeView
from volcano_py.plugins.reservation.outlook import Outlook
from volcano_py.state.table.table import NOWHERE, Rows
from volcano_py.state.task_class import Signature, TaskClass


class Need(msgspec.Struct, frozen=True, eq=False):
    """Tasks of one class, and of one sub-group if that has a limit of its own, that the job needs to start.

    Attributes:
        most: [N] how many of them each node would take if it were empty; 0 for nodes that refuse them.
        group: the number of the sub-group in the task table, or `WHOLE`.
    """

    task_class: TaskClass
    rows: Rows
    most: Counts
    group: int = WHOLE

    @property
    def count(self) -> int:
        return len(self.rows)

    def only_on(self, nodes: NDArray[np.bool_]) -> Need:
        """The same, if only these nodes [N] may be used."""
        return msgspec.structs.replace(self, most=np.where(nodes, self.most, 0))

    def room(self, free: NDArray[np.int64]) -> Counts:
        """[N] how many of them fit where so much [N, R] is free."""
        room = self.most.copy()
        for dim in self.task_class.requested.tolist():
            np.minimum(room, free[:, dim] // self.task_class.request[dim], out=room)
        return np.maximum(room, 0, out=room)


def needs_of(ssn: Session, job: Job, rows: Rows, outlook: Outlook, asking: Plugin) -> list[Need] | None:
    """The tasks by class and sub-group; None when some class is refused everywhere. `asking` is not asked.

    First come sub-groups with limits of their own, the largest first, each with its largest tasks first. The rest
    follows, as it may be on more nodes.
    """
    classes, groups = ssn.ledger.tasks.task_class[rows], _limited_groups(ssn, job, rows)
    nodes, needs = outlook.nodes_then(), list[Need]()
    for row in np.unique(classes).tolist():
        task_class = ssn.task_class(int(rows[classes == row][0]))
        if task_class.problem is not None or ssn.ask.pre_predicate(task_class) is not None:
            return None
        view = NodeView(nodes, np.arange(nodes.size), released=True)
        most = _most(ssn, task_class, view, asking)
        if not most.any():
            return None
        of_class = [(group, rows[(classes == row) & (groups == group)]) for group in np.unique(groups[classes == row])]
        needs += [Need(task_class, of_group, most, int(group)) for group, of_group in of_class]
    return _largest_first(ssn, needs)


def _limited_groups(ssn: Session, job: Job, rows: Rows) -> Rows:
    """[K] the sub-group of each task; `WHOLE` for those that no limit of a sub-group keeps together."""
    groups: Rows = np.full(len(rows), WHOLE, dtype=np.intp)
    if job.info.topology is not None and job.info.topology.limits_sub_groups:
        groups[:] = ssn.ledger.tasks.sub_group[rows]
        for group in np.unique(groups[groups != WHOLE]).tolist():
            if ssn.topology.limit(job, group) is None:
                groups[groups == group] = WHOLE
    return groups


def _largest_first(ssn: Session, needs: list[Need]) -> list[Need]:
    """By the largest part of the cluster that a sub-group, and in it one task, asks of any resource."""
    total = np.maximum(ssn.total, 1)
    asked = defaultdict[int, NDArray[np.int64]](partial(np.zeros_like, total))
    for need in needs:
        asked[need.group] += need.count * need.task_class.request
    size = {group: float((amounts / total).max()) for group, amounts in asked.items()}

    def place(need: Need) -> tuple[bool, float, int, float]:
        return need.group == WHOLE, -size[need.group], need.group, -float((need.task_class.request / total).max())

    return sorted(needs, key=place)


def imagined(ssn: Session, job: Job) -> Need:
    """What a job needs whose pods do not exist yet: its minResources, in equal parts."""
    count, amounts = max(job.min_member, 1), job.min_resources
    assert amounts is not None, "a job that nothing keeps out"
    task_class = TaskClass(
        row=NOWHERE,
        key=b"",
        signature=Signature(units=(), nonzero=(0, 0)),
        request=-(-amounts // count),
        nonzero_request=np.zeros(2, dtype=np.int64),
        best_effort=False,
        problem=None,
    )
    return Need(task_class, np.zeros(count, dtype=np.intp), np.where(ssn.ledger.nodes.present, count, 0))


def _most(ssn: Session, task_class: TaskClass, view: NodeView, asking: Plugin) -> Counts:
    """[N] how many tasks of the class the plugins let each node take, whatever room it has."""
    codes = np.where(ssn.ledger.nodes.present, FITS, ssn.absent_node)
    for call in ssn.dispatch.calls("predicate"):
        if call.plugin is not asking:
            codes = np.where(codes == FITS, call(task_class, view), codes)
    codes = DomainFilters(ssn.dispatch.calls("domain_filter"), task_class, view).refuse(codes.astype(np.int32))
    most = np.where(codes == FITS, np.iinfo(np.int64).max, 0)
    for call in ssn.dispatch.calls("predicate_room"):
        static = call.ask("predicate_reach", task_class, otherwise=Reach.DOMAIN) is Reach.STATIC
        if call.plugin is asking or static:
            continue
        bound: Counts | None = call(task_class, view)
        if bound is not None:
            most = np.where(most > 0, np.minimum(most, np.maximum(bound, 1)), 0)
    return most
