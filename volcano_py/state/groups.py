"""PodGroups: a job row each, also for a group that pods name before it exists; and the PriorityClasses they name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from volcano_py.api import names
from volcano_py.api.annotations.of_groups import ignored_of_pod_group, unknown_priority_class
from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.bounds import RESOURCES_ASKED
from volcano_py.api.effects import PodGroupStatusUpdate
from volcano_py.api.objects import PodGroup, PriorityClass
from volcano_py.api.reasons import Reason
from volcano_py.state.foreign_groups import ForeignGroups
from volcano_py.state.infos import JobInfo, number_at_the_end, running_estimate
from volcano_py.state.readers import ParsedJob, read_job
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import VALID_STATUSES
from volcano_py.state.table.axis import TooManyResourcesError
from volcano_py.state.table.change import Change
from volcano_py.state.table.interner import Interner
from volcano_py.state.table.row_list import RowList
from volcano_py.state.table.stores import ObjectStore
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.task_class import Refusal
from volcano_py.state.topology.limits import SubGroupPolicy, membership
from volcano_py.state.unreadable_values import UnreadableValues

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from volcano_py.api.objects import ApiObject
    from volcano_py.api.wording.explain_gangs import Strangers
    from volcano_py.state.table.ledger import Ledger

# Seconds after which a status that was handed to the writer, but does not show, is worked out again.
_ECHO_OVERDUE: Final = 10.0
# Amounts of PodGroups that are read in one slice of work; about 5 ms.
_SLICE: Final = 2_000
# Columns of the job table that belong to the group's name or follow from its pods, with or without a PodGroup.
_OF_PODS: Final = frozenset({"namespace", "counts", "allocated"})


class Groups:
    """Store of PodGroups.

    Attributes:
        infos: by row; None while the PodGroup does not exist.
        keys: by row, namespace/name; "" for rows that are free.
        namespaces: slots of the job table's `namespace` column.
        unreadable: annotations and labels that cannot be read.
        foreign: which of them belong to other schedulers; see there for `follows_jobs`.
    """

    def __init__(
        self,
        ledger: Ledger,
        queue_slots: Interner,
        priorities: PriorityClasses,
        default_queue: str,
        scheduler_names: Collection[str],
        *,
        follows_jobs: bool = False,
    ) -> None:
        self._ledger = ledger
        self._queue_slots = queue_slots
        self._priorities = priorities
        self._default_queue = default_queue
        self._objects: ObjectStore[PodGroup] = ObjectStore()
        self._rows: dict[str, int] = {}
        self.infos: RowList[JobInfo | None] = RowList()
        self.keys: RowList[str] = RowList()
        self.namespaces = Interner()
        self.unreadable = UnreadableValues[int]()
        self.foreign = ForeignGroups(scheduler_names, follows_jobs=follows_jobs, changed=self._judge)
        self._assumed: dict[str, tuple[JobInfo, float]] = {}
        self._width = self._goal = len(ledger.axis)
        self._to_read: list[str] = []
        """Keys of those to read again, as the axis has grown; the first one last."""
        self._uncounted: set[str] = set()
        """Keys of those that ask for one resource name too many."""
        self._regrouped: set[int] = set()
        """Rows of those whose sub-group policies are others than before."""

    def upsert(self, group: PodGroup) -> Change:
        key = group.metadata.key
        old = self._objects.put(group)
        row = self.row(key)
        if old is None:  # what is known is of an older one with this name
            self._assumed.pop(key, None)
            self.unreadable.take(row)
        self.foreign.group_seen(key, group.metadata.controller)
        reading = self._read(group)
        self.unreadable.put(row, self._ignored(group))
        self._follow_policies(row, reading.info)
        self.infos[row] = self._as_assumed(key, reading.info)
        judged = self._judge(key)
        fields_changed = old is None or _written_fields(old) != _written_fields(group)
        if fields_changed:
            self._write_fields(row, group, reading)
        status_changed = self._write_status(row, group, is_new=old is None)
        return Change.DECISION if fields_changed or status_changed else judged

    def delete(self, group: PodGroup) -> Change:
        if self._objects.take(group) is None:
            return Change.NONE
        row, jobs = self._rows[group.metadata.key], self._ledger.jobs
        self._queue_slots.give_back(int(jobs.queue[row]))
        jobs.clear(row, keep=_OF_PODS)
        self._follow_policies(row, None)
        self.unreadable.take(row)
        self.infos[row] = None
        self.foreign.group_gone(group.metadata.key)
        self._assumed.pop(group.metadata.key, None)
        self._uncounted.discard(group.metadata.key)
        self.forget_if_empty(row)
        return Change.DECISION

    def sub_group(self, row: int, labels: Mapping[str, str]) -> str:
        """Which sub-group of the PodGroup in that row a pod with these labels belongs to; "" for none."""
        info = self.infos[row] if row != NOWHERE else None
        if info is None or info.topology is None:
            return ""
        return membership(info.topology.policies, labels)

    def take_regrouped(self) -> list[int]:
        """Rows of the PodGroups whose policies have changed since this was asked for last."""
        rows, self._regrouped = sorted(self._regrouped), set()
        return rows

    def _follow_policies(self, row: int, info: JobInfo | None) -> None:
        if _policies(info) != _policies(self.infos[row]):
            self._regrouped.add(row)

    def known(self) -> list[ApiObject]:
        return [*self._objects.all()]

    def _judge(self, key: str) -> Change:
        """Note whether the PodGroup, if it exists, belongs to another scheduler."""
        row = self._rows.get(key)
        if row is None or self.infos[row] is None:
            return Change.NONE
        foreign, jobs = self.foreign.is_foreign(key), self._ledger.jobs
        if bool(jobs.foreign[row]) is foreign:
            return Change.NONE
        jobs.change(row).foreign[row] = foreign
        return Change.DECISION

    def is_left(self, key: str) -> bool:
        """Whether the PodGroup is left to another scheduler."""
        row, jobs = self._rows.get(key), self._ledger.jobs
        return row is not None and bool(jobs.foreign[row]) and not jobs.counts[row].any()

    def lacks_pods(self, row: int) -> bool:
        """Whether fewer pods of the PodGroup wait, have a place or have succeeded than its minMember."""
        jobs = self._ledger.jobs
        return bool(jobs.counts[row, VALID_STATUSES].sum() < jobs.min_member[row])

    def strangers(self, rows: Iterable[int]) -> dict[str, Strangers]:
        """Of the PodGroups in these rows, those that pods of other schedulers name, by namespace/name."""
        keys = (self.keys[row] for row in rows)
        return {key: self.foreign.strangers(key) for key in keys if self.foreign.has_pods(key)}

    def row(self, key: str) -> int:
        """The row of a group, made for it when need be: pods may come before their PodGroup."""
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = self._ledger.jobs.new_row()
            if row == len(self.infos):
                self.infos.append(None)
                self.keys.append("")
            self.keys[row] = key
            self._ledger.jobs.change(row).namespace[row] = self.namespaces.take(key.partition("/")[0])
        return row

    def forget_if_empty(self, row: int) -> None:
        """Give back the row of a group that neither exists nor has pods."""
        jobs = self._ledger.jobs
        if not jobs.known[row] and not jobs.counts[row].any():
            del self._rows[self.keys[row]]
            self.keys[row] = ""
            self.namespaces.give_back(int(jobs.namespace[row]))
            jobs.free_row(row)

    def assume_status(self, update: PodGroupStatusUpdate, now: float) -> Change:
        """The status was handed to the writer: until its echo comes, or it is overdue, it counts as stored."""
        row = self._rows.get(update.group.key)
        info = None if row is None else self.infos[row]
        if row is None or info is None or info.ref.uid != update.group.uid:
            return Change.NONE
        counts = (update.running, update.succeeded, update.failed)
        status = {"phase": update.phase, "conditions": update.conditions, "counts": counts}
        assumed = replace(info, **status, is_provisional=update.provisional)
        self.infos[row] = assumed
        self._ledger.jobs.change(row).phase[row] = Phase.of(update.phase)
        self._assumed[update.group.key] = (assumed, now + _ECHO_OVERDUE)
        return Change.DECISION if _is_out_again(Phase.of(info.phase), update) else Change.NONE

    def expire(self, now: float, waits: Callable[[str], bool]) -> None:
        """What the API server shows counts again where an echo is overdue; not while the status, by the UID of its
        PodGroup, still `waits` to be written. Where the clock was set back, none is waited for longer than one that has
        just been sent."""
        latest = now + _ECHO_OVERDUE
        for key in [key for key, (_, due) in self._assumed.items() if due > latest]:
            self._assumed[key] = (self._assumed[key][0], latest)
        for key in [key for key, (_, due) in self._assumed.items() if due < now]:
            assumed, _ = self._assumed.pop(key)
            if waits(assumed.ref.uid):
                self._assumed[key] = assumed, latest
                continue
            stored = self._objects.get(key)
            if stored is not None:
                row, jobs = self._rows[key], self._ledger.jobs
                self.infos[row] = self._read(stored).info
                jobs.change(row).phase[row] = jobs.stored_phase[row]

    @property
    def is_settled(self) -> bool:
        """Whether all that can be counted is."""
        return self._width == len(self._ledger.axis)

    def settle(self) -> None:
        """Follow the axis after it has grown: nodes may have brought names that were too many."""
        while not self.is_settled:
            self.settle_some()

    def settle_some(self) -> None:
        """Do a slice of it."""
        if self._goal != len(self._ledger.axis):
            self._goal, self._to_read = len(self._ledger.axis), sorted(self._uncounted, reverse=True)
        left = _SLICE
        while self._to_read and left > 0:
            key = self._to_read.pop()
            if key in self._uncounted:
                left -= self._count_again(key)
            left -= 1
        if not self._to_read:
            self._width = self._goal

    def _count_again(self, key: str) -> int:
        """How many amounts were read."""
        group, row = self._objects.get(key), self._rows[key]
        assert group is not None, "a group that is gone"
        reading = self._read(group)
        self.infos[row] = self._as_assumed(key, reading.info)
        self._ledger.jobs.change(row).min_resources[row] = self._ledger.axis.vector(reading.min_resources or {})
        return len(reading.min_resources or {})

    def _as_assumed(self, key: str, seen: JobInfo) -> JobInfo:
        """What was seen, but with the status that is on its way; versions from before the write may still arrive."""
        assumed = self._assumed.get(key)
        if assumed is None:
            return seen
        info, _ = assumed
        if _status(seen) == _status(info):
            del self._assumed[key]
            return seen
        status = {"phase": info.phase, "conditions": info.conditions, "counts": info.counts}
        return replace(seen, **status, is_provisional=info.is_provisional)

    def reprioritise(self) -> None:
        """PriorityClasses have changed."""
        for row, info in enumerate(self.infos):
            if info is not None:
                self._ledger.jobs.change(row).priority[row] = self._priorities.value(info.priority_class)
        for group in self._objects.all():
            if group.spec.priority_class_name:
                self.unreadable.put(self._rows[group.metadata.key], self._ignored(group))

    def _ignored(self, group: PodGroup) -> tuple[Unreadable, ...]:
        """What is ignored of its annotations, labels and fields."""
        name, found = group.spec.priority_class_name, ignored_of_pod_group(group)
        return found if not name or self._priorities.has(name) else (*found, unknown_priority_class(name))

    def _read(self, group: PodGroup) -> ParsedJob:
        reading = read_job(group, self._default_queue)
        self._uncounted.discard(group.metadata.key)
        try:
            self._ledger.cover(reading.min_resources or {}, RESOURCES_ASKED.most)
        except TooManyResourcesError as error:
            self._uncounted.add(group.metadata.key)
            return reading.refused(Refusal(Reason.INVALID_POD_GROUP, str(error)))
        return reading

    def _write_fields(self, row: int, group: PodGroup, reading: ParsedJob) -> None:
        jobs, before = self._ledger.jobs.change(row), int(self._ledger.jobs.queue[row])
        jobs.queue[row] = self._queue_slots.take(reading.info.queue)
        if before != NOWHERE:
            self._queue_slots.give_back(before)
        jobs.known[row] = True
        jobs.min_member[row] = reading.info.min_member
        jobs.created[row] = group.metadata.created
        jobs.suffix[row] = number_at_the_end(reading.info.name)
        jobs.has_parts[row] = bool(reading.info.min_task_member) or reading.info.topology is not None
        jobs.preemptable[row] = reading.info.preemptable
        jobs.estimate[row] = running_estimate(reading.info.annotations)
        jobs.has_min_resources[row] = reading.min_resources is not None
        jobs.min_resources[row] = self._ledger.axis.vector(reading.min_resources or {})
        jobs.priority[row] = self._priorities.value(reading.info.priority_class)

    def _write_status(self, row: int, group: PodGroup, *, is_new: bool) -> bool:
        """Whether the phase is another than the one the scheduler goes by.

        A phase that was handed to the status writer holds until the stored one moves: pictures from before the write
        may still come in.
        """
        jobs, status = self._ledger.jobs.change(row), group.status
        jobs.stored_counts[row] = (status.running, status.succeeded, status.failed)
        stored = Phase.of(status.phase)
        if not is_new and jobs.stored_phase[row] == stored:
            return False
        moved = jobs.phase[row] != stored
        jobs.phase[row] = jobs.stored_phase[row] = stored
        return bool(moved)


class PriorityClasses:
    """Store of PriorityClasses."""

    def __init__(self) -> None:
        self._objects: ObjectStore[PriorityClass] = ObjectStore()

    def upsert(self, priority_class: PriorityClass) -> Change:
        old = self._objects.put(priority_class)
        if old is not None and _value(old) == _value(priority_class):
            return Change.NONE
        return Change.DECISION

    def delete(self, priority_class: PriorityClass) -> Change:
        return Change.NONE if self._objects.take(priority_class) is None else Change.DECISION

    def known(self) -> list[ApiObject]:
        return [*self._objects.all()]

    def has(self, name: str) -> bool:
        """Whether there is a class of that name."""
        return self._objects.get(name) is not None

    def value(self, name: str) -> int:
        """Value of the class of that name, else of the global default (the lowest, should there be two, as the API
        server's admission takes it), else 0."""
        named = self._objects.get(name)
        if named is not None:
            return named.value
        return min((item.value for item in self._objects.all() if item.global_default), default=0)


def _status(info: JobInfo) -> tuple[object, ...]:
    """A status apart from its times, which the API server rounds."""
    return info.phase, info.counts, tuple(each.said for each in info.conditions)


def _is_out_again(before: Phase, update: PodGroupStatusUpdate) -> bool:
    """Whether a job has to be admitted again, or gives up what was promised to it: all of it, or what those of its
    pods would hold that have ended before it counts as running."""
    now = Phase.of(update.phase)
    if before is Phase.INQUEUE:
        has_ended = bool(update.succeeded + update.failed)
        return has_ended if now is Phase.RUNNING else now is not Phase.INQUEUE
    return now is Phase.PENDING and before in (Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)


def _policies(info: JobInfo | None) -> tuple[SubGroupPolicy, ...]:
    return () if info is None or info.topology is None else info.topology.policies


def _written_fields(group: PodGroup) -> tuple[object, ...]:
    """What of a PodGroup can alter a decision, apart from its phase."""
    meta = group.metadata
    return group.spec, meta.annotations, meta.labels.get(names.PREEMPTABLE), meta.controller


def _value(priority_class: PriorityClass) -> tuple[int, bool]:
    return priority_class.value, priority_class.global_default
