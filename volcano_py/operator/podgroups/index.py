"""What the podgroup controller knows: pods by the group that is generated for them, these groups, and their owners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from volcano_py.api.names import GENERATED_GROUP_PREFIX
from volcano_py.api.objects import ApiObject, Namespace, Pod, PodGroup
from volcano_py.api.workloads import Workload
from volcano_py.operator.podgroups.generated_group import (
    SCALED_OWNERS,
    GroupRules,
    as_named,
    generated_key,
    generated_name,
    is_live,
    is_ours,
    names_group,
)

WORKLOAD_KINDS: Final = ("ReplicaSet", "StatefulSet", "DaemonSet", "Job")
KINDS: Final = ("Pod", "PodGroup", "Namespace", *WORKLOAD_KINDS)
"""The kinds to feed in."""

Changed = Callable[[str, float], None]
"""Called with the key of a group (namespace/name) to look at, and the earliest time to do so, in seconds from now."""

# A deleted group is mostly one whose pods are being deleted too: their deletion may be a moment behind.
_UNTIL_A_DELETED_GROUP_IS_MISSED: Final = 1.0  # seconds


class PodGroupIndex:
    """A `Sink` for `KINDS`: keeps what matters and says which groups to look at.

    Only live pods of ours are kept that name no group, or the one that is generated for them.
    """

    def __init__(self, rules: GroupRules, changed: Changed) -> None:
        self._rules, self._changed = rules, changed
        # Keys are namespace/name.
        self._namespaces: dict[str, Namespace] = {}
        self._groups: dict[str, PodGroup] = {}
        self._workloads: dict[str, tuple[str, Workload]] = {}  # UID → kind and object
        self._pods: dict[str, dict[str, Pod]] = {}  # group → its pods by key
        self._group_of: dict[str, str] = {}  # pod → group

    def pods_of(self, key: str) -> list[Pod]:
        """The pods that carry the group's name, or should."""
        return list(self._pods.get(key, {}).values())

    def group(self, key: str) -> PodGroup | None:
        """The group, if it exists as far as is known."""
        return self._groups.get(key)

    def scaled_owner(self, key: str) -> tuple[str, Workload] | None:
        """Kind and object of the ReplicaSet or StatefulSet that the group belongs to; None if its pods are those of
        another scheduler."""
        kind, workload = self._workloads.get(key.partition("/")[2].removeprefix(GENERATED_GROUP_PREFIX), ("", None))
        if workload is None or kind not in SCALED_OWNERS:
            return None
        scheduler = workload.spec.template.spec.scheduler_name
        return (kind, workload) if not scheduler or scheduler in self._rules.scheduler_names else None

    def workload(self, uid: str) -> Workload | None:
        """The owner with this UID."""
        known = self._workloads.get(uid)
        return known[1] if known is not None else None

    def namespace_annotations(self, namespace: str) -> Mapping[str, str]:
        """Annotations of the namespace; none when it is not known."""
        known = self._namespaces.get(namespace)
        return known.metadata.annotations if known is not None else {}

    def unfinished(self) -> Iterator[str]:
        """Groups that a new leader has to look at."""
        for key, pods in self._pods.items():
            if key not in self._groups or not all(names_group(pod) for pod in pods.values()):
                yield key
        for kind, workload in self._workloads.values():
            if kind in SCALED_OWNERS and _group_key(workload) in self._groups:
                yield _group_key(workload)

    # What the informers report.

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`: these are all there are of the kind."""
        keep = {obj.metadata.key for obj in objects if isinstance(obj, Pod | PodGroup | Namespace | Workload)}
        for gone in [obj for key, obj in self._known(kind) if key not in keep]:
            self.delete(kind, gone)
        for obj in objects:
            self.upsert(kind, obj)

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """`Sink`: new or changed."""
        match obj:
            case Pod():
                self._pod_seen(obj)
            case PodGroup() if obj.metadata.name.startswith(GENERATED_GROUP_PREFIX):
                self._groups[obj.metadata.key] = obj
            case Namespace():
                self._namespaces[obj.metadata.name] = obj
            case Workload():
                self._workload_seen(kind, obj)

    def delete(self, kind: str, obj: ApiObject) -> None:  # noqa: ARG002 - the protocol's signature
        """`Sink`: gone. A group that is gone while pods name it needs a look."""
        match obj:
            case Pod():
                self._forget_pod(obj.metadata.key)
            case PodGroup():
                self._group_deleted(obj)
            case Namespace():
                self._namespaces.pop(obj.metadata.name, None)
            case Workload():
                self._workloads.pop(obj.metadata.uid, None)

    # What the controller did, until the informers report the same.

    def note_group(self, key: str, group: PodGroup) -> None:
        """The group was written and looks like this."""
        self._groups[key] = group

    def forget_group(self, key: str) -> None:
        """The group was deleted, or is not what was thought."""
        self._groups.pop(key, None)

    def note_annotated(self, pod: Pod, name: str) -> None:
        """The group's name was written on the pod."""
        pods = self._pods.get(f"{pod.metadata.namespace}/{name}", {})
        known = pods.get(pod.metadata.key)
        if known is not None and known.metadata.uid == pod.metadata.uid and not names_group(known):
            pods[pod.metadata.key] = as_named(known, name)

    def _pod_seen(self, pod: Pod) -> None:
        key, named = pod.metadata.key, names_group(pod)
        # In this order: the first, cheap questions settle most pods of a large cluster.
        has_own = bool(named) and not (named.startswith(GENERATED_GROUP_PREFIX) and named == generated_name(pod))
        if has_own or not is_ours(pod, self._rules) or not is_live(pod):
            self._forget_pod(key)
            return
        group = generated_key(pod)
        if self._group_of.get(key, group) != group:
            self._forget_pod(key)  # a namesake with another UID or owner
        self._group_of[key] = group
        self._pods.setdefault(group, {})[key] = pod
        if not named or group not in self._groups:
            self._changed(group, 0.0)

    def _forget_pod(self, key: str) -> None:
        group = self._group_of.pop(key, None)
        if group is None:
            return
        pods = self._pods[group]
        del pods[key]
        if not pods:
            del self._pods[group]

    def _group_deleted(self, group: PodGroup) -> None:
        key = group.metadata.key
        known = self._groups.get(key)
        if known is None or known.metadata.uid != group.metadata.uid:
            return
        del self._groups[key]
        if key in self._pods:
            self._changed(key, _UNTIL_A_DELETED_GROUP_IS_MISSED)

    def _workload_seen(self, kind: str, workload: Workload) -> None:
        before = self.workload(workload.metadata.uid)
        self._workloads[workload.metadata.uid] = (kind, workload)
        if kind not in SCALED_OWNERS or (before is not None and not _differs(before, workload)):
            return
        key = _group_key(workload)
        if key in self._groups or key in self._pods:
            self._changed(key, 0.0)

    def _known(self, kind: str) -> Iterator[tuple[str, ApiObject]]:
        """Key and object of all that is known of the kind."""
        match kind:
            case "Pod":
                yield from (item for pods in self._pods.values() for item in pods.items())
            case "PodGroup":
                yield from self._groups.items()
            case "Namespace":
                yield from self._namespaces.items()
            case _:
                yield from (
                    (workload.metadata.key, workload) for known, workload in self._workloads.values() if known == kind
                )


def _group_key(workload: Workload) -> str:
    return f"{workload.metadata.namespace}/{GENERATED_GROUP_PREFIX}{workload.metadata.uid}"


def _differs(before: Workload, after: Workload) -> bool:
    """In anything that its group depends on. The rest of a status changes with every pod that starts."""
    return (
        before.spec != after.spec
        or before.status.update_revision != after.status.update_revision
        or before.metadata.annotations != after.metadata.annotations
    )
