"""`python -m tests.unit.docs.refresh` brings the pages up to date: sessions, and copies of files.

What comes from code alone, the reference, is made by `python -m volcano_py.cli.reference`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.unit.docs.pages import PAGES, PROJECT, Block, blocks
from tests.unit.docs.transcripts import replayed
from tests.unit.examples.installation import install_all


def refreshed(page: Path) -> str:
    """The page with what its commands print, and its files contain, now."""
    lines = page.read_text(encoding="utf-8").splitlines(keepends=True)
    for block, now in sorted(_replacements(page), key=lambda found: found[0].line, reverse=True):
        lines[block.line : block.line + len(block.text.splitlines())] = [now]
    return "".join(lines)


def _replacements(page: Path) -> Iterator[tuple[Block, str]]:
    yield from replayed(page)
    for block in blocks(page):
        if source := block.marks.get("include"):
            yield block, (PROJECT / source).read_text(encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as site:
        install_all(Path(site))
        sys.path.insert(0, site)
        for page in PAGES:
            text = refreshed(page)
            if text != page.read_text(encoding="utf-8"):
                page.write_text(text, encoding="utf-8")
                sys.stdout.write(f"wrote {page.relative_to(PROJECT)}\n")


if __name__ == "__main__":
    main()
