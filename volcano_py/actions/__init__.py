"""The steps of a cycle, one module an action."""

from volcano_py.actions.allocate import Allocate
from volcano_py.actions.backfill import Backfill
from volcano_py.actions.enqueue import Enqueue
from volcano_py.actions.gangpreempt import GangPreempt
from volcano_py.actions.gangreclaim import GangReclaim
from volcano_py.actions.preempt import Preempt
from volcano_py.actions.reclaim import Reclaim
from volcano_py.actions.shuffle import Shuffle

BUILTIN_ACTIONS = (Enqueue, Allocate, Backfill, Preempt, Reclaim, GangPreempt, GangReclaim, Shuffle)
