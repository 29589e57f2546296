"""Queue annotations that place a queue in a tree: `volcano.sh/hierarchy` and `volcano.sh/hierarchy-weights`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS

ROOT: Final = "root"

# Beyond these, products and quotients of weights and shares would leave the range of floats.
_LIGHTEST: Final = 1e-100
_HEAVIEST: Final = 1e100

Hierarchy = tuple[tuple[str, float], ...]
"""Name and weight of each node below the root, down to the queue's own."""


def read_hierarchy(annotations: Mapping[str, str]) -> tuple[Hierarchy, list[str]]:
    """The queue's place, and what of it cannot be used as it is; () for a queue without one.

    `root/eng/prod` with `1/2/8` is the node prod of weight 8 under eng of weight 2; the root's own weight means
    nothing. As Volcano's webhook does, a path that does not begin with the root is taken to be below it.
    """
    path, weights = annotations.get(HIERARCHY, ""), annotations.get(HIERARCHY_WEIGHTS, "")
    if not path and not weights:
        return (), []
    names, texts = path.split("/"), weights.split("/")
    if len(names) != len(texts) or not path or not weights:
        problem = (
            f"metadata.annotations.{HIERARCHY} and {HIERARCHY_WEIGHTS}: {path!r} and {weights!r} have different "
            "numbers of elements; the queue counts as without hierarchy"
        )
        return (), [problem]
    if names[0] == ROOT:
        names, texts = names[1:], texts[1:]
    if not names or not all(names):
        problem = (
            f"metadata.annotations.{HIERARCHY}: {path!r} names no node below the root, or one without a name; the "
            "queue counts as without hierarchy"
        )
        return (), [problem]
    problems: list[str] = []
    read = [_weight(text, problems) for text in texts]
    return tuple(zip(names, read, strict=True)), problems


def _weight(text: str, problems: list[str]) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if _LIGHTEST <= weight <= _HEAVIEST:
        return weight
    problems.append(
        f"metadata.annotations.{HIERARCHY_WEIGHTS}: {text!r} is not a positive number of a usable size; it counts as 1"
    )
    return 1.0
