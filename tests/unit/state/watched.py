"""A ClusterState with its changes written down, and short ways to read it.

Everything is read from snapshots, as the scheduler does; nothing here knows how the state keeps its objects.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from tests.support.sessions import NAMESPACE, NOW
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.change import Change
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.task_class import TaskClass


class Watched:
    """`changes` lists what `on_change` was called with since the last `quiet()`: in their order."""

    def __init__(self, *objects: ApiObject | list[ApiObject], **options: Any) -> None:
        self.changes: list[Change] = []
        self.state = ClusterState(on_change=self.changes.append, **options)
        self.put(*objects)
        self.quiet()

    def put(self, *objects: ApiObject | list[ApiObject]) -> None:
        for each in objects:
            for obj in each if isinstance(each, list) else [each]:
                self.state.upsert(type(obj).__name__, obj)

    def delete(self, *objects: ApiObject) -> None:
        for obj in objects:
            self.state.delete(type(obj).__name__, obj)

    def quiet(self) -> None:
        """Forget the changes so far."""
        self.changes.clear()

    def reported(self) -> list[Change]:
        """The changes since the last look."""
        changes = list(self.changes)
        self.quiet()
        return changes

    # -- reading -------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        return self.state.snapshot(NOW.timestamp())

    def row(self, pod: str) -> int:
        """The task row of a pod of the usual namespace; -1 when it is not kept."""
        key = f"{NAMESPACE}/{pod}"
        rows = [row for row, info in enumerate(self.snapshot().tasks) if info is not None and info.key == key]
        assert len(rows) <= 1, f"{key} is kept {len(rows)} times"
        return rows[0] if rows else NOWHERE

    def status(self, pod: str) -> TaskStatus:
        """FREE when the pod is not kept."""
        row = self.row(pod)
        return TaskStatus(int(self.snapshot().ledger.tasks.status[row])) if row != NOWHERE else TaskStatus.FREE

    def place(self, pod: str) -> str:
        """The node that the state counts the pod on, "" for none."""
        snapshot = self.snapshot()
        node = int(snapshot.ledger.tasks.node[self.row(pod)])
        return snapshot.nodes[node].name if node != NOWHERE else ""

    def pods(self) -> set[str]:
        """Names of all pods kept."""
        return {info.ref.name for info in self.snapshot().tasks if info is not None}

    def nodes(self) -> set[str]:
        """Names of all nodes that have a row."""
        return {info.name for info in self.snapshot().nodes if info.name}

    def existing(self) -> set[str]:
        """Names of the nodes that exist."""
        snapshot = self.snapshot()
        return {info.name for row, info in enumerate(snapshot.nodes) if snapshot.ledger.nodes.present[row]}

    def on_node(self, node: str, column: str = "used") -> dict[str, int]:
        """What a node has `used`, `releasing` or `allocatable`, without the places of pods."""
        snapshot = self.snapshot()
        row = next(row for row, info in enumerate(snapshot.nodes) if info.name == node)
        amounts = snapshot.ledger.axis.amounts(getattr(snapshot.ledger.nodes, column)[row])
        amounts.pop("pods", None)
        return amounts

    def job(self, group: str) -> int:
        """The job row of a group name."""
        return self.snapshot().job_keys.index(f"{NAMESPACE}/{group}")

    def counts(self, group: str) -> dict[TaskStatus, int]:
        """Tasks of a job by status, zeros left out."""
        counts = self.snapshot().ledger.jobs.counts[self.job(group)]
        return {status: int(counts[status]) for status in TaskStatus if counts[status]}

    def job_column(self, group: str, column: str) -> Any:
        return getattr(self.snapshot().ledger.jobs, column)[self.job(group)].tolist()

    def class_of(self, pod: str) -> TaskClass:
        snapshot = self.snapshot()
        found = snapshot.classes[int(snapshot.ledger.tasks.task_class[self.row(pod)])]
        assert found is not None
        return found

    def classes(self) -> int:
        """How many classes there are."""
        return sum(found is not None for found in self.snapshot().classes)


def as_status(pod: Pod, phase: str, **status: Any) -> Pod:
    """The pod in another phase."""
    changed: Pod = with_status(pod, phase=phase, **status)
    return changed


def on(pod: Pod, node: str, phase: str = "Pending") -> Pod:
    """The pod as the API server has it once it is bound."""
    return as_status(with_spec(pod, node_name=node), phase)


def deleted(pod: Pod, at: datetime = NOW) -> Pod:
    """The pod with a deletion time: its containers are being stopped."""
    changed: Pod = with_meta(pod, deletion_timestamp=at)
    return changed


def with_meta(obj: Any, **fields: Any) -> Any:
    """The object with other metadata."""
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, **fields))


def with_spec(obj: Any, **fields: Any) -> Any:
    """The object with another specification."""
    return msgspec.structs.replace(obj, spec=msgspec.structs.replace(obj.spec, **fields))


def with_status(obj: Any, **fields: Any) -> Any:
    """The object with another status."""
    return msgspec.structs.replace(obj, status=msgspec.structs.replace(obj.status, **fields))
