"""Ranks: pods that talk to their neighbors in a row get neighboring places.

Of equal pods of a job it does not matter which goes where, as far as room and scores go. So the places that were found
for them are dealt out in order: the k-th pod gets the k-th place, depth-first in the tree of HyperNodes. A ring
all-reduce then stays in a rack for as many steps as it can.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from volcano_py.framework.session import Session
from volcano_py.framework.statement import Statement
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.table import Rows

INDEX_LABELS: Final = ("batch.kubernetes.io/job-completion-index", "apps.kubernetes.io/pod-index")
"""Labels that Kubernetes gives pods of Indexed Jobs and of StatefulSets."""
PARTITION_LABEL: Final = "volcano.sh/partition-id"


def deal(ssn: Session, statement: Statement) -> None:
    """Deal out the places of the statement's tasks, class by class."""
    placements = statement.placements
    if not placements or any(each.status is not TaskStatus.ALLOCATED for each in placements):
        return
    place = ssn.topology.tree.place
    wanted: dict[int, int] = {}
    by_class: dict[int, list[int]] = {}
    for number, each in enumerate(placements):
        by_class.setdefault(each.task_class.row, []).append(number)
    for numbers in by_class.values():
        rows = np.concatenate([placements[number].rows for number in numbers])
        nodes = np.concatenate([placements[number].nodes for number in numbers])
        rows = in_rank_order(ssn, rows)
        nodes = nodes[np.argsort(place[nodes], kind="stable")]
        wanted.update(zip(rows.tolist(), nodes.tolist(), strict=True))
    moved = [np.array([wanted[row] for row in each.rows.tolist()], dtype=np.intp) for each in placements]
    if any((nodes != each.nodes).any() for nodes, each in zip(moved, placements, strict=True)):
        statement.move_to(moved)


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
