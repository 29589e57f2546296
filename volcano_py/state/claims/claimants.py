"""Which pods use which claims."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from volcano_py.api.objects import Pod

_NO_ROWS: Final[frozenset[int]] = frozenset()


class Claimants:
    """Task rows by claim (namespace/name). The pods are kept, because their classes follow from their claims."""

    def __init__(self) -> None:
        self._pods: dict[int, tuple[Pod, tuple[str, ...]]] = {}
        self._users: dict[str, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._pods)

    def put(self, row: int, pod: Pod, claims: tuple[str, ...]) -> frozenset[int]:
        """The pod in that row uses these claims now; returns the other rows for which a claim became shared, or no
        longer is."""
        if not claims and row not in self._pods:
            return _NO_ROWS  # (most pods)
        before = self._pods[row][1] if row in self._pods else ()
        if claims:
            self._pods[row] = (pod, claims)
        else:
            self._pods.pop(row, None)
        if before == claims:
            return _NO_ROWS
        touched: set[int] = set()
        for claim in {*before} - {*claims}:
            users = self._users[claim]
            users.discard(row)
            if not users:
                del self._users[claim]
            elif len(users) == 1:
                touched |= users
        for claim in {*claims} - {*before}:
            users = self._users.setdefault(claim, set())
            if len(users) == 1:
                touched |= users
            users.add(row)
        return frozenset(touched - {row})

    def take(self, row: int) -> frozenset[int]:
        """The row is given up; returns as `put`."""
        pod = self._pods.get(row)
        return self.put(row, pod[0], ()) if pod is not None else _NO_ROWS

    def pod(self, row: int) -> Pod | None:
        """The pod in that row, if it uses claims."""
        found = self._pods.get(row)
        return found[0] if found is not None else None

    def claims(self, row: int) -> tuple[str, ...]:
        """What the pod in that row uses."""
        found = self._pods.get(row)
        return found[1] if found is not None else ()

    def is_used(self, claim: str) -> bool:
        """Whether any pod uses it."""
        return claim in self._users

    def rows(self, claims: Iterable[str]) -> set[int]:
        """Rows of all pods that use any of the claims."""
        return {row for claim in claims for row in self._users.get(claim, ())}

    def is_shared(self, claim: str) -> bool:
        """Whether several pods use it."""
        return len(self._users.get(claim, ())) > 1
