"""Booleans, durations, lists and unquoted scalars, by the rules of Go's libraries."""

from __future__ import annotations

import contextlib
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.api.go_values import format_duration, parse_bool, parse_duration, split_names
from volcano_py.config.text.scalars import resolve


@pytest.mark.parametrize("text", ["1", "t", "T", "TRUE", "true", "True"])
def test_spellings_of_true(text: str) -> None:
    assert parse_bool(text) is True


@pytest.mark.parametrize("text", ["0", "f", "F", "FALSE", "false", "False"])
def test_spellings_of_false(text: str) -> None:
    assert parse_bool(text) is False


@pytest.mark.parametrize("text", ["", "yes", "on", "tRUE", " true", "2", "x" * 1000])
def test_other_words_are_no_booleans(text: str) -> None:
    with pytest.raises(ValueError, match="is not a boolean; write true or false"):
        parse_bool(text)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("0", 0),
        ("+0", 0),
        ("0s", 0),
        ("5s", 5_000_000),
        ("1478s", 1_478_000_000),
        ("-5s", -5_000_000),
        ("+5s", 5_000_000),
        ("5.0s", 5_000_000),
        ("5.6s", 5_600_000),
        ("5.s", 5_000_000),
        (".5s", 500_000),
        ("1.004s", 1_004_000),
        ("100.00100s", 100_001_000),
        ("10ns", 0),
        ("1500ns", 2),
        ("11us", 11),
        ("12\u00b5s", 12),
        ("12\u03bcs", 12),
        ("13ms", 13_000),
        ("15m", 900_000_000),
        ("16h", 57_600_000_000),
        ("1m30s", 90_000_000),
        ("10.5s4m", 250_500_000),
        ("-2m3.4s", -123_400_000),
        ("1h2m3s4ms5us", 3_723_004_005),
        ("0.3333333333333333333h", 1_200_000_000),
        ("2562047h47m16.854775807s", 9_223_372_036_854_776),
    ],
)
def test_durations(text: str, microseconds: int) -> None:
    assert parse_duration(text) == timedelta(microseconds=microseconds)


@pytest.mark.parametrize(
    "text",
    [
        *("", "3", "-", "s", ".", "-.", ".s", "+.s", "1.2.3s", "1x", "1d", "5 s", " 5s", "5s ", "--5s", "1e3s"),
        *("\u0663s", "3000000h", "9" * 60 + "s", "1s" * 100_000, "nan", "1m30"),
    ],
)
def test_texts_that_are_no_durations(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_a_number_without_a_unit_is_reported() -> None:
    with pytest.raises(ValueError, match="a number needs its unit; write one such as 30s, 5m or 1h30m"):
        parse_duration("30")


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_a_formatted_duration_reads_back(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(), "0s"),
        (timedelta(minutes=1), "1m"),
        (timedelta(seconds=90), "1m30s"),
        (timedelta(milliseconds=250), "250ms"),
        (timedelta(days=1), "24h"),
        (timedelta(seconds=-5), "-5s"),
    ],
)
def test_durations_are_written_short(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text


@given(st.text(max_size=40))
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(parse_duration(text), timedelta)


def test_names_are_trimmed_and_kept_in_order_once() -> None:
    assert split_names(" b, a ,,b,\tc\n") == ("b", "a", "c")
    assert split_names("") == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True),
        ("Y", True),
        ("on", True),
        ("off", False),
        ("n", False),
        ("yEs", "yEs"),
        ("~", None),
        ("", None),
        ("Null", None),
        ("10", 10),
        ("-3", -3),
        ("+3", 3),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0b101", 5),
        ("-0b101", -5),
        ("010", 8),
        ("0o10", 8),
        ("08", 8.0),
        ("0", 0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        (".inf", float("inf")),
        ("-.INF", float("-inf")),
        ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 2.0**63),
        ("-9223372036854775808", -(2**63)),
        ("-9223372036854775809", -(2.0**63)),
        ("1e400", "1e400"),
        ("9" * 5000, "9" * 5000),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("10Gi", "10Gi"),
        ("1.2.3", "1.2.3"),
        ("inf", "inf"),
        ("nan", "nan"),
        ("-", "-"),
        ("0x", "0x"),
        ("\u0663", "\u0663"),
    ],
)
def test_unquoted_scalars(text: str, value: object) -> None:
    resolved = resolve(text)
    assert (resolved, type(resolved)) == (value, type(value))


@given(st.text(alphabet="0123456789+-._exobnaifENAI", max_size=30))
def test_anything_that_looks_like_a_number_resolves(text: str) -> None:
    assert isinstance(resolve(text), bool | int | float | str | None)
