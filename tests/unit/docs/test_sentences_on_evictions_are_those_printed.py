"""The table of sentences on why nothing is evicted: each has a scenario, and each that a scenario expects is there."""

from __future__ import annotations

import re
from functools import reduce
from pathlib import Path

import pytest
import yaml

from tests.unit.docs.pages import PROJECT

PAGE = PROJECT / "docs" / "guide" / "evictions.md"
SCENARIOS = sorted((PROJECT / "tests" / "scenarios" / "why_nothing_goes").glob("*.yaml"))
COMMON = (
    "Reclaim finds nothing to evict: q1 holds 0 cpu and deserves 4; q0 holds 4 cpu more than it deserves,",
    "Preempt finds nothing to evict: 1 job of a lower priority runs in queue default,",
)


def expected(path: Path) -> list[str]:
    """The patterns that the scenario expects, with what is common to many left out as on the page."""
    reported = next(yaml.safe_load_all(path.read_text(encoding="utf-8")))["expect"]["reported"].values()
    return [reduce(lambda text, common: text.replace(common, "…"), COMMON, pattern) for pattern in reported]


def shown() -> list[str]:
    """The sentences of the table."""
    rows = re.findall(r"^\| .* \| `(.*)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [row for row in rows if re.match(r"… but|Reclaim|Preempt", row)]


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_page_has_the_sentence_of_the_scenario(path: Path) -> None:
    assert expected(path)
    for pattern in expected(path):
        assert any(re.search(pattern, sentence) for sentence in shown()), pattern


@pytest.mark.parametrize("sentence", shown())
def test_a_scenario_expects_the_sentence_of_the_page(sentence: str) -> None:
    assert any(re.search(pattern, sentence) for path in SCENARIOS for pattern in expected(path))
