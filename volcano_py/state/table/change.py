"""What a change of an object means for the scheduler."""

from __future__ import annotations

from enum import IntEnum


class Change(IntEnum):
    """The larger one holds when several come together."""

    NONE = 0
    """Nothing that a cycle looks at, or nothing that is worth one."""
    STATUS = 1
    """Statuses have to be written; no decision can come out differently."""
    DECISION = 2
    """A decision may come out differently."""
