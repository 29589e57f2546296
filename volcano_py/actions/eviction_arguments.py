"""The arguments that actions with evictions share: what jobs may lose together."""

from __future__ import annotations

from datetime import timedelta
from typing import Literal

import msgspec

from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import Duration
from volcano_py.framework.eviction.units import MOST_DOMAINS, UnitRules
from volcano_py.framework.session import Session


class EvictionArguments(Arguments):
    whole: bool = argument(
        "allowWholeGangs",
        True,
        "Whether jobs may be evicted as a whole. If not, only pods beyond their minimums are evicted.",
    )
    partial: bool = argument(
        "allowPartialGangs",
        False,
        "Whether jobs may lose pods below their minimums, one by one, and be left with pods that cannot run.",
    )
    min_runtime: Duration = argument(
        "minRuntime", timedelta(0), "A gang that has been complete for less than this is not evicted as a whole."
    )


class GangEvictionArguments(EvictionArguments):
    """Those of gangpreempt and gangreclaim."""

    allow_whole_bundle: bool = argument("allowWholeBundle", True, "Volcano's name for `allowWholeGangs`.")
    whole_surplus: bool = argument(
        "wholeSurplus",
        False,
        "Whether a job that loses any surplus pod loses all of them, as in Volcano. If not, it loses as many as are "
        "needed.",
    )
    order: Literal["surplus-first", "priority-first"] = argument(
        "order",
        "surplus-first",
        "surplus-first: whole jobs are evicted only if the surplus of all jobs is not enough. priority-first: the job "
        "of the lowest priority loses pods first, surplus or all.",
    )
    max_domains: int = argument(
        "maxDomains",
        8,
        "How many domains of the network are tried for a job that is kept together; 0 or less means 8.",
    )


def unit_rules(ssn: Session, arguments: EvictionArguments) -> UnitRules:
    """Minimums count wherever the gang plugin is configured, whatever its switches say."""
    has_gang = any(entry.name == "gang" for entry in ssn.configuration.plugins())
    rules = UnitRules(
        minimums=has_gang and not arguments.partial,
        whole=arguments.whole,
        min_runtime=arguments.min_runtime.total_seconds(),
    )
    if not isinstance(arguments, GangEvictionArguments):
        return rules
    return msgspec.structs.replace(
        rules,
        whole=arguments.whole and arguments.allow_whole_bundle,
        surplus_first=arguments.order == "surplus-first",
        all_surplus=arguments.whole_surplus,
        most_domains=arguments.max_domains if arguments.max_domains > 0 else MOST_DOMAINS,
    )
