"""The table of why nothing is evicted: a scenario prints each sentence, and each that one prints is there."""

from __future__ import annotations

import re
from functools import cache, reduce
from typing import Final

import pytest

from tests.scenarios.scenario import scenarios_below
from tests.unit.docs.pages import PROJECT

PAGE: Final = PROJECT / "docs" / "guide" / "evictions.md"
SCENARIOS: Final = scenarios_below(PROJECT / "tests" / "scenarios" / "why_nothing_goes")
COMMON: Final = (
    "Reclaim finds nothing to evict: q1 holds 0 cpu and deserves 4; q0 holds 4 cpu more than it deserves,",
    "Preempt finds nothing to evict: 1 job of a lower priority runs in queue default,",
)
# The time at which a cool-down ends is not that of the page.
_TIME: Final = re.compile(r"\d\d:\d\d UTC")


@cache
def printed(number: int) -> list[str]:
    """The whole sentences that the scenario's pods report, with what is common to many left out as on the page."""
    scenario = SCENARIOS[number]
    messages = scenario.messages()
    sentences = {
        sentence.rstrip(".")
        for pod in scenario.header["expect"]["reported"]
        for sentence in re.split(r"(?<=\.) ", messages[pod])
        if re.match(r"Reclaim|Preempt", sentence)
    }
    shortened = (reduce(lambda text, common: text.replace(common, "…"), COMMON, each) for each in sorted(sentences))
    return [_TIME.sub("TIME", each) for each in shortened]


def shown() -> list[str]:
    """The sentences of the table."""
    rows = re.findall(r"^\| .* \| `(.*)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [row for row in rows if re.match(r"… but|Reclaim|Preempt", row)]


@pytest.mark.parametrize("number", range(len(SCENARIOS)), ids=[each.path.stem for each in SCENARIOS])
def test_the_page_has_the_sentence_that_the_scenario_prints(number: int) -> None:
    assert printed(number)
    table = [_TIME.sub("TIME", sentence) for sentence in shown()]
    for sentence in printed(number):
        assert sentence in table, sentence


@pytest.mark.parametrize("sentence", shown())
def test_a_scenario_prints_the_sentence_of_the_page(sentence: str) -> None:
    assert any(_TIME.sub("TIME", sentence) in printed(number) for number in range(len(SCENARIOS)))
