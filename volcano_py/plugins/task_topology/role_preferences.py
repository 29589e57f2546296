"""Read a PodGroup's annotations: which roles share a node, which keep apart, which are placed first."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Final

import msgspec

from volcano_py.api.names import TASK_TOPOLOGY_AFFINITY, TASK_TOPOLOGY_ANTI_AFFINITY, TASK_TOPOLOGY_ORDER

_KEYS: Final = (TASK_TOPOLOGY_AFFINITY, TASK_TOPOLOGY_ANTI_AFFINITY, TASK_TOPOLOGY_ORDER)
_LONGEST_ROLE: Final = 63  # characters of a role in a message


class AnnotationError(ValueError):
    """The annotations cannot be used; the message names the annotation, what was found and the fix."""


class Strength(IntEnum):
    """How much a role's place matters: the strongest preference that names it."""

    NONE = 0
    KEEPS_APART = 1
    TOGETHER_WITH_ITSELF = 2
    TOGETHER = 3
    APART_FROM_ITSELF = 4


class RolePreferences(msgspec.Struct):
    """By role.

    Attributes:
        together: pairs of roles that should share a node (a role with itself, too), in both orders.
        apart: pairs of roles that should not.
        strength: of the roles named in either.
        order: roles as they should be placed; those named first come first.
    """

    together: set[tuple[str, str]] = msgspec.field(default_factory=set)
    apart: set[tuple[str, str]] = msgspec.field(default_factory=set)
    strength: dict[str, Strength] = msgspec.field(default_factory=dict)
    order: tuple[str, ...] = ()

    def urgency(self, role: str) -> tuple[int, int]:
        """A key: what is smaller is placed first."""
        place = self.order.index(role) if role in self.order else len(self.order)
        return place, -self.strength.get(role, Strength.NONE)

    def attraction(self, role: str, other: str, *, only_apart: bool = False) -> int:
        """How much a pod of `role` is drawn to one of `other`: 1, 0, or -1."""
        drawn = 0 if only_apart else int((role, other) in self.together)
        return drawn - int((role, other) in self.apart)


def read_preferences(annotations: Mapping[str, str], roles: Collection[str]) -> RolePreferences | None:
    """The preferences in a PodGroup's annotations, None without any; `roles` are those that the job has pods of.

    Raises:
        AnnotationError: a role is named that the job has no pods of, or twice in one group.
    """
    texts = {key: annotations[key] for key in _KEYS if key in annotations}
    if not texts:
        return None
    preferences = RolePreferences()
    for names in _groups(TASK_TOPOLOGY_AFFINITY, texts, roles):
        _note(preferences, preferences.together, names, Strength.TOGETHER_WITH_ITSELF, Strength.TOGETHER)
    for names in _groups(TASK_TOPOLOGY_ANTI_AFFINITY, texts, roles):
        _note(preferences, preferences.apart, names, Strength.APART_FROM_ITSELF, Strength.KEEPS_APART)
    preferences.order = tuple(name for names in _groups(TASK_TOPOLOGY_ORDER, texts, roles) for name in names)
    return preferences


def _note(
    preferences: RolePreferences,
    pairs: set[tuple[str, str]],
    names: tuple[str, ...],
    alone: Strength,
    several: Strength,
) -> None:
    """A group of one name is about the role and itself, a longer one about each two of its roles."""
    for name in names:
        strength = alone if len(names) == 1 else several
        preferences.strength[name] = max(preferences.strength.get(name, Strength.NONE), strength)
        pairs.update((name, other) for other in names if other != name or len(names) == 1)


def _groups(key: str, texts: Mapping[str, str], roles: Collection[str]) -> Iterable[tuple[str, ...]]:
    """`a,b;c` as groups of names. Of the order there is one group."""
    for group in texts.get(key, "").split(";"):
        names = tuple(name for part in group.split(",") if (name := part.strip()))
        for position, name in enumerate(names):
            shown = name[:_LONGEST_ROLE]
            if name not in roles:
                raise AnnotationError(
                    f"annotation {key} names role {shown}, which no pod of the job has. Correct the name."
                )
            if name in names[:position]:
                raise AnnotationError(f"annotation {key} names role {shown} twice in one group. Remove one.")
        if names:
            yield names
