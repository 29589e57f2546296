"""Ranks: pods that talk to their neighbors in a row get neighboring places.

Of equal pods of a job it does not matter which goes where, as far as room and scores go. So the places that were found
for them are dealt out in order: the k-th pod gets the k-th place, depth-first in the tree of HyperNodes. A ring
all-reduce then stays in a rack for as many steps as it can. Sub-groups keep the domain that was found for them. Pods of
different classes that get cards, devices, volumes or CPUs of their own on their nodes stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from volcano_py.framework.job import Job
from volcano_py.framework.session import Session
from volcano_py.framework.statement import Statement
from volcano_py.state.status import READY_STATUSES, TaskStatus
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

INDEX_LABELS: Final = ("batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index")
"""Labels that Kubernetes gives pods of Indexed Jobs and of StatefulSets."""
PARTITION_LABEL: Final = "volcano.sh/partition-id"


def deal(ssn: Session, statement: Statement) -> None:
    """Deal out the places of the statement's tasks, class by class; of sub-groups, those of each inside it. What new
    sub-groups of one shape were given as a whole is dealt out first, in their order."""
    placements = statement.placements
    if not placements or any(each.status is not TaskStatus.ALLOCATED for each in placements):
        return
    if _order_matters(ssn, [each.task_class for each in placements]):
        return
    rows = np.concatenate([each.rows for each in placements])
    nodes = np.concatenate([each.nodes for each in placements])
    wanted: dict[int, int] = {}
    for rows_of_set, nodes_of_set in _sets(ssn, placements[0].job, rows, nodes):
        wanted.update(_in_ranks(ssn, rows_of_set, nodes_of_set))
    moved = [np.array([wanted[row] for row in each.rows.tolist()], dtype=np.intp) for each in placements]
    if any((nodes != each.nodes).any() for nodes, each in zip(moved, placements, strict=True)):
        statement.move_to(moved)


def _order_matters(ssn: Session, classes: list[TaskClass]) -> bool:
    """Whether what is chosen on a node for tasks of one class, such as devices, may be what those of another need: it
    was enough in the order in which they were placed."""
    first, are_cpus_known = classes[0], bool(ssn.snapshot.numa.nodes)
    return any(each.row != first.row for each in classes) and any(
        not each.uses_amounts_only or (are_cpus_known and each.cpus is not None) for each in classes
    )


def _in_ranks(ssn: Session, rows: Rows, nodes: Rows) -> dict[int, int]:
    """Task → node: the tasks of each class share the nodes that the class has."""
    wanted: dict[int, int] = {}
    classes = ssn.ledger.tasks.task_class[rows]
    for task_class in np.unique(classes).tolist():
        of_class = classes == task_class
        places = nodes[of_class]
        places = places[np.argsort(ssn.topology.tree.place[places], kind="stable")]
        wanted.update(zip(in_rank_order(ssn, rows[of_class]).tolist(), places.tolist(), strict=True))
    return wanted


def _sets(ssn: Session, job: Job, rows: Rows, nodes: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Tasks that share places, and the places in order of their classes. All of a job; with sub-groups, those in none,
    and those of each."""
    groups = ssn.sub_groups(job)
    if groups is None:
        yield rows, nodes
        return
    tasks, place = ssn.ledger.tasks, ssn.topology.tree.place
    order = np.lexsort((place[nodes], tasks.task_class[rows]))
    rows, nodes = rows[order], nodes[order]
    group = groups.group[np.searchsorted(groups.rows, rows)]
    if (group < 0).any():
        yield rows[group < 0], nodes[group < 0]
    by_shape: dict[tuple[object, ...], list[int]] = {}
    held = ssn.in_sub_groups(job, READY_STATUSES)
    for at in np.unique(group[group >= 0]).tolist():
        mine = group == at
        is_new = int(held[at]) == np.count_nonzero(mine)
        kind = int(groups.policy[at]) if is_new else -1 - at
        by_shape.setdefault((kind, tasks.task_class[rows[mine]].tobytes()), []).append(at)
    for alike in by_shape.values():
        is_of_one_class = len(np.unique(tasks.task_class[rows[group == alike[0]]])) == 1
        parts = [nodes[group == at] for at in alike]
        parts = sorted(_regrouped(ssn, parts) if is_of_one_class else parts, key=lambda part: int(place[part].min()))
        yield from ((rows[group == at], part) for at, part in zip(alike, parts, strict=True))


def _regrouped(ssn: Session, parts: list[Rows]) -> list[Rows]:
    """The places of equal sub-groups; those in one domain are divided so that each sub-group has neighboring ones."""
    tree = ssn.topology.tree
    by_domain: dict[int, list[Rows]] = {}
    for part in parts:
        by_domain.setdefault(tree.common(tree.nearest[part]), []).append(part)
    found: list[Rows] = []
    for of_domain in by_domain.values():
        places = np.concatenate(of_domain)
        found += np.split(places[np.argsort(tree.place[places], kind="stable")], len(of_domain))
    return found


def in_rank_order(ssn: Session, rows: Rows) -> Rows:
    """The tasks by partition and rank; as they are when a rank is missing, or there twice."""
    ranks = [_rank(ssn, row) for row in rows.tolist()]
    if len(set(ranks)) < len(ranks):
        return rows
    return rows[sorted(range(len(ranks)), key=ranks.__getitem__)]


def _rank(ssn: Session, row: int) -> tuple[int, int]:
    """Partition and number: the completion index, or the number at the end of the pod's name."""
    labels = ssn.task_info(row).labels
    index = next((text for label in INDEX_LABELS if (text := labels.get(label)) is not None), "")
    number = int(index) if _is_number(index) else int(ssn.ledger.tasks.suffix[row])
    partition = labels.get(PARTITION_LABEL, "")
    return int(partition) if _is_number(partition) else 0, number


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18
