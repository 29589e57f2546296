"""A state that passes on what changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress

from volcano_py.api import names
from volcano_py.api.effects import (
    NO_ANNOTATIONS,
    Bind,
    ClaimBinding,
    DeviceBinding,
    ObjectRef,
    PodCondition,
    PodGroupStatusUpdate,
)
from volcano_py.api.objects import ApiObject
from volcano_py.api.shards.sharding import Sharding
from volcano_py.record.entries import (
    AssumedBound,
    AssumedEvicted,
    AssumedReported,
    AssumedStatus,
    Audited,
    BindFailed,
    EvictFailed,
    Looked,
    Measured,
    ReportFailed,
    SettledSome,
)
from volcano_py.record.news import News, Seen
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.nodes.loads import Load
from volcano_py.state.snapshot import Snapshot


class RecordedState(ClusterState):
    """`record` takes the changes in their order; it must not block."""

    def __init__(
        self,
        record: Callable[[News], None],
        *,
        scheduler_names: Iterable[str] = (names.DEFAULT_SCHEDULER_NAME,),
        default_queue: str = names.DEFAULT_QUEUE,
        sharding: Sharding | None = None,
    ) -> None:
        super().__init__(
            scheduler_names=scheduler_names, default_queue=default_queue, follows_jobs=True, sharding=sharding
        )
        self._record = record

    def upsert(self, kind: str, obj: ApiObject) -> None:
        if kind in self._stores:
            self._record(Seen(kind, obj))
        super().upsert(kind, obj)

    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        if kind in self._stores:
            for obj in objects:
                self._record(Seen(kind, obj))
        super().upsert_all(kind, objects)

    def delete(self, kind: str, obj: ApiObject) -> None:
        if kind in self._stores:
            self._record(Seen(kind, obj, deleted=True))
        super().delete(kind, obj)

    def measured(self, loads: Mapping[str, Load]) -> None:
        self._record(Measured(dict(loads)))
        super().measured(loads)

    def assume_bound(
        self,
        uid: str,
        node: str,
        claims: Sequence[ClaimBinding] = (),
        devices: Sequence[DeviceBinding] = (),
        *,
        queue: str = "",
        annotations: Mapping[str, str] = NO_ANNOTATIONS,
    ) -> bool:
        is_bound = super().assume_bound(uid, node, claims, devices, queue=queue, annotations=annotations)
        if is_bound:
            pod = ObjectRef("Pod", "", "", uid)
            bind = Bind(pod, node, "", queue, claims=tuple(claims), annotations=annotations, devices=tuple(devices))
            self._record(AssumedBound((bind,)))
        return is_bound

    def assume_all_bound(self, binds: Sequence[Bind]) -> list[bool]:
        are_bound = super().assume_all_bound(binds)
        bound = tuple(compress(binds, are_bound))
        if bound and not any(bind.claims or bind.devices for bind in binds):  # else one by one, by assume_bound
            self._record(AssumedBound(bound))
        return are_bound

    def bind_failed(self, uid: str, *, retry_at: float) -> None:
        self._record(BindFailed(uid, retry_at))
        super().bind_failed(uid, retry_at=retry_at)

    def assume_evicted(self, uid: str) -> bool:
        self._record(AssumedEvicted(uid))
        return super().assume_evicted(uid)

    def evict_failed(self, uid: str, *, retry_at: float) -> None:
        self._record(EvictFailed(uid, retry_at))
        super().evict_failed(uid, retry_at=retry_at)

    def assume_status(self, update: PodGroupStatusUpdate, now: float) -> None:
        self._record(AssumedStatus(update, now))
        super().assume_status(update, now)

    def assume_reported(self, condition: PodCondition) -> None:
        self._record(AssumedReported(condition))
        super().assume_reported(condition)

    def condition_write_failed(self, condition: PodCondition) -> None:
        self._record(ReportFailed(condition))
        super().condition_write_failed(condition)

    def settle_some(self) -> None:
        self._record(SettledSome())
        super().settle_some()

    def copy(self, now: float, former: Snapshot | None = None) -> Snapshot:
        asked, waiting = self.status_waits, list[str]()

        def waits(uid: str) -> bool:
            if asked(uid):
                waiting.append(uid)
            return uid in waiting

        self.status_waits = waits
        try:
            snapshot = super().copy(now, former)
        finally:
            self.status_waits = asked
        self._record(Looked(now, tuple(waiting)))
        return snapshot

    def audit(self) -> int:
        drift = super().audit()
        if drift:
            self._record(Audited())
        return drift
