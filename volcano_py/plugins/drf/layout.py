"""Where each queue stands in the tree that the queues' hierarchy annotations describe together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from volcano_py.api.names import HIERARCHY
from volcano_py.state.infos import QueueInfo
from volcano_py.state.queues.hierarchy import Path as Path
from volcano_py.state.queues.hierarchy import find_conflict, path_text


class Layout(msgspec.Struct):
    """The tree of queues.

    Attributes:
        paths: queue → its node. Queues without a hierarchy stand directly below the root, with the weight of their
            spec; their nodes' names end in a slash, so that no annotation can speak of them.
        weights: node → its weight. The oldest queue that passes through a node sets it.
        refused: queue → why its jobs cannot be scheduled; it has no part in the tree.
    """

    paths: dict[str, Path] = msgspec.field(default_factory=dict)
    weights: dict[Path, float] = msgspec.field(default_factory=dict)
    refused: dict[str, str] = msgspec.field(default_factory=dict)


def lay_out(queues: Iterable[QueueInfo]) -> Layout:
    """Place the queues, oldest first: a later queue must not stop those that were there.

    A queue's own node cannot be on the way to another queue, because jobs and queues would then compete below it.
    Queues may share a node and its part of the cluster; the older of them goes first, as in Volcano.
    """
    layout = Layout()
    owners: dict[Path, str] = {}
    passers: dict[Path, str] = {}
    for queue in sorted(queues, key=lambda queue: (queue.created, queue.name)):
        path = tuple(name for name, _ in queue.hierarchy)
        problem = _conflict(path, owners, passers) if path else ""
        if problem:
            layout.refused[queue.name] = problem
        if problem or not path:
            path = (f"{queue.name}/",)
            layout.weights[path] = float(queue.weight)
        else:
            owners.setdefault(path, queue.name)
            for depth, (_, weight) in enumerate(queue.hierarchy, start=1):
                layout.weights.setdefault(path[:depth], weight)
                if depth < len(path):
                    passers.setdefault(path[:depth], queue.name)
        layout.paths[queue.name] = path
    return layout


def _conflict(path: Path, owners: dict[Path, str], passers: dict[Path, str]) -> str:
    """Why the path conflicts with those that are there; empty when it does not."""
    conflict = find_conflict(path, owners, passers)
    if conflict is None:
        return ""
    mine, other = path_text(path), conflict.other
    remedy = "only queues at the ends of paths can have jobs: give one of them another path"
    if conflict.is_passed_by_other:
        return f"the path of queue {other} leads through its path, {mine} (annotation {HIERARCHY}); {remedy}"
    return (
        f"its path, {mine} (annotation {HIERARCHY}), leads through {path_text(conflict.node)}, the path of queue "
        f"{other}; {remedy}"
    )


def parting(mine: Path, theirs: Path) -> tuple[Path, Path] | None:
    """The two siblings at which the paths part; None when they do not."""
    for depth in range(min(len(mine), len(theirs))):
        if mine[depth] != theirs[depth]:
            return mine[: depth + 1], theirs[: depth + 1]
    return None
