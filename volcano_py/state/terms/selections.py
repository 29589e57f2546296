"""Which pods belong together by the word of others: what Services, ReplicationControllers, ReplicaSets and StatefulSets
select.

Of these objects only names and selectors are kept. kube-scheduler's helper.DefaultSelector makes one selector of all
that speak of a pod: every Service of its namespace that selects it, and its controlling owner, found by name. A
ReplicationController's labels stand in for those of Services with the same keys.

Owners that are scaled to nothing count, too: their last pods may still wait. So a Deployment's old ReplicaSets are
kept, in less than a kilobyte each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Final

import msgspec

from volcano_py.api.bounds import SERVICES
from volcano_py.api.objects import Pod
from volcano_py.api.workloads import ReplicationController, Service, Workload
from volcano_py.state.table.change import Change
from volcano_py.state.table.stores import DerivedStore, Store
from volcano_py.state.terms.label_syntax import faults_of_selector
from volcano_py.state.terms.pod_terms import Requirement, Requirements, meets, requirements_of

_SERVICE: Final = "Service"
_REPLICATION_CONTROLLER: Final = "ReplicationController"
_OWNERS: Final = frozenset({("v1", _REPLICATION_CONTROLLER), ("apps/v1", "ReplicaSet"), ("apps/v1", "StatefulSet")})
"""API version and kind of the owners that count."""
# Changes are settled at snapshots, all at once; a replica that does not lead takes none.
_MOST_UNSETTLED: Final = 1024


def owner_of(pod: Pod) -> str:
    """Kind, namespace and name of the pod's controlling owner, "" when it has none that counts."""
    owner = pod.metadata.controller
    if owner is None or (owner.api_version, owner.kind) not in _OWNERS:
        return ""
    return sys.intern(_owner_key(owner.kind, f"{pod.metadata.namespace}/{owner.name}"))


def _owner_key(kind: str, key: str) -> str:
    return f"{kind}/{key}"


class Changes(msgspec.Struct):
    """Selections that came or went: those of Services by namespace, and owners."""

    services: dict[str, ByLabel] = msgspec.field(default_factory=dict)
    owners: set[str] = msgspec.field(default_factory=set)
    number: int = 0

    def concern(self, namespace: str, labels: Mapping[str, str], owner: str) -> bool:
        """Whether they speak of a pod with these labels and that owner."""
        if owner in self.owners:
            return True
        services = self.services.get(namespace)
        return services is not None and services.may_match(labels)


class ByLabel:
    """Selectors of one namespace, each found by one of the labels it asks for."""

    def __init__(self) -> None:
        self._at: dict[tuple[str, str], dict[Requirements, int]] = {}
        """A label and its value → selectors and how many have them."""

    def __bool__(self) -> bool:
        return bool(self._at)

    def add(self, selector: Requirements) -> None:
        at = self._at.setdefault(_anchor(selector), {})
        at[selector] = at.get(selector, 0) + 1

    def remove(self, selector: Requirements) -> None:
        anchor = _anchor(selector)
        at = self._at[anchor]
        at[selector] -= 1
        if not at[selector]:
            del at[selector]
        if not at:
            del self._at[anchor]

    def matching(self, labels: Mapping[str, str]) -> Iterator[Requirements]:
        """The selectors that these labels meet; of those with one anchor a bounded number is looked at."""
        for label in labels.items():
            for selector in islice(self._at.get(label, ()), SERVICES.most):
                if meets(selector, labels):
                    yield selector

    def may_match(self, labels: Mapping[str, str]) -> bool:
        """Whether any of the selectors may be met, those included that are too many to be looked at."""
        if any(len(self._at.get(label, ())) > SERVICES.most for label in labels.items()):
            return True
        return next(self.matching(labels), None) is not None


def _anchor(selector: Requirements) -> tuple[str, str]:
    """The longest label with its value: an application's name is more selective than a tier's."""
    return max(((one.key, one.values[0]) for one in selector), key=lambda label: (len(label[1]), label))


class Selections:
    """See the module.

    Attributes:
        stores: by kind, for the state.
    """

    def __init__(self, settle: Callable[[], None]) -> None:
        """`settle` is called when there are many changes that were not taken."""
        self._settle = settle
        self._services: dict[str, ByLabel] = {}
        self._owners: dict[str, Requirements] = {}
        self._changes = Changes()
        self.stores: Mapping[str, Store] = {
            kind: DerivedStore(decoded_as, _selector, partial(self._changed, kind))
            for kind, decoded_as in (
                (_SERVICE, Service),
                (_REPLICATION_CONTROLLER, ReplicationController),
                ("ReplicaSet", Workload),
                ("StatefulSet", Workload),
            )
        }

    def of(self, namespace: str, labels: Mapping[str, str], owner: str) -> Requirements:
        """The one selector for a pod, empty when nothing selects it."""
        services, owned = self._services.get(namespace), self._owners.get(owner, ())
        conditions: set[Requirement] = set()
        for selector in services.matching(labels) if services is not None else ():
            conditions.update(selector)
        if owner.startswith(_REPLICATION_CONTROLLER):
            replaced = {one.key for one in owned}
            conditions = {one for one in conditions if one.key not in replaced}
        conditions.update(owned)
        return tuple(sorted(conditions))

    @property
    def have_changed(self) -> bool:
        """Whether there are changes that were not taken yet."""
        return self._changes.number > 0

    def take_changes(self) -> Changes:
        """What has changed since this was last asked."""
        changes, self._changes = self._changes, Changes()
        return changes

    def _changed(self, kind: str, key: str, old: Requirements | None, new: Requirements | None) -> Change:
        """Nothing that objects of these kinds do can make room for a pod: no cycle is worth it."""
        old, new = old or (), new or ()
        if old == new:
            return Change.NONE
        if kind == _SERVICE:
            self._service_changed(key.partition("/")[0], old, new)
        else:
            self._owner_changed(sys.intern(_owner_key(kind, key)), new)
        self._changes.number += 1
        if self._changes.number > _MOST_UNSETTLED:
            self._settle()
        return Change.LATER

    def _owner_changed(self, owner: str, new: Requirements) -> None:
        self._changes.owners.add(owner)
        if new:
            self._owners[owner] = new
        else:
            self._owners.pop(owner, None)

    def _service_changed(self, namespace: str, old: Requirements, new: Requirements) -> None:
        known = self._services.setdefault(namespace, ByLabel())
        changed = self._changes.services.setdefault(namespace, ByLabel())
        if old:
            known.remove(old)
            changed.add(old)
        if new:
            known.add(new)
            changed.add(new)
        if not known:
            del self._services[namespace]


def _selector(obj: Service | ReplicationController | Workload) -> Requirements:
    """What the object selects; empty also for a selector that cannot be read, as it is left out by kube-scheduler."""
    if isinstance(obj, Service | ReplicationController):
        return _labels(obj.spec.selector.items())
    if next(faults_of_selector("", obj.spec.selector), None) is not None:
        return ()
    return requirements_of(obj.spec.selector) or ()


def _labels(labels: Iterable[tuple[str, str]]) -> Requirements:
    return tuple(sorted(Requirement(key, "In", (value,)) for key, value in labels))
