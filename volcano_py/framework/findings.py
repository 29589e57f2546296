"""What one cycle finds: why jobs and pods wait, which places were given back, and the volumes and
devices that go with bindings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager

import msgspec

from volcano_py.api.effects import ClaimBinding, DeviceBinding
from volcano_py.api.objects import Condition
from volcano_py.framework.job import FitError, Job
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import Refusal, TaskClass

ClaimBindings = tuple[tuple[ClaimBinding, ...], float]
"""The volumes that the claims of a task get with its place, and how many seconds that may take."""


class NodesHeld(msgspec.Struct, frozen=True):
    """The job for which a plugin holds nodes.

    Attributes:
        row: of the job.
        priority: jobs of a higher one may use these nodes; None if priorities order nothing.
        when: what is known of the start of the job, in words that may follow its name.
    """

    row: int
    priority: int | None
    when: str


class Findings:
    """Every part may read it; only its methods change it."""

    def __init__(self) -> None:
        self._notes: dict[int, Refusal] = {}
        self._fit_errors: dict[int, dict[int, FitError]] = {}
        self._set_aside: dict[int, Rows] = {}
        self._tentative: dict[int, int] = {}
        self._nominations: dict[int, int] = {}
        self._claim_bindings: dict[int, ClaimBindings] = {}
        self._device_bindings: dict[int, tuple[DeviceBinding, ...]] = {}
        self._annotations: dict[int, Mapping[str, str]] = {}
        self._no_evictions: dict[int, str] = {}
        self._unexplained: set[int] = set()
        self._having_victims: set[int] = set()
        """Rows of jobs whose entry in `_no_evictions` is about victims."""
        self._conditions: dict[int, dict[str, Condition]] = {}
        self._keepers: set[int] = set()
        self._remarks: dict[str, str] = {}
        self.nodes_held: NodesHeld | None = None
        """Set as sessions open. The job's promise need not keep other jobs off these nodes, too: then pods that end in
        time, or fit alongside it, could not use them."""

    @property
    def notes(self) -> Mapping[int, Refusal]:
        """Job row → why it was skipped as a whole."""
        return self._notes

    @property
    def fit_errors(self) -> Mapping[int, Mapping[int, FitError]]:
        """Job row → class row → why no node took it."""
        return self._fit_errors

    @property
    def set_aside(self) -> Mapping[int, Rows]:
        """Job row → its tasks that may be placed now, for jobs that get no turn (`Session.is_set_aside`)."""
        return self._set_aside

    @property
    def tentative(self) -> Mapping[int, int]:
        """Task row → node row of a place that was found and given back because the gang was incomplete."""
        return self._tentative

    @property
    def nominations(self) -> Mapping[int, int]:
        """Task row → node row that is kept for it, since pods were evicted for it or its gang."""
        return self._nominations

    @property
    def claim_bindings(self) -> Mapping[int, ClaimBindings]:
        """Task row → the volumes that its claims get with its place."""
        return self._claim_bindings

    @property
    def device_bindings(self) -> Mapping[int, tuple[DeviceBinding, ...]]:
        """Task row → the claims to devices that are written before its place is bound."""
        return self._device_bindings

    @property
    def annotations(self) -> Mapping[int, Mapping[str, str]]:
        """Task row → what the binding of its place writes on the pod."""
        return self._annotations

    @property
    def no_evictions(self) -> Mapping[int, str]:
        """Job row → why preempt or reclaim evicted nothing for it."""
        return self._no_evictions

    @property
    def unexplained(self) -> Set[int]:
        """Rows of jobs for which nothing was evicted, while it was not worked out why: there were too many."""
        return self._unexplained

    @property
    def conditions(self) -> Mapping[int, Mapping[str, Condition]]:
        """Job row → conditions that plugins give its PodGroup, by type."""
        return self._conditions

    @property
    def remarks(self) -> Mapping[str, str]:
        """Plugin name → what it says about the cycle as a whole."""
        return self._remarks

    def remark(self, plugin: str, text: str) -> None:
        """The plugin has done nothing, for this reason, which the daemon logs until it changes; "": it has."""
        self._remarks[plugin] = text

    # -- why jobs wait ---------------------------------------------------------------------------------------------

    def note(self, job: Job, refusal: Refusal) -> None:
        """The job was skipped as a whole. Of several reasons, the one to fix first is kept."""
        known = self._notes.get(job.row)
        if known is None or refusal.reason.rank < known.reason.rank:
            self._notes[job.row] = refusal

    def drop_note(self, job: Job) -> None:
        """The job was not skipped after all."""
        self._notes.pop(job.row, None)

    def misfit(self, job: Job, task_class: TaskClass, error: FitError) -> None:
        """No node took a class of the job's tasks."""
        self._fit_errors.setdefault(job.row, {})[task_class.row] = error

    def put_aside(self, job: Job, rows: Rows) -> None:
        """The job gets no turn for its tasks `rows`."""
        self._set_aside[job.row] = rows

    def explain_no_evictions(self, job: Job, why: str, *, has_victims: bool) -> None:
        """Nothing was evicted for the job. If several actions say why, the reason of one that found victims (which
        something protects) is kept, or else the last one."""
        if has_victims or job.row not in self._having_victims:
            self._no_evictions[job.row] = why
        if has_victims:
            self._having_victims.add(job.row)

    def leave_unexplained(self, job: Job) -> None:
        """Nothing was evicted for the job, and a later cycle is to say why."""
        self._unexplained.add(job.row)

    def placed(self, job: Job, rows: Rows, waiting: set[int]) -> None:
        """The tasks `rows` have places; of the job's classes only those in `waiting` still have tasks to place."""
        for row in rows.tolist():
            self._tentative.pop(row, None)
        errors = self._fit_errors.get(job.row, {})
        self._fit_errors[job.row] = {row: error for row, error in errors.items() if row in waiting}
        if not waiting:
            self._notes.pop(job.row, None)
            self._no_evictions.pop(job.row, None)
            self._unexplained.discard(job.row)

    def set_condition(self, job: Job, condition: Condition) -> None:
        """The PodGroup gets this condition, in place of one of the same type that says something else. While text and
        status stay the same, the first time is kept, so callers may give the time of the cycle."""
        self._conditions.setdefault(job.row, {})[condition.type] = condition

    @property
    def nodes_held_for(self) -> int | None:
        """Row of the job for which a plugin holds nodes."""
        return None if self.nodes_held is None else self.nodes_held.row

    @property
    def keepers(self) -> Set[int]:
        """Rows of jobs that keep the places that they found, though they are not complete yet."""
        return self._keepers

    def keep_places(self, job: Job) -> None:
        """The job keeps its places for the cycle."""
        self._keepers.add(job.row)

    # -- places ----------------------------------------------------------------------------------------------------

    def gave_back(self, rows: Rows, nodes: Rows) -> None:
        """Tasks `rows` [K] had places on `nodes` [K]."""
        self._tentative.update(zip(rows.tolist(), nodes.tolist(), strict=True))

    def reset_tentative(self, rows: Rows, known: Mapping[int, int]) -> None:
        """Of the tasks `rows`, only the places in `known` were given back."""
        for row in rows.tolist():
            self._tentative.pop(row, None)
            if row in known:
                self._tentative[row] = known[row]

    @contextmanager
    def forgetting_places(self) -> Iterator[None]:
        """Places that are given back inside do not count as lost to an incomplete gang."""
        known = self._tentative.copy()
        yield
        self._tentative = known

    def nominate(self, places: Mapping[int, int]) -> None:
        """Evictions complete a gang of these tasks on these nodes: the places are theirs in later cycles, too."""
        self._nominations.update(places)

    def bind_claims(self, row: int, bindings: tuple[ClaimBinding, ...], within: float) -> None:
        """The claims of the task get these volumes with its place; `within` is in seconds."""
        self._claim_bindings[row] = (bindings, within)

    def unbind_claims(self, row: int) -> None:
        """The task has no place any more."""
        self._claim_bindings.pop(row, None)

    def reserve_devices(self, row: int, bindings: tuple[DeviceBinding, ...]) -> None:
        """These claims are the task's, with its place; some get their devices by it."""
        self._device_bindings[row] = bindings

    def drop_devices(self, row: int) -> None:
        """The task has no place any more."""
        self._device_bindings.pop(row, None)

    def annotate(self, row: int, annotations: Mapping[str, str]) -> None:
        """The binding of the task's place writes these annotations on the pod."""
        self._annotations[row] = {**self._annotations.get(row, {}), **annotations}

    def drop_annotations(self, row: int) -> None:
        """The task has no place any more."""
        self._annotations.pop(row, None)
