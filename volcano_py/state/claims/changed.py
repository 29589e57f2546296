"""Claims whose pods have to be looked at again."""

from __future__ import annotations


class ChangedClaims(set[str]):
    """Claims (namespace/name) whose meaning may have changed since they were last taken."""

    def take(self) -> frozenset[str]:
        """All of them; there are none afterwards."""
        taken = frozenset(self)
        self.clear()
        return taken
