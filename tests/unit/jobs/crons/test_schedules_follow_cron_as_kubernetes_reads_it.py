"""Schedules: which times an expression means, in its time zone, and which expressions are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from volcano_py.jobs.crons.schedule import Schedule, ScheduleError, parse_schedule

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def schedule(text: str, zone: str | None = None) -> Schedule:
    return parse_schedule(text, zone, START)


def first(text: str, zone: str | None = None, *, after: str = "2026-01-01 00:00", count: int = 3) -> list[str]:
    times = islice(schedule(text, zone).times(at(after)), count)
    return [f"{moment:%m-%d %H:%M}" for moment in times]


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("*/20 * * * *", ["01-01 00:20", "01-01 00:40", "01-01 01:00"]),
        ("30 9 * * MON-FRI", ["01-01 09:30", "01-02 09:30", "01-05 09:30"]),
        ("0 0 1,15 * *", ["01-15 00:00", "02-01 00:00", "02-15 00:00"]),
        ("5 4 ? * ?", ["01-01 04:05", "01-02 04:05", "01-03 04:05"]),
        ("0 0 13 * 5", ["01-02 00:00", "01-09 00:00", "01-13 00:00"]),  # the 13th, and every Friday
        ("0 0 */10 * 1", ["01-05 00:00", "01-11 00:00", "01-12 00:00"]),  # a step restricts, as in Kubernetes
        ("0 0 */1 * 1", ["01-05 00:00", "01-12 00:00", "01-19 00:00"]),  # a step of one does not
        ("0 9-9/2,11-11/1 * * *", ["01-01 09:00", "01-01 11:00", "01-02 09:00"]),  # ranges of one, whatever their step
        ("0 9/6 * * *", ["01-01 09:00", "01-01 15:00", "01-01 21:00"]),  # a number with a step goes on to the end
        ("0 0 29 feb *", ["02-29 00:00", "02-29 00:00", "02-29 00:00"]),  # of 2028, 2032 and 2036
        ("@hourly", ["01-01 01:00", "01-01 02:00", "01-01 03:00"]),
        ("@daily", ["01-02 00:00", "01-03 00:00", "01-04 00:00"]),
        ("@midnight", ["01-02 00:00", "01-03 00:00", "01-04 00:00"]),
        ("@weekly", ["01-04 00:00", "01-11 00:00", "01-18 00:00"]),
        ("@monthly", ["02-01 00:00", "03-01 00:00", "04-01 00:00"]),
        ("@yearly", ["01-01 00:00", "01-01 00:00", "01-01 00:00"]),
        ("@annually", ["01-01 00:00", "01-01 00:00", "01-01 00:00"]),
        ("@every 90m", ["01-01 01:30", "01-01 03:00", "01-01 04:30"]),
        ("  @every 1h30m ", ["01-01 01:30", "01-01 03:00", "01-01 04:30"]),
    ],
)
def test_expressions_mean_these_times(text: str, times: list[str]) -> None:
    assert first(text) == times


@pytest.mark.parametrize(
    ("zone", "times"),
    [
        (None, ["07-02 09:00"]),
        ("Europe/Berlin", ["07-02 07:00"]),
        ("America/New_York", ["07-01 13:00"]),
        ("Asia/Kolkata", ["07-02 03:30"]),
    ],
)
def test_times_of_day_are_those_of_the_time_zone(zone: str | None, times: list[str]) -> None:
    assert first("0 9 * * *", zone, after="2026-07-01 10:00", count=1) == times


def test_a_time_of_day_that_does_not_exist_comes_right_after_the_gap() -> None:
    """In Berlin, on 29 March 2026 the clock goes from 02:00 to 03:00, which is 01:00 in UTC."""
    assert first("30 2 * * *", "Europe/Berlin", after="2026-03-28 00:00") == [
        "03-28 01:30", "03-29 01:00", "03-30 00:30",
    ]  # fmt: skip


def test_a_time_of_day_that_exists_twice_comes_once() -> None:
    """In Berlin, on 25 October 2026 the clock goes from 03:00 back to 02:00, which is 01:00 in UTC."""
    assert first("30 2 * * *", "Europe/Berlin", after="2026-10-24 12:00") == [
        "10-25 00:30", "10-26 01:30", "10-27 01:30",
    ]  # fmt: skip


def test_looking_back_from_the_second_of_two_equal_times_finds_the_first() -> None:
    found = schedule("30 2 * * *", "Europe/Berlin").latest(at("2026-10-25 01:10"), at("2026-10-24 12:00"))
    assert found == at("2026-10-25 00:30")


def test_nothing_is_stepped_over_where_the_clock_moves_by_half_an_hour() -> None:
    """On Lord Howe Island, on 1 October 2028 it goes from 02:00 to 02:30; 20:00 that day is 09:00 in UTC."""
    late = schedule("* 20-23 * 10 *", "Australia/Lord_Howe")
    assert late.next(datetime(2028, 9, 1, tzinfo=UTC)) == datetime(2028, 10, 1, 9, tzinfo=UTC)


def test_a_schedule_of_every_hour_does_not_stop_when_the_clock_is_put_back() -> None:
    assert first("0 * * * *", "Europe/Berlin", after="2026-10-24 23:30", count=4) == [
        "10-25 00:00", "10-25 01:00", "10-25 02:00", "10-25 03:00",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["*/10 * * * *", "@every 10m"])
@pytest.mark.parametrize(
    ("now", "after", "found"),
    [
        ("2026-01-01 01:00", "2026-01-01 00:00", "2026-01-01 01:00"),
        ("2026-01-01 01:09", "2026-01-01 00:00", "2026-01-01 01:00"),
        ("2026-01-01 01:09", "2026-01-01 01:00", None),
        ("2026-01-01 01:09", "2026-01-01 02:00", None),
        ("2026-01-01 00:09", "2026-01-01 00:00", None),
    ],
)
def test_the_latest_time_is_one_that_has_come_and_was_not_dealt_with(
    text: str, now: str, after: str, found: str | None
) -> None:
    assert schedule(text).latest(at(now), at(after)) == (at(found) if found else None)


def test_a_fraction_of_a_second_before_its_time_nothing_is_due() -> None:
    almost = at("2026-01-01 00:10") - timedelta(microseconds=1)
    assert schedule("*/10 * * * *").latest(almost, START) is None
    assert schedule("*/10 * * * *").next(almost) == at("2026-01-01 00:10")


def test_times_are_counted_up_to_a_bound() -> None:
    every = schedule("* * * * *")
    assert every.count(START, START + timedelta(minutes=7), 100) == 7
    assert every.count(START, START + timedelta(days=700), 100) == 100


@pytest.mark.parametrize(
    ("text", "zone", "message"),
    [
        ("", None, r"spec.schedule is '', which has 0 fields; give five fields"),
        ("tomorrow", None, "has 1 field;"),
        ("* * * *", None, "has 4 fields"),
        ("0 */5 * * * *", None, "has 6 fields"),  # seconds are not for CronJobs
        ("60 * * * *", None, r"spec.schedule is '60 \* \* \* \*', which cannot be read: bad minute; give five fields"),
        ("* 24 * * *", None, "bad hour"),
        ("* * 0 * *", None, "bad day-of-month"),
        ("* * * 13 *", None, "bad month"),
        ("* * * * 8", None, "bad day-of-week"),
        ("5-1 * * * *", None, "bad minute"),
        ("*/0 * * * *", None, "bad minute"),
        ("0 0 31 2 *", None, "bad day-of-month"),
        ("@noon", None, "is not known; use one of @yearly, .*, or @every"),
        ("@every 30s", None, "too short an interval; the shortest is 1m"),
        ("@every soon", None, "not a duration"),
        ("@every -1h", None, "too short an interval; the shortest is 1m"),
        ("TZ=Europe/Berlin 0 0 * * *", None, "names a time zone; write it into spec.timeZone"),
        ("CRON_TZ=Europe/Berlin 0 0 * * *", None, "names a time zone; write it into spec.timeZone"),
        ("*," * 300 + "* * * * *", None, "at most 512"),
        ("@daily", "Mars/Olympus", "spec.timeZone is 'Mars/Olympus', which is not a known time zone"),
        ("@daily", "", "spec.timeZone is ''"),
        ("@daily", "Local", "not a known time zone"),
        ("@daily", "localtime", "not a known time zone"),
        ("@daily", "Europe", "not a known time zone"),
        ("@daily", "../etc/passwd", "not a known time zone"),
        ("@daily", "/etc/localtime", "not a known time zone"),
        ("@daily", "x" * 5000, "not a known time zone"),
        ("@daily", "Europe/\0", "not a known time zone"),
    ],
)
def test_what_is_no_schedule_is_refused(text: str, zone: str | None, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        schedule(text, zone)


FIELD = st.one_of(
    st.just("*"),
    st.sampled_from(["*/2", "*/7", "1", "3", "5-9", "2,4", "1-5/2"]),
)
ZONES = st.sampled_from([None, "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"])
MOMENTS = st.integers(0, 15 * 366 * 86_400).map(lambda seconds: at("2020-01-01") + timedelta(seconds=seconds))
EXPRESSIONS = st.one_of(
    st.tuples(FIELD, FIELD, FIELD, FIELD, st.sampled_from(["*", "1", "MON-FRI", "*/2"])).map(" ".join),
    st.integers(1, 5000).map(lambda minutes: f"@every {minutes}m"),
)


@given(EXPRESSIONS, ZONES, MOMENTS)
@settings(max_examples=settings().max_examples, deadline=None)
def test_looking_back_and_looking_ahead_agree(text: str, zone: str | None, now: datetime) -> None:
    """Whatever comes next is, once it has come, the latest; and nothing is due twice."""
    times = schedule(text, zone)
    soon = times.next(now)
    assume(soon is not None)
    assert soon is not None
    assert soon > now
    assert soon.microsecond == 0
    assert times.latest(soon, now) == soon
    assert times.latest(soon + timedelta(seconds=59), soon) in (None, soon + timedelta(seconds=59))
    assert times.latest(soon - timedelta(seconds=1), now) is None


@given(st.integers(0, 59), st.integers(0, 23), ZONES, MOMENTS)
@settings(max_examples=60, deadline=None)
def test_a_time_of_day_comes_once_a_day(minute: int, hour: int, zone: str | None, now: datetime) -> None:
    """Whatever the clocks do: one time for each date of the time zone."""
    times = list(islice(schedule(f"{minute} {hour} * * *", zone).times(now), 8))
    dates = [moment.astimezone(ZoneInfo(zone or "UTC")).date() for moment in times]
    assert dates == [dates[0] + timedelta(days=number) for number in range(8)]


@given(st.text(max_size=60), st.none() | st.text(max_size=20))
def test_any_text_is_a_schedule_or_refused(text: str, zone: str | None) -> None:
    """Users write these; whatever they write may stop their own CronJob, but nothing else."""
    try:
        times = schedule(text, zone)
    except ScheduleError:
        return
    times.latest(START + timedelta(days=1), START)
