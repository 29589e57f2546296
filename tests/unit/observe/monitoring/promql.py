"""Reads names out of a query of PromQL, without the functions that made it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_GROUPING: Final = re.compile(r"\b(by|on|without|ignoring|group_left|group_right)\s*\(([^()]*)\)")
_SELECTOR: Final = re.compile(r"\b([a-z_:][a-z0-9_:]*)\b(?!\s*\()(?:\{([^}]*)\})?")
_RANGE: Final = re.compile(r"\[[^\]]*\]")
_WORDS: Final = frozenset({"and", "or", "unless", "bool", "offset", "sum", "max", "min", "count", "topk", "e"})


class Series(msgspec.Struct, frozen=True):
    """A metric, and the labels that its selector names."""

    metric: str
    labels: tuple[str, ...]


class Names(msgspec.Struct, frozen=True):
    """`groups` are the labels that `by` and `on` name, `made` those that `label_replace` writes."""

    series: tuple[Series, ...]
    groups: frozenset[str]
    made: frozenset[str]


def names_in(query: str) -> Names:
    groups = {label for _, labels in _GROUPING.findall(query) for label in _listed(labels)}
    made = set(re.findall(r', "(\w+)", "[^"]*", "\w*", "[^"]*"\)', query))
    plain = _RANGE.sub("", _GROUPING.sub(" ", query))
    return Names(tuple(_series(plain)), frozenset(groups), frozenset(made))


def _series(query: str) -> Iterator[Series]:
    for match in _SELECTOR.finditer(_blanked(query)):
        if match[1] not in _WORDS:
            yield Series(match[1], tuple(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)", match[2] or "")))


def _blanked(query: str) -> str:
    """Without the texts in quotes, so that no word of them looks like a metric."""
    return _STRING.sub('""', query)


def _listed(labels: str) -> list[str]:
    return [label.strip() for label in labels.split(",") if label.strip()]
