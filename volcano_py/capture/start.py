"""A simulation that goes on from a capture."""

from __future__ import annotations

from collections.abc import Iterable

from volcano_py.capture.model import Capture, CaptureError
from volcano_py.cluster.manifests import Stored
from volcano_py.config import SchedulerConfiguration, format_problems, parse_configuration
from volcano_py.framework.registry import Registry
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.simulation import Simulation


def rules_of(capture: Capture) -> GroupRules:
    """The scheduler names, the default queue and the shard."""
    return GroupRules(
        scheduler_names=capture.scheduler_names, default_queue=capture.default_queue, sharding=capture.sharding
    )


def configuration_of(capture: Capture, registry: Registry) -> SchedulerConfiguration:
    """The configuration of the capture.

    Raises:
        CaptureError: it is invalid, with every problem, line and column.
    """
    text = capture.configuration
    parsed = parse_configuration(text, registry.catalogue(), source=capture.source)
    if parsed.config is None:
        raise CaptureError(
            f"the configuration in {capture.source} is invalid:\n"
            f"{format_problems(parsed.errors, text, source=capture.source)}"
        )
    return parsed.config


def simulation_of(
    capture: Capture,
    configuration: SchedulerConfiguration,
    registry: Registry,
    *,
    items: Iterable[Stored] | None = None,
) -> Simulation:
    """A simulation whose first cycle decides as the live scheduler would decide next. `items` take the place of the
    captured objects.

    Bound pods run at once; pods that are being deleted are gone after the first cycle.
    """
    return Simulation(
        capture.items if items is None else items, configuration, registry, rules=rules_of(capture), live=capture.taken
    )
