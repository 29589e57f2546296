"""docs/performance.md is made from the results in benchmarks/results/."""

from __future__ import annotations

import json

import pytest

from benchmarks.measure import COMMANDS, RESULTS, shown
from benchmarks.report import PAGE, page


def test_every_command_has_a_result() -> None:
    assert {path.stem for path in RESULTS.glob("*.json")} == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_results_are_those_of_the_commands(name: str) -> None:
    assert json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["command"] == shown(name)


def test_the_page_is_what_the_report_makes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text
