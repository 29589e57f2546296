"""PodGroups of other schedulers: their statuses are not ours to write.

A PodGroup with pods belongs to the schedulers that its pods name. Without pods it belongs to the scheduler that its
owner's template names. Where that is not known, it belongs to the scheduler `volcano`: operators that create pods only
once their PodGroup is admitted must not wait in vain, and a trial under another name must not admit for Volcano.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from volcano_py.api.names import DEFAULT_SCHEDULER_NAME, GROUP_NAME, KUBERNETES_SCHEDULER
from volcano_py.api.objects import ApiObject, ObjectMeta, OwnerReference, Pod, metadata_of
from volcano_py.api.wording.explain_gangs import Strangers
from volcano_py.api.workloads import Workload
from volcano_py.jobs.model import BATCH_API, VolcanoJob
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import Store

WORKLOADS: Final = ("ReplicaSet", "StatefulSet")
"""Kinds of owners whose templates are watched, apart from Volcano Jobs."""
_BATCH_GROUP: Final = BATCH_API.partition("/")[0] + "/"


class ForeignGroups:
    """Follows the pods of other schedulers, and the templates of owners.

    `follows_jobs`: all Volcano Jobs are passed to `owners`, perhaps later than their PodGroups. `changed` is called
    with the key of a PodGroup (namespace/name) for which `is_foreign` may have another answer now.

    Attributes:
        owners: stores for the kinds of owners, by kind.
    """

    def __init__(
        self, scheduler_names: Collection[str], *, follows_jobs: bool, changed: Callable[[str], Change]
    ) -> None:
        self._scheduler_names = scheduler_names
        self._follows_jobs = follows_jobs
        self._changed = changed
        self._pods: dict[str, tuple[str, str, str]] = {}
        """UID → the PodGroup that the pod names, its own key, and its scheduler, for pods of other schedulers."""
        self._members: dict[str, set[str]] = {}
        """PodGroup → UIDs of these."""
        self._groups: dict[str, str] = {}
        """PodGroups that exist → UID of the owner, "" without one."""
        self._of_jobs: set[str] = set()
        """Those whose owner is a Volcano Job."""
        self._owned: dict[str, set[str]] = {}
        """UID of an owner → its PodGroups."""
        self._templates: dict[str, bool] = {}
        """UID of an owner → whether its template names a scheduler of ours."""
        self.owners: dict[str, Store] = {kind: _Owners(Workload, self) for kind in WORKLOADS}
        self.owners["VolcanoJob"] = _Owners(VolcanoJob, self)

    def is_foreign(self, key: str) -> bool:
        """Whether the PodGroup belongs to another scheduler, unless it has pods of ours."""
        if key in self._members:
            return True
        ours = self._templates.get(self._groups.get(key, ""))
        if ours is not None:
            return not ours
        if self._follows_jobs and key in self._of_jobs:
            return True
        return DEFAULT_SCHEDULER_NAME not in self._scheduler_names

    # -- what comes in -----------------------------------------------------------------------------------------------

    def group_seen(self, key: str, owner: OwnerReference | None) -> None:
        """The PodGroup exists, with this controlling owner."""
        uid = owner.uid if owner is not None else ""
        before = self._groups.get(key)
        if before == uid:
            return
        if before is not None:
            self._disown(key, before)
        self._groups[key] = uid
        if owner is not None:
            self._owned.setdefault(uid, set()).add(key)
            if owner.api_version.startswith(_BATCH_GROUP):
                self._of_jobs.add(key)

    def group_gone(self, key: str) -> None:
        """The PodGroup does not exist any more."""
        self._disown(key, self._groups.pop(key))

    def _disown(self, key: str, uid: str) -> None:
        self._of_jobs.discard(key)
        if uid:
            self._owned[uid].discard(key)
            if not self._owned[uid]:
                del self._owned[uid]

    def pod_seen(self, pod: Pod) -> Change:
        """The pod names another scheduler."""
        name, uid = pod.metadata.annotations.get(GROUP_NAME), pod.metadata.uid
        if not name:
            return self.pod_gone(uid)
        group = f"{pod.metadata.namespace}/{name}"
        known = self._pods.get(uid)
        if known is not None and known[0] == group:
            return Change.NONE
        change = self.pod_gone(uid)
        self._pods[uid] = group, pod.metadata.key, pod.spec.scheduler_name
        self._members.setdefault(group, set()).add(uid)
        return max(change, self._changed(group))

    def pod_gone(self, uid: str) -> Change:
        """The pod is gone, or is none of another scheduler."""
        known = self._pods.pop(uid, None)
        if known is None:
            return Change.NONE
        group, members = known[0], self._members[known[0]]
        members.discard(uid)
        if not members:
            del self._members[group]
        return self._changed(group)

    def pods(self) -> list[ApiObject]:
        """Those of other schedulers that name a PodGroup; what identifies them."""
        return [Pod(metadata=ObjectMeta.known_by(key, uid)) for uid, (_, key, _) in self._pods.items()]

    def has_pods(self, group: str) -> bool:
        """Whether pods of other schedulers name this PodGroup."""
        return group in self._members

    def strangers(self, group: str) -> Strangers:
        """The pods of other schedulers that name this PodGroup; there is one."""
        found = sorted((self._pods[uid][1], self._pods[uid][2]) for uid in self._members[group])
        is_volcano = DEFAULT_SCHEDULER_NAME in self._scheduler_names
        own = DEFAULT_SCHEDULER_NAME if is_volcano else min(self._scheduler_names)
        return Strangers(pod=found[0][0], scheduler=found[0][1], count=len(found), own=own)

    def template_names(self, uid: str, *, ours: bool | None) -> Change:
        """Whether the template of this owner names a scheduler of ours; None: it is gone."""
        if self._templates.get(uid) is ours:
            return Change.NONE
        if ours is None:
            del self._templates[uid]
        else:
            self._templates[uid] = ours
        return max(map(self._changed, self._owned.get(uid, ())), default=Change.NONE)

    def names_ours(self, scheduler: str) -> bool:
        """Whether a template with this scheduler name is one of ours; a Volcano Job without a name is."""
        return not scheduler or scheduler in self._scheduler_names


class _Owners:
    """Store of one kind of owners, by key: their UIDs."""

    def __init__(self, kind: type[ApiObject], groups: ForeignGroups) -> None:
        self._kind, self._groups = kind, groups
        self._uids: dict[str, str] = {}

    def upsert(self, obj: Workload | VolcanoJob) -> Change:
        meta, uid = obj.metadata, self._uids.get(obj.metadata.key)
        if uid is not None and uid != meta.uid:
            self._groups.template_names(uid, ours=None)
        self._uids[meta.key] = meta.uid
        return self._groups.template_names(meta.uid, ours=self._groups.names_ours(_scheduler_of(obj)))

    def delete(self, obj: ApiObject) -> Change:
        meta = metadata_of(obj)
        if self._uids.get(meta.key) != meta.uid:
            return Change.NONE
        del self._uids[meta.key]
        return self._groups.template_names(meta.uid, ours=None)

    def known(self) -> list[ApiObject]:
        return [self._kind(**{"metadata": ObjectMeta.known_by(key, uid)}) for key, uid in self._uids.items()]


def _scheduler_of(obj: Workload | VolcanoJob) -> str:
    """The scheduler that its pods ask for."""
    if isinstance(obj, VolcanoJob):
        return obj.spec.scheduler_name
    return obj.spec.template.spec.scheduler_name or KUBERNETES_SCHEDULER


class Both:
    """Store of objects that two stores follow."""

    def __init__(self, one: Store, other: Store) -> None:
        self._one, self._other = one, other
        self.known = one.known

    def upsert(self, obj: ApiObject) -> Change:
        return max(self._one.upsert(obj), self._other.upsert(obj))

    def delete(self, obj: ApiObject) -> Change:
        return max(self._one.delete(obj), self._other.delete(obj))
