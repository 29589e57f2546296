"""The steps of a cycle, one module an action."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BUILTIN_ACTIONS: Final[Mapping[str, str]] = {
    "enqueue": "volcano_py.actions.enqueue:Enqueue",
    "allocate": "volcano_py.actions.allocate:Allocate",
    "backfill": "volcano_py.actions.backfill:Backfill",
    "preempt": "volcano_py.actions.preempt:Preempt",
    "reclaim": "volcano_py.actions.reclaim:Reclaim",
    "gangpreempt": "volcano_py.actions.gangpreempt:GangPreempt",
    "gangreclaim": "volcano_py.actions.gangreclaim:GangReclaim",
    "shuffle": "volcano_py.actions.shuffle:Shuffle",
}
"""Name in configurations → place of the class; its module is loaded when a configuration names it."""
