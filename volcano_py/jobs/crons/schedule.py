"""Cron schedules as Kubernetes understands them: five fields, `@daily` and similar, `@every 90m`, in a time zone.

The fields are evaluated by cronsim. Around the changes of a time zone's clock it does what Debian's cron does: what is
set for a time of day that does not exist that day runs right after it, and what is set for one that exists twice runs
once.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from volcano_py.api.go_values import parse_duration
from volcano_py.api.wording.summarize import counted

SHORTEST: Final = timedelta(minutes=1)
"""The name of a job follows from the minute it is due, so that there is one in a minute at most."""

_LONGEST_TEXT: Final = 512  # characters; the CRD's bound
_LONGEST_SHOWN: Final = 64  # characters of a value in a message
_SECOND: Final = timedelta(seconds=1)
# As the cron library that Kubernetes uses has them.
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_FIELDS: Final = 5
# Fields that restrict the day: either may match when both are given. `*` leaves the day to the other one. In Debian's
# cron (and cronsim) so does `*/2`, in Kubernetes it does not: written as a range it means the same in both.
_DAY_FIELDS: Final = {2: "1-31", 4: "0-6"}
# cronsim reads a range of one with a step as it reads a number with a step: as one that continues to the end.
_RANGE_OF_ONE: Final = re.compile(r"\b(\w+)-\1/\d+")
_FIX: Final = "give five fields (minute, hour, day of month, month, day of week) such as '*/10 * * * *', or @daily"
# Names that stand for whatever the machine is set to.
_LOCAL_ZONES: Final = frozenset({"local", "localtime"})


class ScheduleError(ValueError):
    """The schedule or its time zone cannot be used; the text names the field, what was found and the fix."""

    def __init__(self, value: str, rule: str, fix: str, *, field: str = "spec.schedule") -> None:
        """`rule`: what is wrong with the value, a phrase that continues after it."""
        self.field, self.value, self.rule, self.fix = field, value[:_LONGEST_SHOWN], rule, fix
        super().__init__(f"{field} is {self.value!r}, which {rule}; {fix}")


class Schedule(ABC):
    """When something is due. Times are aware, in UTC, in whole seconds."""

    @abstractmethod
    def next(self, after: datetime) -> datetime | None:
        """The first time later than `after`; None when there is none within fifty years."""

    @abstractmethod
    def latest(self, now: datetime, after: datetime) -> datetime | None:
        """The last time that is later than `after` and not later than `now`."""

    def times(self, after: datetime) -> Iterator[datetime]:
        """All times later than `after`, in order."""
        moment = self.next(after)
        while moment is not None:
            yield moment
            moment = self.next(moment)

    def count(self, after: datetime, now: datetime, at_most: int) -> int:
        """How many times are later than `after` and not later than `now`; counting ends at `at_most`."""
        return sum(1 for _ in islice(takewhile(lambda moment: moment <= now, self.times(after)), at_most))


def parse_schedule(text: str, time_zone: str | None, anchor: datetime) -> Schedule:
    """The schedule that `spec.schedule` and `spec.timeZone` (None: UTC) describe.

    `anchor` is when the counting of `@every` begins: the creation of the object.

    Raises:
        ScheduleError: one of them cannot be understood.
    """
    zone = _zone(time_zone)
    text = text.strip()
    if len(text) > _LONGEST_TEXT:
        raise ScheduleError(text, f"has {len(text)} characters", f"at most {_LONGEST_TEXT} are read")
    if "TZ=" in text.upper():
        raise ScheduleError(text, "names a time zone", "write it into spec.timeZone instead")
    if text.startswith(_EVERY):
        return _Interval(_interval(text), anchor.astimezone(UTC).replace(microsecond=0))
    if text.startswith("@") and text not in _DESCRIPTORS:
        known = ", ".join(_DESCRIPTORS)
        raise ScheduleError(text, "is not known", f"use one of {known}, or @every with a duration such as 90m")
    return _Cron(text, _fields(_DESCRIPTORS.get(text, text)), zone, anchor)


def _zone(name: str | None) -> ZoneInfo:
    if name is None:
        return ZoneInfo("UTC")
    try:
        if name.lower() in _LOCAL_ZONES:
            raise ValueError("it depends on the machine")
        return ZoneInfo(name)
    # Directories of the database are an OSError, and so are names that no file can have.
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ScheduleError(
            name,
            "is not a known time zone",
            "use a name of the IANA database such as Europe/Berlin or Etc/UTC",
            field="spec.timeZone",
        ) from error


def _interval(text: str) -> timedelta:
    try:
        length = parse_duration(text.removeprefix(_EVERY).strip())
    except ValueError as error:
        raise ScheduleError(text, f"is not an interval: {error}", "give a duration such as @every 90m") from error
    if length < SHORTEST:
        raise ScheduleError(text, "is too short an interval", "the shortest is 1m")
    return timedelta(seconds=length // _SECOND)


def _fields(text: str) -> str:
    """The expression as cronsim is to read it."""
    fields = text.split()
    if len(fields) != _FIELDS:
        raise ScheduleError(text, f"has {counted(len(fields), 'field')}", _FIX)
    fields = [_RANGE_OF_ONE.sub(r"\1", field.replace("?", "*")) for field in fields]
    for place, whole in _DAY_FIELDS.items():
        fields[place] = ",".join(_as_range(term, whole) for term in fields[place].split(","))
    return " ".join(fields)


def _as_range(term: str, whole: str) -> str:
    return whole + term[1:] if term.startswith("*/") and term != "*/1" else term


class _Cron(Schedule):
    """A cron expression in a time zone."""

    def __init__(self, text: str, expression: str, zone: ZoneInfo, some_time: datetime) -> None:
        self._expression, self._zone = expression, zone
        try:
            CronSim(expression, some_time)
        except CronSimError as error:
            raise ScheduleError(text, f"cannot be read: {str(error).lower()}", _FIX) from error

    def next(self, after: datetime) -> datetime | None:
        for moment in self._walk(after):
            # Where the clock was put back, times of day come twice, and the walk starts from the first.
            if moment > after:
                return self._first(moment, after)
        return None

    def latest(self, now: datetime, after: datetime) -> datetime | None:
        found = next(self._walk(now.replace(microsecond=0) + _SECOND, back=True), None)
        if found is None:
            return None
        # Walking back from the second of two equal times of day, the first is not seen.
        while (later := self.next(found)) is not None and later <= now:
            found = later
        return found if found > after else None

    def _first(self, moment: datetime, after: datetime) -> datetime:
        """The first time later than `after`, when `moment` is one.

        Where the clock is put forward by half an hour, the walk may step over some.
        """
        while (earlier := next(self._walk(moment, back=True), None)) is not None and after < earlier < moment:
            moment = earlier
        return moment

    def _walk(self, start: datetime, *, back: bool = False) -> Iterator[datetime]:
        local = start.astimezone(self._zone)
        return (moment.astimezone(UTC) for moment in CronSim(self._expression, local, reverse=back))


class _Interval(Schedule):
    """Every so often, counted from a moment."""

    def __init__(self, length: timedelta, anchor: datetime) -> None:
        self._length, self._anchor = length, anchor

    def next(self, after: datetime) -> datetime | None:
        return self._anchor + max(1, (after - self._anchor) // self._length + 1) * self._length

    def latest(self, now: datetime, after: datetime) -> datetime | None:
        found = self._anchor + (now - self._anchor) // self._length * self._length
        return found if found > max(after, self._anchor) else None
