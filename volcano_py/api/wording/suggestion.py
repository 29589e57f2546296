"""What was probably meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher, get_close_matches
from typing import Final

_LONGEST: Final = 64  # characters of a name that is compared
# Low enough to find enableHierarchy behind the historical hierarchyEnable.
_ALIKE: Final = 0.6


def suggestion(name: str, known: Iterable[str]) -> str:
    """` (did you mean "…"?)` when a known name is close to this one, else nothing. Comparing names is slow."""
    if len(name) > _LONGEST:
        return ""
    folded: Mapping[str, str] = {candidate.lower(): candidate for candidate in known}
    for close in get_close_matches(name.lower(), folded, n=3, cutoff=_ALIKE):
        if _differ_a_little(name.lower(), close):
            return f' (did you mean "{folded[close]}"?)'
    return ""


def _differ_a_little(name: str, candidate: str) -> bool:
    """Compares dotted names without their common beginning, which would make any two keys of a plugin alike."""
    left, right = name.split("."), candidate.split(".")
    while len(left) > 1 and len(right) > 1 and left[0] == right[0]:
        del left[0], right[0]
    return SequenceMatcher(None, ".".join(left), ".".join(right)).ratio() >= _ALIKE
