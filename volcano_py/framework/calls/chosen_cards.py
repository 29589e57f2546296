"""Lets pods be placed that ask for parts of cards, if a configured plugin chooses the cards.

Without one they wait with a problem: the state knows no configuration, so it gives them one in any case.
"""

from __future__ import annotations

from msgspec.structs import replace

from volcano_py.api.reasons import Reason
from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.classes.unsupported import not_chosen
from volcano_py.state.task_class import Refusal, TaskClass


def admit(cluster: ClusterCopy, dispatch: Dispatch) -> None:
    """Take the problem away from classes of which all resources are chosen."""
    nothing: frozenset[str] = frozenset()
    chosen = nothing.union(
        *(dispatch.guard(each, "card_resources", each.card_resources, nothing) for each in dispatch.plugins)
    )
    if not chosen:
        return
    classes = cluster.snapshot.classes
    admitted = [None if each is None else _admitted(each, chosen) for each in classes]
    if any(now is not before for now, before in zip(admitted, classes, strict=True)):
        cluster.split_classes(admitted)


def _admitted(task_class: TaskClass, chosen: frozenset[str]) -> TaskClass:
    asked, problem = task_class.cards, task_class.problem
    if asked is None or problem is None or not chosen.issuperset(asked.resources):
        return task_class
    uses_devices = bool(task_class.devices)
    if problem.message != not_chosen(asked.resources, uses_devices=uses_devices):
        return task_class
    left = not_chosen((), uses_devices=uses_devices)
    return replace(task_class, problem=None if left is None else Refusal(Reason.UNSUPPORTED, left))
