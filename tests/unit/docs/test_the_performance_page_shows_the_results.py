"""docs/performance.md is made from the results in benchmarks/results/."""

from __future__ import annotations

from benchmarks.measure import COMMANDS, RESULTS
from benchmarks.report import PAGE, page


def test_every_command_has_a_result() -> None:
    assert {path.stem for path in RESULTS.glob("*.json")} == set(COMMANDS)


def test_the_page_is_what_the_report_makes() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text
