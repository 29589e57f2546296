"""What a record consists of: one value for each change of the state, each cycle and each outcome, in their order.

An entry is a line of JSON. `apply` makes the same change of a state that the live state has seen.
"""

from __future__ import annotations

from typing import Any

import msgspec

from volcano_py.api.effects import Bind, PodCondition, PodGroupStatusUpdate
from volcano_py.api.objects import ApiObject
from volcano_py.api.report import Amounts, PendingJob
from volcano_py.api.shards.sharding import Sharding
from volcano_py.capture.kinds import OF_NAME
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.nodes.loads import Load


class Entry(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="entry", tag=True, gc=False):
    """Base. What changes no state applies nothing."""

    def apply(self, state: ClusterState) -> None:
        """Change the state as the live one was changed."""


class Upserted(Entry, frozen=True):
    """An object was listed, added or changed; without what decisions do not need (`capture.contents`)."""

    kind: str
    object: msgspec.Raw

    def value(self) -> ApiObject:
        """The object.

        Raises:
            msgspec.MsgspecError: it is not of its kind.
            KeyError: this version knows no such kind.
        """
        decoded: ApiObject = msgspec.json.decode(self.object, type=OF_NAME[self.kind].type)
        return decoded

    def apply(self, state: ClusterState) -> None:
        state.upsert(self.kind, self.value())


class Deleted(Upserted, frozen=True):
    """The object was deleted."""

    def apply(self, state: ClusterState) -> None:
        state.delete(self.kind, self.value())


class Measured(Entry, frozen=True):
    """The load of nodes, by name."""

    loads: dict[str, Load]

    def apply(self, state: ClusterState) -> None:
        state.measured(self.loads)


class AssumedBound(Entry, frozen=True):
    """Pods were handed to the binder."""

    binds: tuple[Bind, ...]
    before: bool = False
    """Before the segment began: what came since may leave the nodes no room for them."""

    def apply(self, state: ClusterState) -> None:
        if self.before:
            state.restore_bound(self.binds)
        else:
            state.assume_all_bound(self.binds)


class AssumedEmitted(Entry, frozen=True):
    """Written for the `AssumedBound` of all bindings of the effects before it; `segments.read` gives that instead."""


class BindFailed(Entry, frozen=True):
    """A pod is not bound after all, and may be tried again from `retry_at` (seconds since the epoch)."""

    uid: str
    retry_at: float

    def apply(self, state: ClusterState) -> None:
        state.bind_failed(self.uid, retry_at=self.retry_at)


class AssumedEvicted(Entry, frozen=True):
    """A pod is being evicted."""

    uid: str

    def apply(self, state: ClusterState) -> None:
        state.assume_evicted(self.uid)


class EvictFailed(Entry, frozen=True):
    """A pod stays, and may be evicted again from `retry_at` (seconds since the epoch)."""

    uid: str
    retry_at: float

    def apply(self, state: ClusterState) -> None:
        state.evict_failed(self.uid, retry_at=self.retry_at)


class Paused(Entry, frozen=True):
    """The binding or eviction of a pod has failed: it is left alone until `until` (seconds since the epoch)."""

    uid: str
    until: float

    def apply(self, state: ClusterState) -> None:
        state.pause(self.uid, until=self.until)


class PromisedSince(Entry, frozen=True):
    """When snapshots first saw the promises of nodes to pods: UID → seconds since the epoch."""

    since: dict[str, float]

    def apply(self, state: ClusterState) -> None:
        for uid, moment in self.since.items():
            state.date_promise(uid, moment)


class AssumedStatus(Entry, frozen=True):
    """The status of a PodGroup was handed to the status writer at `now` (seconds since the epoch)."""

    update: PodGroupStatusUpdate
    now: float

    def apply(self, state: ClusterState) -> None:
        state.assume_status(self.update, self.now)


class AssumedReported(Entry, frozen=True):
    """The condition of a pod was handed to the status writer."""

    condition: PodCondition

    def apply(self, state: ClusterState) -> None:
        state.assume_reported(self.condition)


class ReportFailed(Entry, frozen=True):
    """The condition was not written."""

    condition: PodCondition

    def apply(self, state: ClusterState) -> None:
        state.condition_write_failed(self.condition)


class SettledSome(Entry, frozen=True):
    """A slice of the work that was put off until a snapshot."""

    def apply(self, state: ClusterState) -> None:
        state.settle_some()


class Audited(Entry, frozen=True):
    """Sums that were off were corrected."""

    def apply(self, state: ClusterState) -> None:
        state.audit()


class Looked(Entry, frozen=True):
    """A snapshot was taken at `now` (seconds since the epoch)."""

    now: float
    waits: tuple[str, ...] = ()
    """UIDs of PodGroups whose overdue statuses still waited to be written, and so counted on."""


class Configured(Entry, frozen=True):
    """The text of a configuration, without its section `metrics`, which may hold credentials."""

    digest: str
    text: str


class Began(Entry, frozen=True):
    """A cycle began, on the last snapshot. `seed` is the scheduler's, the same for all cycles."""

    number: int
    seed: int
    digest: str
    decide: bool


class Answered(Entry, frozen=True):
    """An extender has answered questions that were sent together, about what `about` says: one text for each question.

    Attributes:
        seconds: how long that took.
        answers: the different answers, of their kind in `api.extender.answers`; a string says why there is none.
        which: for each question the place of its answer in `answers`; empty if all have the first.
    """

    verb: str
    about: tuple[str, ...]
    seconds: float
    answers: tuple[msgspec.Raw, ...]
    which: tuple[int, ...] = ()


class Emitted(Entry, frozen=True):
    """Effects of the cycle, each with the name of its type."""

    effects: tuple[tuple[str, msgspec.Raw], ...]

    def binds(self) -> tuple[Bind, ...]:
        """The bindings among them.

        Raises:
            msgspec.MsgspecError: one is not valid.
        """
        return tuple(msgspec.json.decode(effect, type=Bind) for name, effect in self.effects if name == Bind.__name__)


class QueueFigures(msgspec.Struct, frozen=True, omit_defaults=True):
    """A queue at the end of a cycle, in the units of `api.report.Amounts`."""

    allocated: Amounts = {}
    deserved: Amounts = {}
    waiting: int = 0
    """Its PodGroups that wait."""


class Ended(Entry, frozen=True):
    """The cycle ended. Of queues and of what waits only what differs from the cycle before."""

    number: int
    duration: float
    queues: dict[str, QueueFigures] = {}
    pending: tuple[PendingJob, ...] = ()
    no_longer_pending: tuple[str, ...] = ()


class Failed(Entry, frozen=True):
    """The cycle ended with an error."""


class Outcome(Entry, frozen=True):
    """What became of an effect: `what` is bound, bind failed, evicted or evict failed."""

    at: float
    what: str
    pod: str
    uid: str
    error: str = ""


class Header(Entry, frozen=True):
    """The first line of a segment. `state`: how many entries after it bring a state to where the segment begins. Of
    cycles before it the scheduler remembers nothing."""

    format: int
    run: str
    """The same in all segments of one process."""
    sequence: int
    """The segment's place in the run, from 0."""
    began: float
    version: str
    scheduler_names: tuple[str, ...]
    default_queue: str
    follows_jobs: bool = False
    """Volcano Jobs are among the entries; older records have none."""
    has_answers: bool = False
    """What an extender answered is among the entries; older records have none of that."""
    sharding: Sharding | None = None
    """The shard of the scheduler."""
    state: int = 0


AnyEntry = (
    Upserted
    | Deleted
    | Measured
    | AssumedBound
    | AssumedEmitted
    | BindFailed
    | AssumedEvicted
    | EvictFailed
    | Paused
    | PromisedSince
    | AssumedStatus
    | AssumedReported
    | ReportFailed
    | SettledSome
    | Audited
    | Looked
    | Configured
    | Began
    | Answered
    | Emitted
    | Ended
    | Failed
    | Outcome
    | Header
)

_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AnyEntry)


def of_line(line: bytes) -> Entry:
    """The entry of a line.

    Raises:
        msgspec.MsgspecError: it is none.
    """
    entry: Entry = _decoder.decode(line)
    return entry
