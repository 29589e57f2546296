"""What the job controller knows: Jobs, their pods and PodGroups, from the informers, and what it has deleted that they
still have.

Only an informer says that something is gone: it knows what is late. Until it does so, what is gone by an answer of the
API server counts as being deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from volcano_py.api.objects import ApiObject, Namespace, ObjectMeta, Pod, PodGroup, PriorityClass, metadata_of
from volcano_py.cluster.kubernetes.watching.kinds import NAMESPACE, POD, POD_GROUP, PRIORITY_CLASS, VOLCANO_JOB
from volcano_py.cluster.kubernetes.watching.versions import is_older
from volcano_py.jobs.members import is_victim
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.names import group_name

Changed = Callable[[str, float], None]
"""Called with the key of a job (namespace/name) to look at, and the earliest time to do so, in seconds from now."""

KINDS: Final = frozenset(kind.name for kind in (VOLCANO_JOB, POD, POD_GROUP, NAMESPACE, PRIORITY_CLASS))
"""The kinds to feed in."""

# Pods of one job come and go together: one look for what happens within this time (seconds), and longer for large jobs,
# at which a look costs more: a fifth of the time at most goes into them.
_TOGETHER: Final = 0.02
_TOGETHER_PER_POD: Final = 0.0001
_SOME_TIME: Final = datetime.fromtimestamp(0, UTC)


class JobIndex:
    """A `Sink` for `KINDS`."""

    def __init__(self, changed: Changed) -> None:
        self._changed = changed
        self._jobs: dict[str, VolcanoJob] = {}
        self._keys: dict[str, str] = {}  # UID of a job → its key
        self._pods: dict[str, dict[str, Pod]] = {}  # UID of a job → its pods by UID
        self._owners: dict[str, tuple[str, str]] = {}  # key of a pod → UID of its job, its own UID
        self._evicted: dict[str, dict[str, Pod]] = {}  # UID of a job → pods that the scheduler took from it, by key
        self._groups: dict[str, PodGroup] = {}  # UID of a job → its group
        self._group_owners: dict[str, str] = {}  # key of a group → UID of its job
        self._deleting: set[str] = set()  # UIDs of what we have deleted and may still see
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self.priorities: dict[str, int] = {}
        """Value of each PriorityClass."""

    # What the controller asks.

    def job(self, key: str) -> VolcanoJob | None:
        """The job, if there is one; one we have deleted bears the mark of it."""
        job = self._jobs.get(key)
        if job is None or job.metadata.uid not in self._deleting:
            return job
        metadata = msgspec.structs.replace(job.metadata, deletion_timestamp=_SOME_TIME)
        return msgspec.structs.replace(job, metadata=metadata)

    def pods_of(self, job: VolcanoJob) -> list[Pod]:
        """Pods that the job owns; those we have deleted bear the mark of it."""
        pods = self._pods.get(job.metadata.uid, {})
        return [_deleted(pod) if uid in self._deleting else pod for uid, pod in pods.items()]

    def evicted_from(self, job: VolcanoJob) -> list[Pod]:
        """Pods of the job that the scheduler evicted, as they were last, when they are gone and none of the same name
        has followed."""
        return list(self._evicted.get(job.metadata.uid, {}).values())

    def group_of(self, job: VolcanoJob) -> PodGroup | None:
        """The PodGroup that the job owns."""
        group = self._groups.get(job.metadata.uid)
        if group is None or group.metadata.uid not in self._deleting:
            return group
        return msgspec.structs.replace(group, metadata=_marked(group.metadata))

    def namespace_annotations(self, name: str) -> Mapping[str, str]:
        return self._namespaces.get(name, {})

    def all_keys(self) -> Iterable[str]:
        """All jobs."""
        return list(self._jobs)

    # What the informers report.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        if kind not in KINDS:
            return
        keep = {metadata_of(obj).key for obj in objects}
        for gone in [meta for meta in self._known(kind) if meta.key not in keep]:
            self._delete(kind, gone)
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: new or changed."""
        match obj:
            case Pod():
                self.note_pod(obj)
            case PodGroup():
                self.note_group(obj)
            case VolcanoJob():
                self.note_job(obj)
            case Namespace():
                self._namespaces[obj.metadata.name] = obj.metadata.annotations
            case PriorityClass():
                self.priorities[obj.metadata.name] = obj.value

    def delete(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: gone."""
        self._delete(kind, metadata_of(obj))

    def note_job(self, job: VolcanoJob) -> None:
        """The job is as given, unless something newer is known."""
        metadata = job.metadata
        known = self._jobs.get(metadata.key)
        if known is not None and is_older(metadata, known.metadata):
            return
        if known is not None and known.metadata.uid != metadata.uid:
            self._forget_job(known.metadata)
        self._jobs[metadata.key] = job
        self._keys[metadata.uid] = metadata.key
        if known is None or known != job:
            self._changed(metadata.key, 0.0)

    def note_pod(self, pod: Pod) -> None:
        """The pod is as given, unless something newer is known."""
        metadata = pod.metadata
        owner = metadata.controller
        if owner is None or not owner.is_volcano_job:
            return
        pods = self._pods.setdefault(owner.uid, {})
        known = pods.get(metadata.uid)
        if known is not None and is_older(metadata, known.metadata):
            return
        before = self._owners.get(metadata.key)
        if before is not None and before[1] != metadata.uid:
            self._forget_pod(*before)
        pods[metadata.uid] = pod
        self._owners[metadata.key] = (owner.uid, metadata.uid)
        self._evicted.get(owner.uid, {}).pop(metadata.key, None)
        if known is None or _differs(known, pod):
            self._touch(owner.uid)

    def note_group(self, group: PodGroup) -> None:
        """The group is as given, unless something newer is known."""
        metadata = group.metadata
        owner = metadata.controller
        if owner is None or not owner.is_volcano_job:
            return
        if metadata.name != group_name(owner.name, owner.uid):
            return  # not created by the job
        known = self._groups.get(owner.uid)
        if known is not None and is_older(metadata, known.metadata):
            return
        if known is not None and known.metadata.uid != metadata.uid:
            self._deleting.discard(known.metadata.uid)
        self._groups[owner.uid] = group
        self._group_owners[metadata.key] = owner.uid
        if known is None or (known.metadata.uid, known.status.phase, known.spec) != (
            metadata.uid,
            group.status.phase,
            group.spec,
        ):
            self._touch(owner.uid)

    # What the controller did, or learned by asking.

    def note_deleting(self, metadata: ObjectMeta) -> None:
        """The object is deleted, by us or as an answer says; until an informer says so it counts as being deleted."""
        key, uid = metadata.key, metadata.uid
        job, pod, owner = self._jobs.get(key), self._owners.get(key), self._group_owners.get(key)
        known = (
            job.metadata.uid if job is not None else "",
            pod[1] if pod is not None else "",
            self._groups[owner].metadata.uid if owner is not None else "",
        )
        if uid in known:
            self._deleting.add(uid)

    # -- inside --------------------------------------------------------------------------------------------------------

    def _delete(self, kind: str, metadata: ObjectMeta) -> None:
        key = metadata.key
        if kind == "Pod":
            before = self._owners.get(key)
            if before is not None and before[1] == metadata.uid:
                del self._owners[key]
                self._note_eviction(key, *before)
                self._forget_pod(*before)
                self._touch(before[0])
        elif kind == "PodGroup":
            owner = self._group_owners.get(key)
            if owner is not None and self._groups[owner].metadata.uid == metadata.uid:
                self._forget_group(key, owner)
                self._touch(owner)
        elif kind == "Namespace":
            self._namespaces.pop(metadata.name, None)
        elif kind == "PriorityClass":
            self.priorities.pop(metadata.name, None)
        elif kind == VOLCANO_JOB.name:
            known = self._jobs.get(key)
            if known is not None and known.metadata.uid == metadata.uid:
                del self._jobs[key]
                self._forget_job(metadata)
                self._changed(key, 0.0)

    def _forget_job(self, metadata: ObjectMeta) -> None:
        self._keys.pop(metadata.uid, None)
        self._evicted.pop(metadata.uid, None)
        self._deleting.discard(metadata.uid)

    def _note_eviction(self, key: str, owner: str, uid: str) -> None:
        pod = self._pods[owner][uid]
        if owner in self._keys and is_victim(pod):
            self._evicted.setdefault(owner, {})[key] = pod

    def _forget_pod(self, owner: str, uid: str) -> None:
        pods = self._pods.get(owner, {})
        pods.pop(uid, None)
        if not pods:
            self._pods.pop(owner, None)
        self._deleting.discard(uid)

    def _forget_group(self, key: str, owner: str) -> None:
        group = self._groups.pop(owner)
        del self._group_owners[key]
        self._deleting.discard(group.metadata.uid)

    def _touch(self, uid: str) -> None:
        key = self._keys.get(uid)
        if key is not None:
            self._changed(key, _TOGETHER + _TOGETHER_PER_POD * len(self._pods.get(uid, ())))

    def _known(self, kind: str) -> Iterator[ObjectMeta]:
        match kind:
            case "Pod":
                for pods in self._pods.values():
                    yield from (pod.metadata for pod in pods.values())
            case "PodGroup":
                yield from (group.metadata for group in self._groups.values())
            case "Namespace":
                yield from (ObjectMeta(name=name) for name in self._namespaces)
            case "PriorityClass":
                yield from (ObjectMeta(name=name) for name in self.priorities)
            case _:
                yield from (job.metadata for job in self._jobs.values())


def _marked(metadata: ObjectMeta) -> ObjectMeta:
    return msgspec.structs.replace(metadata, deletion_timestamp=metadata.deletion_timestamp or _SOME_TIME)


def _deleted(pod: Pod) -> Pod:
    return msgspec.structs.replace(pod, metadata=_marked(pod.metadata))


def _differs(before: Pod, after: Pod) -> bool:
    """In anything that a job looks at. That a pod got a node is not its business."""
    return (
        before.status.phase != after.status.phase
        or before.metadata.deletion_timestamp != after.metadata.deletion_timestamp
        or before.status.container_statuses != after.status.container_statuses
        or before.status.conditions != after.status.conditions
    )
