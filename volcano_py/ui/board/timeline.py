"""The last hour: samples of shares and waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from math import inf
from typing import Final

from volcano_py.api.report import Amounts
from volcano_py.ui.board.model import ClusterRow, JobRow, QueueRow, Sample

EVERY: Final = 10.0
"""Seconds between two samples."""
LASTS: Final = 3600.0
"""Seconds that a sample is kept."""
_MOST_QUEUES: Final = 12
"""That a sample names: the largest ones below root."""


class Timeline:
    """Samples since the page was started, an hour at most; or those of a record, to which nothing is added."""

    def __init__(self, recorded: Mapping[str, Sample] | None = None) -> None:
        self.rows: Mapping[str, Sample] = recorded or {}
        """Moment → sample; another mapping after each change."""
        self._next = inf if recorded is not None else 0.0

    def add(self, cluster: ClusterRow, queues: Mapping[str, QueueRow], jobs: Iterable[JobRow]) -> None:
        """The cluster at a later moment; taken down when the next sample is due."""
        if cluster.moment < self._next:
            return
        self._next = cluster.moment + EVERY
        held = {name: queue.allocated for name, queue in queues.items() if queue.depth == 1}
        sample = Sample(
            at=cluster.moment,
            shares=shares(held, cluster.allocatable),
            waiting=dict(sorted(Counter(job.reason for job in jobs if job.reason).items())),
            used=parts(cluster.used, cluster.allocatable),
        )
        kept = {key: row for key, row in self.rows.items() if row.at > cluster.moment - LASTS}
        self.rows = {**kept, f"{cluster.moment:.0f}": sample}


def shares(held: Mapping[str, Amounts], total: Amounts) -> dict[str, float]:
    """Queue → the largest part of the total that it holds of any resource; of the largest queues, by name."""
    found = {name: max(parts(amounts, total).values(), default=0.0) for name, amounts in held.items()}
    largest = sorted(found, key=lambda name: (-found[name], name))[:_MOST_QUEUES]
    return {name: found[name] for name in sorted(largest)}


def parts(amounts: Amounts, total: Amounts) -> dict[str, float]:
    """Resource → part of the total."""
    return {name: round(amounts.get(name, 0) / units, 4) for name, units in total.items() if units}
