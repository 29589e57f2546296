"""Where each queue stands in the tree that the queues' hierarchy annotations describe together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from volcano_py.api.names import HIERARCHY
from volcano_py.state.hierarchy import ROOT
from volcano_py.state.infos import QueueInfo

Path = tuple[str, ...]
"""Names of the nodes from below the root down."""


@dataclass(slots=True)
class Layout:
    """The tree of queues.

    Attributes:
        paths: queue → its node. Queues without a hierarchy stand directly below the root, with the weight of their
            spec; their nodes' names end in a slash, so that no annotation can speak of them.
        weights: node → its weight. The oldest queue that passes through a node sets it.
        refused: queue → why its jobs cannot be scheduled; it has no part in the tree.
    """

    paths: dict[str, Path] = field(default_factory=dict)
    weights: dict[Path, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def lay_out(queues: Iterable[QueueInfo]) -> Layout:
    """Place the queues, oldest first: who comes later must not stop those that were there.

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
    """Why the path cannot stand beside those that are there; empty when it can."""
    mine = _text(path)
    if path in passers:
        return (
            f"its annotation {HIERARCHY} is {mine}, through which the path of queue {passers[path]} leads; only queues "
            "at the ends of paths can have jobs: give one of them another path"
        )
    for depth in range(1, len(path)):
        if (owner := owners.get(path[:depth])) is not None:
            return (
                f"its annotation {HIERARCHY} is {mine}, which leads through {_text(path[:depth])}, the path of queue "
                f"{owner}; only queues at the ends of paths can have jobs: give one of them another path"
            )
    return ""


def _text(path: Path) -> str:
    return "/".join((ROOT, *path))
