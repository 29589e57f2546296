"""How deep lists and mappings stand in each other."""

from __future__ import annotations

from typing import Any


def is_deeper_than(levels: int, value: Any) -> bool:
    """Whether a JSON value has more levels of lists and mappings. Level by level: nesting cannot exhaust the stack."""
    level = [value]
    for _ in range(levels + 1):
        # (exact types: JSON has no others, and anything else would be several times as slow)
        level = [each for each in level if type(each) is dict or type(each) is list]
        if not level:
            return False
        level = [child for each in level for child in (each.values() if type(each) is dict else each)]
    return True
