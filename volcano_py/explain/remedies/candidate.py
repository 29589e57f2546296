"""A change that may help, before it has been tried."""

from __future__ import annotations

import msgspec

from volcano_py.config.model import SchedulerConfiguration
from volcano_py.explain.model import Remedy
from volcano_py.explain.target import Target, has_started
from volcano_py.explain.world import Change, World


class Candidate(msgspec.Struct, frozen=True):
    """`changes` and `configuration` make up the change, `remedy` says it."""

    remedy: Remedy
    changes: tuple[Change, ...] = ()
    configuration: SchedulerConfiguration | None = None


def helps(world: World, target: Target, candidate: Candidate, *, need: int | None = None) -> bool:
    """Whether the workload starts with the change: `need` pods of it have a node, as many as it needs if None. False,
    too, when no more may be tried."""
    if world.tries_left <= 0:
        return False
    world.tries_left -= 1

    def started() -> bool:
        return has_started(world, target, need=need)

    with world.trial(candidate.changes, candidate.configuration, started):
        return started()
