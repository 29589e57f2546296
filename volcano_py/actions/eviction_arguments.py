"""The arguments that actions with evictions share: what jobs may lose together."""

from __future__ import annotations

from datetime import timedelta

from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import Duration
from volcano_py.framework.eviction.units import UnitRules
from volcano_py.framework.session import Session


class EvictionArguments(Arguments):
    whole: bool = argument(
        "allowWholeGangs",
        True,
        "Whether jobs may be evicted as a whole. If not, they only give the pods beyond their minimums.",
    )
    partial: bool = argument(
        "allowPartialGangs",
        False,
        "Whether jobs may lose pods below their minimums, one by one, and be left with pods that cannot run.",
    )
    min_runtime: Duration = argument(
        "minRuntime", timedelta(0), "A gang that has been complete for less than this is not evicted as a whole."
    )


def unit_rules(ssn: Session, arguments: EvictionArguments) -> UnitRules:
    """Minimums count wherever the gang plugin is configured, whatever its switches say."""
    has_gang = any(entry.name == "gang" for entry in ssn.configuration.plugins())
    return UnitRules(
        minimums=has_gang and not arguments.partial,
        whole=arguments.whole,
        min_runtime=arguments.min_runtime.total_seconds(),
    )
