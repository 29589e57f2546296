"""The GPUs of Volcano's older device plugin: they have numbers, and all GPUs of a node are of one size.

A node has so many by its capacity `volcano.sh/gpu-number`, and each an equal part of `volcano.sh/gpu-memory`. The
annotation `volcano.sh/gpu-unhealthy-ids`, such as `0,2`, takes GPUs away. Those of a bound pod are in
`volcano.sh/gpu-index`, written alike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from volcano_py.api.annotations.vgpu import MOST_MEMORY, MOST_USERS, Card
from volcano_py.api.bounds import CARDS

_LONGEST: Final = 1024
"""Characters of a list that are read: more than all numbers of a node need."""


@lru_cache(maxsize=8192)  # (nodes report themselves again and again)
def cards_by_number(number: int, memory: int, unhealthy: frozenset[int]) -> tuple[Card, ...]:
    """The healthy GPUs of a node that has so many, with so many MB in all; none if there are too many."""
    if number > CARDS.most:
        return ()
    each = min(memory // max(number, 1), MOST_MEMORY)
    return tuple(
        Card(uuid=str(index), key=index, users=MOST_USERS, memory=each, kind="", mode="")
        for index in range(number)
        if index not in unhealthy
    )


def read_indexes(text: str) -> list[int]:
    """The numbers in such a list, each once. What is none is left out: any user may write this."""
    parts = (part.strip() for part in text[:_LONGEST].split(","))
    return [*dict.fromkeys(int(part) for part in parts if _is_index(part))]


def checked_indexes(text: str) -> list[int]:
    """The same. Raises ValueError if a part of the list is no number of a GPU."""
    if text.strip() and not (len(text) <= _LONGEST and all(_is_index(part.strip()) for part in text.split(","))):
        raise ValueError(text)
    return read_indexes(text)


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= len(str(CARDS.most)) and int(text) < CARDS.most
