"""Sets of CPUs: as text, such as `0-3,8`, and as whole numbers whose bit i stands for CPU i."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from volcano_py.api.bounds import CPUS

_MOST_RANGES: Final = CPUS.most
_LONGEST_ID: Final = 9  # digits


def read_cpus(text: str) -> int:
    """The set that the text lists; an empty one lists none.

    Raises:
        ValueError: it is no such list, or has ids beyond the bound.
    """
    found = 0
    parts = text.split(",", _MOST_RANGES) if text.strip() else []
    for part in parts:
        first, dash, last = part.strip().partition("-")
        begin = _cpu_id(first)
        end = _cpu_id(last) if dash else begin
        if end < begin:
            raise ValueError(f"range {begin}-{end} goes down")
        found |= (1 << (end + 1)) - (1 << begin)
    return found


def write_cpus(cpus: int) -> str:
    """The list of the set, as short as possible; "" for none."""
    ranges: list[tuple[int, int]] = []
    for cpu in each_cpu(cpus):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1] = ranges[-1][0], cpu
        else:
            ranges.append((cpu, cpu))
    return ",".join(str(begin) if begin == end else f"{begin}-{end}" for begin, end in ranges)


def each_cpu(cpus: int) -> Iterator[int]:
    """The ids in the set, ascending."""
    while cpus:
        lowest = cpus & -cpus
        yield lowest.bit_length() - 1
        cpus ^= lowest


def _cpu_id(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or len(text) > _LONGEST_ID or int(text) >= CPUS.most:
        raise ValueError(f"{text[:20]!r} is not a CPU from 0 to {CPUS.most - 1}")
    return int(text)
