"""The table of sentences on why nothing is evicted: each that a scenario expects is on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.unit.docs.pages import PROJECT, code_spans

PAGE = PROJECT / "docs" / "guide" / "evictions.md"
SCENARIOS = sorted((PROJECT / "tests" / "scenarios" / "why_nothing_goes").glob("*.yaml"))
COMMON = "Reclaim finds nothing to evict: q1 holds 0 of 4 cpu deserved; q0 holds 4 cpu more than it deserves,"


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_page_has_the_sentence_of_the_scenario(path: Path) -> None:
    scenario = next(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    sentences = [text.replace(COMMON, "…") for text in scenario["expect"]["told"].values()]
    shown = [text for _, text in code_spans(PAGE)]
    assert sentences
    for sentence in sentences:
        assert any(re.search(sentence, text) for text in shown), sentence
