"""Lets pods be placed that ask for parts of cards, or for devices by ResourceClaims, if a plugin chooses them.

Without one they wait with a problem: the state knows no configuration, so it gives them one in any case.
"""

from __future__ import annotations

from msgspec.structs import replace

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.classes.unsupported import not_chosen
from volcano_py.state.task_class import Refusal, TaskClass


def admit(cluster: ClusterCopy, dispatch: Dispatch) -> None:
    """Take the problem away from classes of which all resources and devices are chosen."""
    nothing: frozenset[str] = frozenset()
    guard, plugins = dispatch.guard, dispatch.plugins
    cards = nothing.union(*(guard(each, "card_resources", each.card_resources, nothing) for each in plugins))
    devices = any(guard(each, "chooses_devices", each.chooses_devices, otherwise=False) for each in plugins)
    if not cards and not devices:
        return
    classes = cluster.snapshot.classes
    admitted = {
        each.row: _admitted(each, each.problem, cards, devices=devices)
        for each in classes
        if each is not None and each.problem is not None  # (of few classes)
    }
    if any(now is not classes[row] for row, now in admitted.items()):
        cluster.split_classes([admitted.get(row, each) for row, each in enumerate(classes)])


def _admitted(task_class: TaskClass, problem: Refusal, cards: frozenset[str], *, devices: bool) -> TaskClass:
    asked = frozenset[str]() if task_class.cards is None else frozenset(task_class.cards.resources)
    uses_devices = task_class.uses_claims
    if problem.message != not_chosen(asked, uses_devices=uses_devices):
        return task_class
    left = not_chosen(asked - cards, uses_devices=uses_devices and not devices)
    return replace(task_class, problem=None if left is None else replace(problem, message=left))
