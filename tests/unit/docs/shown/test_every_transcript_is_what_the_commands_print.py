"""Blocks of language `console`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.docs.pages import PROJECT, blocks
from tests.unit.docs.transcripts import WIDTH, pages_with_transcripts, replayed


@pytest.mark.parametrize(
    "page", pages_with_transcripts(), ids=lambda page: str(page.relative_to(PROJECT)) if isinstance(page, Path) else ""
)
def test_the_page_shows_what_is_printed(page: Path) -> None:
    """When this fails: python -m tests.unit.docs.refresh."""
    for block, now in replayed(page):
        assert block.text == now, str(block)


def test_they_fit_the_page() -> None:
    for page in pages_with_transcripts():
        for block in blocks(page):
            if block.language == "console" and "-o json" not in block.text and "--output json" not in block.text:
                assert max(map(len, block.text.splitlines())) <= WIDTH + 50, str(block)
