"""gangpreempt: preempt for whole gangs, with Volcano's name and arguments."""

from __future__ import annotations

from volcano_py.actions.eviction_arguments import GangEvictionArguments
from volcano_py.actions.preempt import Preempt


class GangPreempt(Preempt):
    """As preempt, which evicts for whole gangs, too; but only jobs of a lower priority lose pods, whichever plugin
    names them, and no job evicts its own."""

    name = "gangpreempt"
    arguments_type = GangEvictionArguments
    only_lesser = True
    within_jobs = False
