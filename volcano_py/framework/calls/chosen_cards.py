"""Lets pods be placed that ask for parts of cards, or for devices by ResourceClaims, if a plugin chooses them.

Without one they wait with a problem: the state knows no configuration, so it gives them one in any case.
"""

from __future__ import annotations

from msgspec.structs import replace

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.classes.unsupported import not_chosen
from volcano_py.state.task_class import TaskClass


def admit(cluster: ClusterCopy, dispatch: Dispatch) -> None:
    """Take the problem away from classes of which all resources and devices are chosen."""
    nothing: frozenset[str] = frozenset()
    guard, plugins = dispatch.guard, dispatch.plugins
    cards = nothing.union(*(guard(each, "card_resources", each.card_resources, nothing) for each in plugins))
    devices = any(guard(each, "chooses_devices", each.chooses_devices, otherwise=False) for each in plugins)
    if not cards and not devices:
        return
    classes = cluster.snapshot.classes
    admitted = [None if each is None else _admitted(each, cards, devices=devices) for each in classes]
    if any(now is not before for now, before in zip(admitted, classes, strict=True)):
        cluster.split_classes(admitted)


def _admitted(task_class: TaskClass, cards: frozenset[str], *, devices: bool) -> TaskClass:
    problem = task_class.problem
    if problem is None:
        return task_class
    asked = frozenset[str]() if task_class.cards is None else frozenset(task_class.cards.resources)
    uses_devices = bool(task_class.devices)
    if problem.message != not_chosen(asked, uses_devices=uses_devices):
        return task_class
    left = not_chosen(asked - cards, uses_devices=uses_devices and not devices)
    return replace(task_class, problem=None if left is None else replace(problem, message=left))
