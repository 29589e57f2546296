"""Counts the work that a call does, so that tests can say how it grows without measuring time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


class CountedName(str):
    """A name that counts how often any of its kind is compared or hashed."""

    __slots__ = ()
    touched = 0

    def __eq__(self, other: object) -> bool:
        CountedName.touched += 1
        return str.__eq__(self, other)

    def __hash__(self) -> int:
        CountedName.touched += 1
        return str.__hash__(self)


def work_of(call: Callable[[], object]) -> int:
    """How many functions, of Python and of C, are called, and how often a `CountedName` is touched."""
    count = 0

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before, others = CountedName.touched, sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(others)
    return count + CountedName.touched - before


def growth(work: Callable[[int], int], size: int) -> float:
    """How much more work twice the size is; 2 for work that is linear in it."""
    return work(2 * size) / work(size)
