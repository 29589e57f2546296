"""The last hour: samples of shares and waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from volcano_py.ui.board.model import ClusterRow, JobRow, QueueRow, Sample

EVERY: Final = 10.0
"""Seconds between two samples."""
LASTS: Final = 3600.0
"""Seconds that a sample is kept."""
_MOST_QUEUES: Final = 12
"""That a sample names: the largest ones below root."""


class Timeline:
    """Samples since the page was started, an hour at most."""

    def __init__(self) -> None:
        self.rows: dict[str, Sample] = {}
        """Moment → sample; another dict after each change."""
        self._next = 0.0

    def add(self, cluster: ClusterRow, queues: Mapping[str, QueueRow], jobs: Iterable[JobRow]) -> None:
        """The cluster at a later moment; taken down when the next sample is due."""
        if cluster.moment < self._next:
            return
        self._next = cluster.moment + EVERY
        shares = {name: share(queue, cluster) for name, queue in queues.items() if queue.depth == 1}
        largest = sorted(shares, key=lambda name: (-shares[name], name))[:_MOST_QUEUES]
        sample = Sample(
            at=cluster.moment,
            shares={name: shares[name] for name in sorted(largest)},
            waiting=dict(sorted(Counter(job.reason for job in jobs if job.reason).items())),
            used={
                name: round(cluster.used.get(name, 0) / total, 4)
                for name, total in cluster.allocatable.items()
                if total
            },
        )
        kept = {key: row for key, row in self.rows.items() if row.at > cluster.moment - LASTS}
        self.rows = {**kept, f"{cluster.moment:.0f}": sample}


def share(queue: QueueRow, cluster: ClusterRow) -> float:
    """The largest part of the cluster that the queue holds of any resource."""
    parts = (held / total for name, held in queue.allocated.items() if (total := cluster.allocatable.get(name, 0)))
    return round(max(parts, default=0.0), 4)
