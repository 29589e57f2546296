"""The password of a source of load: not in problems, not in digests, not in files that others read."""

from __future__ import annotations

import pytest
import yaml

from tests.support.registries import checked_registry
from volcano_py.config import format_problems, parse_configuration
from volcano_py.config.metrics import without_secrets

TEXT = """\
actions: "enqueue, allocate"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: usage}]
metrics:
  type: elasticsearch
  address: https://me:tellnobody@es:9200
  interval: 30s
  elasticsearch.username: reader
  elasticsearch.password: hunter2
"""


def digest(text: str) -> str:
    config = parse_configuration(text, checked_registry().catalogue()).config
    assert config is not None
    assert "hunter2" not in repr(config)
    return config.digest


def test_a_digest_does_not_follow_from_it() -> None:
    assert digest(TEXT) == digest(TEXT.replace("hunter2", "other").replace("tellnobody", "else"))
    assert digest(TEXT) != digest(TEXT.replace("reader", "writer"))


def test_lines_that_are_shown_with_a_problem_hide_it() -> None:
    for text in (
        TEXT.replace("https://me", "[https://me").replace("es:9200", "es:9200]"),
        TEXT.replace("hunter2", "[hunter2]"),
        TEXT.replace("30s", "30"),
    ):
        problems = parse_configuration(text, checked_registry().catalogue()).problems
        shown = format_problems(problems, text)
        assert "metrics" in shown
        assert "hunter2" not in shown
        assert "tellnobody" not in shown


def test_a_copy_for_others_is_without_it_and_otherwise_the_same() -> None:
    copy = without_secrets(TEXT)
    assert yaml.safe_load(copy)["metrics"] == {
        "type": "elasticsearch",
        "address": "https://es:9200",
        "interval": "30s",
        "elasticsearch.username": "reader",
    }
    assert digest(copy) == digest(TEXT)
    plain = TEXT.replace("me:tellnobody@", "").replace("  elasticsearch.password: hunter2\n", "")
    assert without_secrets(plain) is plain


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("metrics: [\n", id="no YAML"),
        pytest.param("since: 2026-13-01\n", id="no date"),
        pytest.param(f"count: {'9' * 5000}\n", id="a number that is too long"),
        pytest.param("deep: " + "[" * 3000 + "\n", id="too deep"),
    ],
)
def test_what_is_no_configuration_is_copied_without_it_too(broken: str) -> None:
    copy = without_secrets(f"{TEXT}{broken}")
    assert broken in copy
    assert "hunter2" not in copy
    assert "tellnobody" not in copy


@pytest.mark.parametrize(
    "arguments", ['"https://me:tellnobody@here"', '{extender.httpTimeout: "https://me:tellnobody@here"}']
)
def test_no_problem_quotes_it_where_an_address_is_in_the_wrong_place(arguments: str) -> None:
    text = f"actions: allocate\ntiers: [{{plugins: [{{name: extender, arguments: {arguments}}}]}}]\n"
    shown = format_problems(parse_configuration(text, checked_registry().catalogue()).problems, text)
    assert 'found "https://***@here"' in shown
    assert "tellnobody" not in shown


def test_a_password_that_no_address_can_have_is_left_out_too() -> None:
    assert "nobody" not in without_secrets(TEXT.replace("tellnobody", "tell'nobody"))
    assert "nobody" not in without_secrets(TEXT.replace("tellnobody", "tell/nob?dy#nobody"))


def test_keys_that_are_nested_by_mistake_hide_it_too() -> None:
    text = "metrics: {type: elasticsearch, elasticsearch: {username: me, password: hunter2}, address: ['//a:b@c']}"
    assert yaml.safe_load(without_secrets(text))["metrics"] == {
        "type": "elasticsearch",
        "elasticsearch": {"username": "me"},
        "address": ["//c"],
    }


def test_what_is_nested_without_end_ends() -> None:
    copy = without_secrets("metrics: &all\n  nested: *all\n  elasticsearch.password: hunter2\n")
    assert yaml.safe_load(copy) == {"metrics": {"nested": {"nested": None}}}
