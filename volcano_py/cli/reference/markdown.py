"""The Markdown elements of the reference pages."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table; cells are Markdown, see `cell` for plain text."""
    lines = [f"| {' | '.join(headings)} |", "|" + "---|" * len(headings)]
    return [*lines, *(f"| {' | '.join(row)} |" for row in rows)]


def cell(text: str) -> str:
    """Plain text for a table cell; `code` in backticks stays as it is."""
    parts = text.replace("|", "\\|").split("`")
    plain = [part.replace("<", "&lt;").replace(">", "&gt;") if i % 2 == 0 else part for i, part in enumerate(parts)]
    return "`".join(plain)


def code(text: str) -> str:
    """Text as code for a table cell; nothing for no text."""
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def paragraphs(text: str | None) -> list[str]:
    """The paragraphs of a docstring, each on one line."""
    blocks = inspect.cleandoc(text or "").split("\n\n")
    return [" ".join(block.split()) for block in blocks if block.strip()]


def sentence(text: str) -> str:
    """With a capital at the beginning."""
    return text[:1].upper() + text[1:]


def spaced(blocks: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of all blocks with an empty line between them; empty blocks are left out."""
    for number, block in enumerate(block for block in blocks if block):
        if number:
            yield ""
        yield from block
