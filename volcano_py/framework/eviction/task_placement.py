"""A place for one task of a plan: a free one, or one that evictions free."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.eviction.draft import Draft
from volcano_py.framework.eviction.node_attempt import NodeAttempt
from volcano_py.framework.eviction.scheme import Scheme
from volcano_py.framework.job import Task
from volcano_py.framework.placement.rows_by_node import RowsByNode
from volcano_py.framework.session import Session
from volcano_py.state.task_class import TaskClass


def place_without_evictions(ssn: Session, draft: Draft, task: Task) -> bool:
    """Where no pod has to go for it."""
    if ssn.ask.allocatable(task.job.queue, task.task_class).count <= 0:
        return False
    choice = ssn.placer.choose(task.task_class, 1)
    if not len(choice.nodes):
        return False
    if task.task_class.best_effort and not choice.pipelined:
        draft.leave_to_backfill(task, int(choice.nodes[0]))
    else:
        draft.promise(task, int(choice.nodes[0]))
    return True


def place_by_evictions(ssn: Session, scheme: Scheme, draft: Draft, task: Task) -> bool:
    """On the best node on which evictions free enough for it."""
    if not scheme.may_take(task.job.queue, np.array([task.row], dtype=np.intp)):
        return False
    hopeful = _hopeful(ssn, scheme, task)
    return any(
        NodeAttempt(ssn, scheme, draft, task, node).evict_some(hopeful.on(node))
        for node in ssn.placer.ranked(task.task_class, hopeful.nodes).tolist()
    ) or _place_below_ceiling(ssn, scheme, draft, task)


def _place_below_ceiling(ssn: Session, scheme: Scheme, draft: Draft, task: Task) -> bool:
    """Where there is room, if only a ceiling is in the way: others below it go, wherever they are."""
    queue = task.job.queue
    room = ssn.ask.allocatable(queue, task.task_class)
    if room.short is None or not len(nodes := ssn.placer.choose(task.task_class, 1).nodes):
        return False
    candidates = scheme.candidates(task)
    counts = np.isin(ssn.ledger.tasks.queue[candidates], ssn.ask.below_ceiling(room, queue))
    below = candidates[counts]
    victims = ssn.ask.possible_victims(scheme.point, task, below) if len(below) else below
    return len(victims) > 0 and NodeAttempt(ssn, scheme, draft, task, int(nodes[0])).evict_some(victims)


def _hopeful(ssn: Session, scheme: Scheme, task: Task) -> RowsByNode:
    """Candidates on the nodes that have room for the task if all candidates there were to go.

    The cheap look at all nodes together drops most of them before any plugin elects victims node by node.
    """
    where = ssn.ledger.tasks.node
    hopeful = _roomy(ssn, task.task_class, RowsByNode.of(scheme.candidates(task), where))
    if not len(hopeful.rows):
        return hopeful
    possible = ssn.ask.possible_victims(scheme.point, task, hopeful.rows)
    if len(possible) == len(hopeful.rows):
        return hopeful
    return _roomy(ssn, task.task_class, RowsByNode.of(possible, where))


def _roomy(ssn: Session, task_class: TaskClass, candidates: RowsByNode) -> RowsByNode:
    """Those on nodes that may take the class and would have room for one of it without them."""
    ledger = ssn.ledger
    free = ledger.nodes.future_idle()[candidates.nodes]
    classes = ledger.tasks.task_class[candidates.rows]
    fits = ssn.resolvable(ssn.placer.codes(task_class)[candidates.nodes])
    for dim in task_class.requested.tolist():
        fits &= free[:, dim] + candidates.sums(ledger.classes.request[classes, dim]) >= task_class.request[dim]
    return candidates if fits.all() else candidates.where(fits)
