"""Lists in sentences: the first few, and how many more there are, so that no list makes a message long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MOST_LISTED: Final = 3


def summarize(parts: Sequence[str], *, total: int | None = None, most: int = MOST_LISTED, noun: str = "") -> str:
    """`a, b, c and 2 more`. `total`: how many there are, where only the first are given; `most`: how many to list;
    `noun`: what they are, where the parts end with amounts: `a: 1 cpu, and 2 more queues`."""
    first = parts[:most]
    more = (len(parts) if total is None else total) - len(first)
    text = ", ".join(first)
    if more <= 0:
        return text
    return f"{text}, and {more} more {plural(noun, more)}" if noun else f"{text} and {more} more"


def plural(word: str, count: int) -> str:
    """`node`, or `nodes` unless there is one."""
    return word if count == 1 else f"{word}s"


def counted(count: int, word: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{count} {plural(word, count)}"
