"""Which shard decides the jobs of a queue: all queues below one root queue go together.

A root queue is one directly below `root`. Shares, ceilings, gangs and preemption never reach across root queues that
different shards have, so each job is decided by exactly one scheduler.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping

from volcano_py.api.names import ROOT_QUEUE
from volcano_py.state.shards.handover import ShardInfo


def root_of(queue: str, parent: Callable[[str], str]) -> str:
    """The root queue above a queue, or the queue itself. `parent` gives `spec.parent`, "" for what is unknown.

    Queues in a cycle have no root: they go by the first name of the cycle.
    """
    way = {queue: None}
    while (above := parent(queue)) not in ("", ROOT_QUEUE):
        if above in way:
            names = list(way)
            return min(names[names.index(above) :])
        way[above] = None
        queue = above
    return queue


def shard_of(root: str, assigned: str, shards: Mapping[str, ShardInfo]) -> str:
    """The shard of a root queue: the NodeShard of the name `assigned` if there is one, else one of those that take
    queues, by a hash of both names; "" where none does.

    When a shard is added, only queues that move to it change their shard; when one is removed, only its own do.
    """
    if assigned in shards:
        return assigned
    takers = (name for name, shard in shards.items() if shard.takes_queues)
    return max(takers, key=lambda name: (_weight(root, name), name), default="")


def shards_of(
    queues: Iterable[str],
    parent: Callable[[str], str],
    assigned: Callable[[str], str],
    shards: Mapping[str, ShardInfo],
) -> dict[str, str]:
    """Queue → its shard, "" for a queue that any scheduler takes. `assigned` gives the annotation of a queue."""
    found: dict[str, str] = {}
    of_root: dict[str, str] = {}
    for queue in queues:
        root = root_of(queue, parent)
        if root not in of_root:
            of_root[root] = shard_of(root, assigned(root), shards)
        found[queue] = of_root[root]
    return found


def _weight(root: str, shard: str) -> bytes:
    """The highest wins; stable over processes and versions of Python."""
    return hashlib.blake2b(f"{root}\0{shard}".encode(), digest_size=8).digest()
