"""The arguments of tdm."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from volcano_py.config.arguments import Arguments, argument
from volcano_py.config.values import PositiveDuration
from volcano_py.plugins.tdm.hours import HoursOfDay, TimeZone


class TdmArguments(Arguments):
    zones: Mapping[str, HoursOfDay] = argument(
        "tdm.revocable-zone.<zone>",
        {},
        "Hours in which nodes of the zone (label volcano.sh/revocable-zone) take pods that allow it.",
    )
    period: PositiveDuration = argument(
        "tdm.evict.period", timedelta(minutes=1), "Time between two evictions from nodes whose hours are over."
    )
    timezone: TimeZone = argument("tdm.timezone", "", "Time zone of the hours; empty: that of the scheduler's process.")
