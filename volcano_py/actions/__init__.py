"""The steps of a cycle, one module an action."""

from volcano_py.actions.allocate import Allocate
from volcano_py.actions.backfill import Backfill
from volcano_py.actions.enqueue import Enqueue

BUILTIN_ACTIONS = (Enqueue, Allocate, Backfill)
