"""Buckets: pods of one job that should share a node.

What has a node already makes a bucket with its neighbours of the job. The others, the most urgent first, each go into
the bucket that they are drawn to most; of several into the one that asks for least. Where all repel them they make a
new one.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from volcano_py.plugins.task_topology.role_preferences import RolePreferences
from volcano_py.state.table.axis import CPU, MEMORY, PODS
from volcano_py.state.table.table import Rows

_MEBIBYTE = 2**20


class Member(msgspec.Struct, frozen=True, eq=False):
    """A pod of a role that has a preference.

    Attributes:
        row: its task row.
        node: its node row; negative for none.
        request: [R].
    """

    row: int
    role: str
    node: int
    request: NDArray[np.int64]


class Buckets(msgspec.Struct, frozen=True, eq=False):
    """Of one job.

    Attributes:
        preferences: whose.
        members: [M] task rows, the most urgent first.
        bucket: [M] the bucket of each.
        rows: bucket → task rows.
        waiting: bucket → how many of them had no node.
    """

    preferences: RolePreferences
    members: Rows
    bucket: NDArray[np.intp]
    rows: tuple[Rows, ...]
    waiting: NDArray[np.int64]

    @property
    def largest(self) -> int:
        """Members of the largest bucket."""
        return max((len(rows) for rows in self.rows), default=0)

    def ranks(self) -> NDArray[np.float64]:
        """[M] place of each member in task order: larger buckets first, then older ones, then the more urgent role."""
        urgency = np.arange(len(self.members))
        order = np.lexsort((urgency, self.bucket, -self.waiting[self.bucket]))
        ranks = np.empty(len(order))
        ranks[order] = np.arange(len(order))
        return ranks


def fill(preferences: RolePreferences, members: Sequence[Member]) -> Buckets:
    """Put members into buckets. Those of equal urgency are taken in the order given."""
    ordered = sorted(members, key=lambda member: (member.node < 0, *preferences.urgency(member.role)))
    roles = sorted({member.role for member in members})
    drawn = {role: np.array([preferences.attraction(role, other) for other in roles], dtype=np.int64) for role in roles}
    filling = _Filling(len(ordered), {role: position for position, role in enumerate(roles)})
    of_node: dict[int, int] = {}
    bucket = np.zeros(len(ordered), dtype=np.intp)
    for position, member in enumerate(ordered):
        placed = member.node >= 0
        found = of_node.setdefault(member.node, filling.count) if placed else filling.best(drawn[member.role])
        bucket[position] = filling.put(found, member)
    rows = np.array([member.row for member in ordered], dtype=np.intp)
    has_node = np.array([member.node >= 0 for member in ordered], dtype=np.bool_)
    return Buckets(
        preferences=preferences,
        members=rows,
        bucket=bucket,
        rows=tuple(rows[bucket == number] for number in range(filling.count)),
        waiting=np.bincount(bucket[~has_node], minlength=filling.count),
    )


class _Filling:
    """Buckets while they are filled: their pods by role, and how much they ask for."""

    def __init__(self, most: int, roles: dict[str, int]) -> None:
        self.count = 0
        self._roles = roles
        self._pods = np.zeros((max(most, 1), max(len(roles), 1)), dtype=np.int64)
        self._asked = np.zeros(max(most, 1))

    def best(self, drawn: NDArray[np.int64]) -> int:
        """The bucket for a pod that is drawn to the pods of each role by so much; `count` for a new one."""
        if not self.count:
            return 0
        attraction = self._pods[: self.count] @ drawn
        if attraction.max() < 0:
            return self.count
        strongest = np.flatnonzero(attraction == attraction.max())
        return int(strongest[np.argmin(self._asked[strongest])])

    def put(self, bucket: int, member: Member) -> int:
        self.count = max(self.count, bucket + 1)
        self._pods[bucket, self._roles[member.role]] += 1
        self._asked[bucket] += _size(member.request)
        return bucket


def _size(request: NDArray[np.int64]) -> float:
    """One number for a request: millicores, mebibytes and devices, added."""
    amounts = request.astype(np.float64)
    amounts[MEMORY] /= _MEBIBYTE
    return float(amounts[CPU] + amounts[MEMORY] + amounts[PODS + 1 :].sum())
