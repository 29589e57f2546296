"""Lets pods be placed that ask for parts of cards, devices by claims, or aligned CPUs, if a plugin chooses these.

Without one they wait with a problem: the state knows no configuration, so it gives them one in any case.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from volcano_py.framework.calls.dispatch import Dispatch
from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.classes.unsupported import not_chosen, strict_policy
from volcano_py.state.task_class import Refusal, TaskClass


class _Chosen(msgspec.Struct, frozen=True):
    """What the plugins choose: the cards behind these resources, devices, CPUs."""

    cards: frozenset[str]
    devices: bool
    cpus: bool


def admit(cluster: ClusterCopy, dispatch: Dispatch) -> None:
    """Take the problem away from classes for which all is chosen."""
    nothing: frozenset[str] = frozenset()
    guard, plugins = dispatch.guard, dispatch.plugins
    chosen = _Chosen(
        cards=nothing.union(*(guard(each, "card_resources", each.card_resources, nothing) for each in plugins)),
        devices=any(guard(each, "chooses_devices", each.chooses_devices, otherwise=False) for each in plugins),
        cpus=any(guard(each, "aligns_cpus", each.aligns_cpus, otherwise=False) for each in plugins),
    )
    if not (chosen.cards or chosen.devices or chosen.cpus):
        return
    classes = cluster.snapshot.classes
    admitted = {
        each.row: _admitted(each, each.problem, chosen)
        for each in classes
        if each is not None and each.problem is not None  # (of few classes)
    }
    if any(now is not classes[row] for row, now in admitted.items()):
        cluster.split_classes([admitted.get(row, each) for row, each in enumerate(classes)])


def _admitted(task_class: TaskClass, problem: Refusal, chosen: _Chosen) -> TaskClass:
    asked = frozenset[str]() if task_class.cards is None else frozenset(task_class.cards.resources)
    uses_devices, policy = task_class.uses_claims, strict_policy(task_class.cpus)
    if problem.message != not_chosen(asked, uses_devices=uses_devices, policy=policy):
        return task_class
    left = not_chosen(
        asked - chosen.cards,
        uses_devices=uses_devices and not chosen.devices,
        policy="" if chosen.cpus else policy,
        instead=chosen.cards,
    )
    return replace(task_class, problem=None if left is None else replace(problem, message=left))
