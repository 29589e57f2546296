"""Generated PodGroups as the scheduler sees them: as soon as they are planned, before the API server has them.

A PodGroup and its name on the pod are three writes for a pod that takes one to be bound. So the scheduler decides with
what is about to be written, the binding carries the name, and the rest follows when the bindings have passed.
"""

from __future__ import annotations

from collections.abc import Sequence

from volcano_py.api.objects import ApiObject, Pod, PodGroup
from volcano_py.cluster.protocol import Sink, upsert_all
from volcano_py.operator.podgroups.generated_group import (
    GroupRules,
    as_named,
    generated_key,
    generated_name,
    is_generated,
    wants_group,
)
from volcano_py.operator.podgroups.index import PodGroupIndex


class AssumedGroups:
    """A `Sink` before the scheduler's; `index` has to get each object first.

    Pods that want a group are passed on as if they named it, once it is stored or assumed. A group that is only
    assumed has no UID.
    """

    def __init__(self, sink: Sink, index: PodGroupIndex, rules: GroupRules) -> None:
        self._sink, self._index, self._rules = sink, index, rules
        self._upsert_all = upsert_all(sink)
        self._assumed: dict[str, PodGroup] = {}
        self._stored: set[str] = set()
        """Keys of the generated groups that the API server has."""

    def show(self, group: PodGroup) -> None:
        """The group is about to be written, unless it has been while it was planned."""
        key = group.metadata.key
        if self._index.group(key) is not None:
            return
        self._assumed[key] = group
        self._sink.upsert("PodGroup", group)
        self._pass_on_pods(key)

    def withdraw(self, key: str) -> None:
        """The group cannot be written, or is not wanted any more."""
        group = self._assumed.pop(key, None)
        if group is not None:
            self._sink.delete("PodGroup", group)
            self._pass_on_pods(key)

    def replace(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`Sink`."""
        if kind == "PodGroup":
            stored = [obj.metadata.key for obj in objects if isinstance(obj, PodGroup)]
            # Some may have been stored and deleted, with their pods, while no watch was open.
            ended = [key for key in self._assumed if not self._index.pods_of(key)]
            for key in (*stored, *ended):
                self._assumed.pop(key, None)
            self._stored = {key for key in stored if is_generated(key)}
            self._sink.replace(kind, [*objects, *self._assumed.values()])
            for key in stored:
                self._pass_on_pods(key)
        else:
            self._sink.replace(kind, [self._seen(obj) for obj in objects])

    def upsert(self, kind: str, obj: ApiObject) -> None:
        """`Sink`."""
        self._sink.upsert(kind, self._seen(obj))
        if isinstance(obj, PodGroup) and is_generated(key := obj.metadata.key):
            was_shown = self._assumed.pop(key, None) is not None or key in self._stored
            self._stored.add(key)
            if not was_shown:
                self._pass_on_pods(key)

    def upsert_all(self, kind: str, objects: Sequence[ApiObject]) -> None:
        """`BulkSink`."""
        if kind == "Pod":
            self._upsert_all(kind, [self._seen(obj) for obj in objects])
            return
        for obj in objects:
            self.upsert(kind, obj)

    def delete(self, kind: str, obj: ApiObject) -> None:
        """`Sink`."""
        self._sink.delete(kind, obj)
        if isinstance(obj, PodGroup):
            self._stored.discard(obj.metadata.key)
            self._pass_on_pods(obj.metadata.key)

    def _seen(self, obj: ApiObject) -> ApiObject:
        """The pod with the name of its group, if it wants one that there is; anything else as it is."""
        if not isinstance(obj, Pod) or not wants_group(obj, self._rules):
            return obj
        key = generated_key(obj)
        is_known = key in self._assumed or self._index.group(key) is not None
        return as_named(obj, generated_name(obj)) if is_known else obj

    def _pass_on_pods(self, key: str) -> None:
        """Whether they have a group is another matter now."""
        for pod in self._index.pods_of(key):
            if wants_group(pod, self._rules):
                self._sink.upsert("Pod", self._seen(pod))
