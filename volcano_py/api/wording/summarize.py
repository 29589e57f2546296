"""Lists in sentences: the first few, and how many more there are, so that no list makes a message long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MOST_LISTED: Final = 3


def summarize(parts: Sequence[str], *, total: int | None = None, most: int = MOST_LISTED) -> str:
    """`a, b, c and 2 more`. `total`: how many there are, where only the first are given; `most`: how many to list."""
    first = parts[:most]
    more = (len(parts) if total is None else total) - len(first)
    text = ", ".join(first)
    return f"{text} and {more} more" if more > 0 else text


def plural(word: str, count: int) -> str:
    """`node`, or `nodes` unless there is one."""
    return word if count == 1 else f"{word}s"


def counted(count: int, word: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{count} {plural(word, count)}"
