"""One thing that decide mode measures: a cluster, and the configuration to decide by."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from volcano_py.cluster.manifests import Stored


@dataclass(frozen=True, slots=True)
class Case:
    """`name` stands in the table; `items` makes all objects, as an API server would have them."""

    name: str
    items: Callable[[], Iterable[Stored]]
    configuration: str = ""
    """A volcano-scheduler.conf; "" is the one that the command line gives, or the default."""
