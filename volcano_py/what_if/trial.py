"""A trial: the same capture without the changes and with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from volcano_py.capture.model import Capture
from volcano_py.capture.start import simulation_of
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.registry import Registry
from volcano_py.what_if.changes import Change, applied
from volcano_py.what_if.controllers import tried_again
from volcano_py.what_if.difference import Difference, difference
from volcano_py.what_if.outcome import outcome_of

MOST_CYCLES: Final = 500
"""Where a run that never settles is ended. Most clusters settle in fewer than ten."""


def tried(
    capture: Capture,
    registry: Registry,
    configuration: SchedulerConfiguration,
    *,
    changes: Sequence[Change] = (),
    new_configuration: SchedulerConfiguration | None = None,
    most_cycles: int = MOST_CYCLES,
    between: Callable[[], None] = lambda: None,
) -> Difference:
    """What the changes and the new configuration alter. `between` is called after the run without them.

    Raises:
        ChangeError: a change cannot be made.
    """
    items = tried_again(applied(changes, capture.items, capture.taken), capture.items)
    before = outcome_of(simulation_of(capture, configuration, registry), most_cycles)
    between()
    after = outcome_of(simulation_of(capture, new_configuration or configuration, registry, items=items), most_cycles)
    return difference(before, after)
