"""find() and findAll() for the patterns in which Python's `re` and RE2, which Kubernetes uses, agree.

`matches()` needs nothing of this: the CEL library has RE2. Python's `re` tries all ways of matching, which can take for
ever, so patterns have few quantifiers, none of them around a group, and texts are short. Source: "Kubernetes regex
library" in https://kubernetes.io/docs/reference/using-api/cel/.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from volcano_py.plugins.predicates.devices.cel.functions import CelType, Function

_LONGEST_TEXT: Final = 64
"""Characters; values of attributes have no more."""
_MOST_QUANTIFIERS: Final = 3
_QUANTIFIER: Final = r"(?:[*+?]|\{\d{1,2}(?:,\d{0,2})?\})\??"
# A class without a class, a range or an escape that only one of the two engines knows.
_CLASS: Final = r"\[\^?(?:[A-Za-z0-9_ .,:;/@#%=<>!]|\\[dw.\-/]|[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9])+-?\]"
_ATOM: Final = rf"(?:[A-Za-z0-9_ ,:;/@#%=<>!&~\"'-]|\.|\\[dwDW.\-/+*?()\[\]{{}}^$|\\]|{_CLASS})"
_ITEM: Final = re.compile(
    rf"(?P<group>\((?:\?:)?|\)|\|)|(?P<anchor>[\^$])|{_ATOM}(?P<quantifier>{_QUANTIFIER})?", re.ASCII
)


def _find(text: str, pattern: str) -> str:
    match = _regex(pattern).search(_short(text))
    return match[0] if match else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found, end = list[str](), -1
    for match in _regex(pattern).finditer(_short(text)):
        # RE2 has no empty match right after another one.
        if match[0] or match.start() != end:
            found.append(match[0])
        end = match.end()
    return found if limit < 0 else found[:limit]


def _short(text: str) -> str:
    """Raises ValueError: it is too long, or has a line break, of which the engines think differently."""
    if len(text) > _LONGEST_TEXT or "\n" in text:
        raise ValueError(f"find() and findAll() search texts of one line and {_LONGEST_TEXT} characters")
    return text


@lru_cache(maxsize=256)
def _regex(pattern: str) -> re.Pattern[str]:
    """Raises ValueError: the pattern is not among those that are supported."""
    at = quantifiers = 0
    while at < len(pattern):
        item = _ITEM.match(pattern, at)
        if item is None:
            raise ValueError(f"find() and findAll() do not support this part of a pattern: {pattern[at : at + 20]!r}")
        quantifiers += item["quantifier"] is not None
        at = item.end()
    if quantifiers > _MOST_QUANTIFIERS:
        raise ValueError(
            f"find() and findAll() support {_MOST_QUANTIFIERS} quantifiers in a pattern, not {quantifiers}"
        )
    try:
        return re.compile(pattern, re.ASCII)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a pattern: {error}") from error


_INT, _LIST, _STRING = CelType.INT, CelType.LIST, CelType.STRING

FUNCTIONS: Final = (
    Function("find", (_STRING, _STRING), _STRING, _find, is_member=True),
    Function("findAll", (_STRING, _STRING), _LIST, _find_all, is_member=True),
    Function("findAll", (_STRING, _STRING, _INT), _LIST, _find_all, is_member=True),
)
