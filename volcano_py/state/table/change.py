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
    DECISION = 3
    """A decision may come out differently."""
