"""What a change of an object means for the scheduler."""

from __future__ import annotations

from enum import IntEnum


class Change(IntEnum):
    """The larger one holds when several come together."""

    NONE = 0
    """Nothing that a cycle looks at: above all what the scheduler has written itself."""
    LATER = 1
    """Nothing that is worth a cycle; the next one looks at it."""
    STATUS = 2
    """Statuses have to be written; no decision can come out differently."""
    INCOMPLETE = 3
    """A pod has come to a PodGroup that still has fewer than its minMember: a decision may come out differently only if
    no plugin refuses such PodGroups."""
    DECISION = 4
    """A decision may come out differently."""
