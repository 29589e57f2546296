"""Queue annotations that place a queue in a tree: `volcano.sh/hierarchy` and `volcano.sh/hierarchy-weights`.

What is wrong with them is worked out here alone: the scheduler makes do with it, admission refuses it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import msgspec

from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS

ROOT: Final = "root"

# Beyond these, products and quotients of weights and shares would leave the range of floats.
_LIGHTEST: Final = 1e-100
_HEAVIEST: Final = 1e100

MOST_LEVELS: Final = 100
"""Below the root. Comparing paths looks at each of their prefixes, so the work grows with the square."""

Hierarchy = tuple[tuple[str, float], ...]
"""Name and weight of each node below the root, down to the queue's own."""


Path = tuple[str, ...]
"""Names of nodes from below the root down."""


class Flaw(msgspec.Struct, frozen=True):
    """What cannot be used as it is: the annotations concerned, what was found, and the rule that it breaks.

    `loses_place`: the queue then stands in no tree; otherwise it does, with a weight of 1.
    """

    annotation: str
    found: str
    rule: str
    loses_place: bool = True


class Conflict(msgspec.Struct, frozen=True):
    """Two paths that exclude each other: `node` ends the path of one queue and is on the way to the other's."""

    other: str
    node: Path
    is_passed_by_other: bool


def read_hierarchy(annotations: Mapping[str, str]) -> tuple[Hierarchy, list[str]]:
    """The queue's place, and what of it cannot be used as it is; () for a queue without one.

    `root/eng/prod` with `1/2/8` is the node prod of weight 8 under eng of weight 2; the root's own weight means
    nothing. As Volcano's webhook does, a path that does not begin with the root is taken to be below it.
    """
    hierarchy, flaws = check_hierarchy(annotations)
    return hierarchy, [f"metadata.annotations.{flaw.annotation}: {flaw.found} {_text(flaw)}" for flaw in flaws]


def check_hierarchy(annotations: Mapping[str, str]) -> tuple[Hierarchy, list[Flaw]]:
    """The same, with what is wrong as values."""
    path, weights = annotations.get(HIERARCHY, ""), annotations.get(HIERARCHY_WEIGHTS, "")
    if not path and not weights:
        return (), []
    names, texts = path.split("/"), weights.split("/")
    if len(names) != len(texts) or not path or not weights:
        both = f"{HIERARCHY} and {HIERARCHY_WEIGHTS}"
        return (), [Flaw(both, f"{path!r} and {weights!r}", "have different numbers of elements")]
    if names[0] == ROOT:
        names, texts = names[1:], texts[1:]
    if not names or not all(names):
        return (), [Flaw(HIERARCHY, repr(path), "names no node below the root, or one without a name")]
    if len(names) > MOST_LEVELS:
        return (), [Flaw(HIERARCHY, f"a path of {len(names)} levels", f"has more than {MOST_LEVELS}")]
    flaws: list[Flaw] = []
    read = [_weight(text, flaws) for text in texts]
    return tuple(zip(names, read, strict=True)), flaws


def find_conflict(path: Path, owners: Mapping[Path, str], passers: Mapping[Path, str]) -> Conflict | None:
    """Why the path conflicts with the existing ones, if it does.

    `owners` are queues by the node at the end of their path, `passers` by nodes on the way to it. Queues may share a
    node, but a queue's own node cannot be on the way to another queue: jobs and queues would compete below it.
    """
    if path in passers:
        return Conflict(passers[path], path, is_passed_by_other=True)
    for depth in range(1, len(path)):
        if (owner := owners.get(path[:depth])) is not None:
            return Conflict(owner, path[:depth], is_passed_by_other=False)
    return None


def path_text(path: Path) -> str:
    """As it is written in the annotation."""
    return "/".join((ROOT, *path))


def _text(flaw: Flaw) -> str:
    return f"{flaw.rule}; {'the queue counts as without hierarchy' if flaw.loses_place else 'it counts as 1'}"


def _weight(text: str, flaws: list[Flaw]) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if _LIGHTEST <= weight <= _HEAVIEST:
        return weight
    flaws.append(Flaw(HIERARCHY_WEIGHTS, repr(text), "is not a positive number of a usable size", loses_place=False))
    return 1.0
