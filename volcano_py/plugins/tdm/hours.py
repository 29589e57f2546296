"""Hours of the day, and when they begin and end."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated, Any, Final, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from pydantic import BeforeValidator, PlainSerializer, PlainValidator

from volcano_py.config.values import TypeName

_HOURS: Final = re.compile(r"\s*(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s*", re.ASCII)
_DAY: Final = 86_400  # seconds
_FIX: Final = "write the hours of a day as 08:30-21:00, or 22:00-06:00 for a night"


class Hours(msgspec.Struct, frozen=True):
    """From `start` until `end`; an end that is not later is the next day's, so that equal ones mean all day."""

    start: time
    end: time

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"

    def include(self, moment: time) -> bool:
        if self.start < self.end:
            return self.start <= moment < self.end
        return moment >= self.start or moment < self.end

    def next_change(self, now: float, zone: str) -> float | None:
        """When they next begin or end in the time zone, "" for that of the process; None when they are all of the day.
        Moments are in seconds since the epoch.

        A change of the clocks may leave out a time of day, or bring it twice, so that hours begin or end with it.
        """
        if self.start == self.end:
            return None
        today = local_time(now, zone).date()
        days = [today + timedelta(days=days) for days in range(3)]  # (one of them may lack the hours)
        turns = [moment for day in days for turn in (self.start, self.end) for moment in _moments(day, turn, zone)]
        is_within = self.include(local_time(now, zone).time())
        return next(
            moment
            for moment in sorted({*turns, *_change_of_clocks(now, zone)})
            if moment > now and self.include(local_time(moment, zone).time()) is not is_within
        )


def read_hours(value: object) -> Hours:
    """Hours as they are written in the configuration.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(value, Hours):
        return value
    match = _HOURS.fullmatch(value) if isinstance(value, str) and len(value) <= 40 else None
    if match is None:
        raise ValueError(f"are not hours; {_FIX}")
    numbers = [int(number) for number in match.groups()]
    try:
        return Hours(time(numbers[0], numbers[1]), time(numbers[2], numbers[3]))
    except ValueError:
        raise ValueError(f"are not hours, a day goes from 00:00 to 23:59; {_FIX}") from None


def local_time(now: float, zone: str) -> datetime:
    """A moment (seconds since the epoch) in a time zone, "" for that of the process."""
    if zone:
        return datetime.fromtimestamp(now, tz=ZoneInfo(zone))
    return datetime.fromtimestamp(now, tz=UTC).astimezone()


def _moments(day: date, turn: time, zone: str) -> set[float]:
    """When it is that time of that day: twice when clocks were put back."""
    local = datetime.combine(day, turn, ZoneInfo(zone) if zone else None)
    return {local.replace(fold=fold).timestamp() for fold in (0, 1)}


def _change_of_clocks(now: float, zone: str) -> list[float]:
    """When clocks are changed within the next day, to the second; empty on most days."""
    before, after = int(now), int(now) + _DAY
    offset = local_time(before, zone).utcoffset()
    if local_time(after, zone).utcoffset() == offset:
        return []
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (middle, after) if local_time(middle, zone).utcoffset() == offset else (before, middle)
    return [after]


def _known_zone(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("must be the name of a time zone such as Europe/Berlin")
    if value:
        try:
            ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("is not a time zone; write a name such as Europe/Berlin, or UTC") from None
    return value


HoursOfDay: TypeAlias = Annotated[
    Hours, PlainValidator(read_hours), PlainSerializer(str, return_type=str), TypeName("hours, as 08:30-21:00")
]
TimeZone: TypeAlias = Annotated[str, BeforeValidator(_known_zone), TypeName("time zone")]
