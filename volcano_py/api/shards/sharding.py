"""Which shard a scheduler has, and what the others' nodes are to it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class ShardingMode(StrEnum):
    """HARD: nodes of other shards are never used. SOFT: only where no node of the own shard will do."""

    HARD = "hard"
    SOFT = "soft"


class Sharding(msgspec.Struct, frozen=True):
    """`name` is that of a NodeShard. A scheduler without one has all nodes."""

    name: str
    mode: ShardingMode = ShardingMode.HARD

    @property
    def is_hard(self) -> bool:
        return self.mode is ShardingMode.HARD
