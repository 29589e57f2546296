"""Pods and their claims: when a claim changes, the pods that use it change their class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from volcano_py.state.status import TaskStatus
from volcano_py.state.table.change import Change
from volcano_py.state.volumes.claimants import Claimants
from volcano_py.state.volumes.volumes import Volumes

if TYPE_CHECKING:
    from volcano_py.api.effects import ClaimBinding
    from volcano_py.api.objects import Pod
    from volcano_py.state.classes.class_book import ClassBook
    from volcano_py.state.table.ledger import Ledger
    from volcano_py.state.volumes.needs import Need


class PodClaims:
    """Keeps the classes of pods true to their claims.

    Attributes:
        volumes: what is known of claims and volumes.
    """

    def __init__(self, ledger: Ledger, classes: ClassBook) -> None:
        self._ledger = ledger
        self._classes = classes
        self._claimants = Claimants()
        self.volumes = Volumes(in_use=lambda: bool(self._claimants))
        self._moved: set[int] = set()

    def put(self, row: int, pod: Pod, claims: tuple[str, ...]) -> tuple[Need, ...]:
        """The pod of that task row uses these claims; returns what they require."""
        self._moved |= self._claimants.put(row, pod, claims)
        return self._needs(pod) if claims else ()

    def take(self, row: int) -> None:
        """The pod of that row is gone, and what was decided for it."""
        pod = self._claimants.pod(row)
        if pod is not None:
            self._moved |= self._claimants.take(row)
            self.volumes.forget(pod.metadata.uid)

    def assume(self, pod: str, claims: Sequence[ClaimBinding], node: str) -> None:
        """These claims get their volumes for the pod with that UID, on that node."""
        self.volumes.assume(pod, claims, node)
        self.settle()

    def settle(self) -> Change:
        """Put pods into the classes that are right now, after anything has changed."""
        if not (self._moved or self.volumes.have_changed):
            return Change.NONE
        rows = self._moved | self._claimants.rows(self.volumes.take_changed())
        self._moved = set()
        return self._reclassify(rows)

    def _reclassify(self, rows: Iterable[int]) -> Change:
        tasks, change = self._ledger.tasks, Change.NONE
        for row in rows:
            pod = self._claimants.pod(row)
            if pod is None:
                continue
            old, new = int(tasks.task_class[row]), self._classes.join(pod, self._needs(pod)).row
            if new != old:
                self._ledger.book_one(row, -1)
                tasks.change(row).task_class[row] = new
                self._ledger.book_one(row, 1)
                if tasks.status[row] == TaskStatus.PENDING:
                    change = Change.DECISION
            self._classes.leave(old)
        return change

    def _needs(self, pod: Pod) -> tuple[Need, ...]:
        return self.volumes.needs(pod, self._claimants.is_shared)
