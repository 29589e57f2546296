"""Pods and their claims: when a claim changes, the pods that use it change their class."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from volcano_py.state.claims.claimants import Claimants
from volcano_py.state.devices.devices import Devices
from volcano_py.state.extended.asked import extended_resources
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.change import Change
from volcano_py.state.volumes.volumes import Volumes

if TYPE_CHECKING:
    from volcano_py.api.effects import ClaimBinding, DeviceBinding
    from volcano_py.api.objects import Pod
    from volcano_py.state.classes.class_book import ClassBook
    from volcano_py.state.devices.needs import DeviceNeed
    from volcano_py.state.table.ledger import Ledger
    from volcano_py.state.volumes.needs import Need

    Needs = tuple[tuple[Need, ...], tuple[DeviceNeed, ...]]
    """What claims to volumes and claims to devices require."""

_NOTHING: Final[Needs] = (), ()


class PodClaims:
    """Keeps the classes of pods true to their claims.

    Attributes:
        volumes: what is known of claims to volumes, and of volumes.
        devices: what is known of claims to devices, and of devices.
    """

    def __init__(self, ledger: Ledger, classes: ClassBook) -> None:
        self._ledger = ledger
        self._classes = classes
        self._of_volumes = Claimants()
        self._of_devices = Claimants()
        self._of_extended = Claimants()
        """Waiting pods by the extended resources that they ask for."""
        self.volumes = Volumes(in_use=lambda: bool(self._of_volumes))
        self.devices = Devices(in_use=lambda: bool(self._of_devices))
        ledger.by_devices = self.devices.offers
        self._moved: set[int] = set()

    def put(self, row: int, pod: Pod, volumes: tuple[str, ...], devices: tuple[str, ...]) -> Needs:
        """The pod of that task row uses these claims to volumes and to devices; returns what they require."""
        self._moved |= self._of_volumes.put(row, pod, volumes)
        before = self._of_devices.claims(row)
        self._moved |= self._of_devices.put(row, pod, devices)
        waits = bool(devices) and not pod.spec.node_name
        self._of_extended.put(row, pod, extended_resources(pod) if waits else ())
        self._tell_of_users(before, devices)
        return self._needs(pod) if volumes or devices or pod.spec.resource_claims else _NOTHING

    def end(self, row: int, pod: Pod) -> Needs:
        """The pod of that task row has ended: it uses no claims any more, and gets no devices."""
        self._moved |= self._of_volumes.put(row, pod, ()) | self._of_devices.put(row, pod, ())
        self._of_extended.take(row)
        self.devices.forget(pod.metadata.uid)
        return _NOTHING

    def take(self, row: int) -> None:
        """The pod of that row is gone, and what was decided for it."""
        before = self._of_devices.claims(row)
        for claimants in (self._of_volumes, self._of_devices):
            pod = claimants.pod(row)
            if pod is not None:
                self._moved |= claimants.take(row)
                self.volumes.forget(pod.metadata.uid)
                self.devices.forget(pod.metadata.uid)
        self._of_extended.take(row)
        self._tell_of_users(before, ())

    def _tell_of_users(self, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        """A pod used these claims to devices before, and uses others now."""
        if before != after:
            for claim in {*before} ^ {*after}:
                changed = self.devices.found_users if self._of_devices.is_used(claim) else self.devices.lost_users
                changed(claim)

    def assume(self, pod: str, volumes: Sequence[ClaimBinding], devices: Sequence[DeviceBinding], node: str) -> None:
        """These claims get their volumes and devices for the pod with that UID, on that node."""
        self.volumes.assume(pod, volumes, node)
        self.devices.assume(pod, devices)
        self.settle()

    def settle(self) -> Change:
        """Put pods into the classes that are right now, after anything has changed."""
        devices = self.devices
        if not (self._moved or self.volumes.changed or devices.changed or devices.changed_resources):
            return Change.NONE
        rows = self._moved | self._of_volumes.rows(self.volumes.changed.take())
        rows |= self._of_devices.rows(devices.changed.take())
        rows |= self._of_extended.rows(devices.changed_resources.take())
        self._moved = set()
        return self._reclassify(rows)

    def _reclassify(self, rows: Iterable[int]) -> Change:
        tasks, change = self._ledger.tasks, Change.NONE
        for row in rows:
            pod = self._of_volumes.pod(row) or self._of_devices.pod(row)
            if pod is None:
                continue
            old, new = int(tasks.task_class[row]), self._classes.join(pod, *self._needs(pod)).row
            if new != old:
                self._ledger.book_one(row, -1)
                tasks.change(row).task_class[row] = new
                self._ledger.book_one(row, 1)
                if tasks.status[row] == TaskStatus.PENDING:
                    change = Change.DECISION
            self._classes.leave(old)
        return change

    def _needs(self, pod: Pod) -> Needs:
        volumes = self.volumes.needs(pod, self._of_volumes.is_shared)
        return volumes, self.devices.needs(pod, self._of_devices.is_shared)
