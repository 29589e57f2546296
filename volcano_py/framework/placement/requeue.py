"""Whether what a cycle has placed opens a way for pods that it refused before.

Mostly a placement leaves less for others. But it may be the company that an older job's pod wants, the one that keeps
its topology even, or the use of devices beside which room was kept. It may also bring its queue beyond its share after
victims were sought. Nobody else wakes the scheduler for that, nor for what is merely promised then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from volcano_py.framework.eviction.candidates import RIPE_AFTER
from volcano_py.framework.placement.class_state import reaches_of
from volcano_py.framework.plugin import Reach
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

_SOON: Final = 0.01
"""Seconds; just later than the cycle's own moment."""


def look_again_if_a_way_is_open(ssn: Session) -> None:
    """Ask for another cycle when a node takes a pod now that none took in its turn, or may once others are evicted.

    Only after bindings, so that each further cycle has done something. What gangs have given back opens no way: it was
    free when they were tried.
    """
    bound = ssn.bound()
    if not bound:
        return
    hopeful = [errors for job, errors in ssn.fit_errors.items() if job not in ssn.set_aside]
    refused = sorted({row for errors in hopeful for row in errors})
    classes = [each for row in refused if (each := ssn.snapshot.classes[row]) is not None]
    opened = any(_moves(ssn, each) and len(ssn.placer.feasible(each)) for each in classes)
    if opened or _is_promised_what_is_free(ssn):
        ssn.moments.strike(ssn.now + _SOON)
    is_anybody_left = bool(refused or ssn.notes or ssn.set_aside or ssn.resting)
    if is_anybody_left and ssn.bound_when_sought is not None and bound > ssn.bound_when_sought:
        ssn.moments.strike(ssn.now + RIPE_AFTER)


def _is_promised_what_is_free(ssn: Session) -> bool:
    """Whether an action after allocate has found a place for which nobody has to leave: it may only promise it."""
    tasks, nodes = ssn.ledger.tasks, ssn.ledger.nodes
    places = tasks.node[tasks.status == TaskStatus.PIPELINED]
    return bool((~nodes.releasing[places].any(axis=1)).any())


def _moves(ssn: Session, task_class: TaskClass) -> bool:
    """Whether placements may change what nodes say to the class."""
    reaches = reaches_of(ssn.dispatch.calls("predicate"), "predicate_reach", task_class)
    return bool(task_class.spreads) or any(reach is not Reach.STATIC for reach in reaches)
