"""The queues as the rules see them: frozen values with only the fields that the rules need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Final

import msgspec

from volcano_py.admission.amounts import Amounts, read
from volcano_py.api.names import ROOT_QUEUE
from volcano_py.api.objects import Queue
from volcano_py.state.queues.hierarchy import Path, check_hierarchy

ENTITLEMENTS: Final = ("deserved", "guarantee")
"""Fields whose sums over the queues below must fit into that of the queue above."""

_NO_GROUPS: Final[Mapping[str, int]] = MappingProxyType({})


class QueueFacts(msgspec.Struct, frozen=True):
    """One queue. Amounts that cannot be read are left out; `parent` is empty for root only."""

    name: str
    parent: str = ROOT_QUEUE
    state: str = ""
    capability: Amounts = msgspec.field(default_factory=dict)
    deserved: Amounts = msgspec.field(default_factory=dict)
    guarantee: Amounts = msgspec.field(default_factory=dict)
    path: Path = ()
    is_being_deleted: bool = False

    @classmethod
    def of(cls, queue: Queue) -> QueueFacts:
        name, spec = queue.metadata.name, queue.spec
        hierarchy, _ = check_hierarchy(queue.metadata.annotations)
        return cls(
            name=name,
            parent="" if name == ROOT_QUEUE else spec.parent or ROOT_QUEUE,
            state=queue.status.state,
            capability=read(spec.capability, "")[0],
            deserved=read(spec.deserved, "")[0],
            guarantee=read(spec.guarantee.resource, "")[0],
            path=tuple(node for node, _ in hierarchy),
            is_being_deleted=queue.metadata.deletion_timestamp is not None,
        )

    def says_the_same_as(self, other: QueueFacts) -> bool:
        """Whether the two differ only in the state, which controllers write."""
        return msgspec.structs.replace(self, state=other.state) == other

    @property
    def is_open(self) -> bool:
        """Whether it takes new work; a queue without a state yet counts as Open."""
        return self.state in ("", "Open")

    def entitlement(self, name: str) -> Amounts:
        """One of `ENTITLEMENTS`."""
        return self.deserved if name == "deserved" else self.guarantee


class QueueWorld(msgspec.Struct, frozen=True, dict=True):
    """All queues, and how many PodGroups that are not finished each of them has (none: left out)."""

    queues: Mapping[str, QueueFacts]
    pod_groups: Mapping[str, int] = msgspec.field(default_factory=lambda: _NO_GROUPS)

    @classmethod
    def of(cls, queues: Iterable[QueueFacts], pod_groups: Mapping[str, int] = _NO_GROUPS) -> QueueWorld:
        return cls({queue.name: queue for queue in queues}, pod_groups)

    def replaced(self, queue: QueueFacts) -> QueueWorld:
        """The same with this queue as it would be."""
        return QueueWorld({**self.queues, queue.name: queue}, self.pod_groups)

    def without(self, name: str) -> QueueWorld:
        """The same without a queue."""
        return QueueWorld({key: queue for key, queue in self.queues.items() if key != name}, self.pod_groups)

    @cached_property
    def _children(self) -> Mapping[str, list[QueueFacts]]:
        below: defaultdict[str, list[QueueFacts]] = defaultdict(list)
        for name in sorted(self.queues):
            queue = self.queues[name]
            if queue.parent:
                below[queue.parent].append(queue)
        return below

    def children(self, name: str) -> list[QueueFacts]:
        """The queues directly below, by name."""
        return self._children.get(name, [])

    def above(self, name: str) -> Iterator[QueueFacts]:
        """The queues above one, nearest first, without root; ends at a queue that is missing, or seen before."""
        seen = {name}
        queue = self.queues.get(name)
        while queue is not None and queue.parent not in ("", ROOT_QUEUE) and queue.parent not in seen:
            seen.add(queue.parent)
            queue = self.queues.get(queue.parent)
            if queue is not None:
                yield queue

    def below(self, name: str) -> Iterator[tuple[QueueFacts, int]]:
        """Every queue below one, each once, and how many levels further down it is; nearest first."""
        seen, level, depth = {name}, [name], 0
        while level:
            depth += 1
            found = [child for each in level for child in self.children(each) if child.name not in seen]
            seen.update(child.name for child in found)
            yield from ((child, depth) for child in found)
            level = [child.name for child in found]

    def highest_setters(self, name: str, resource: str) -> Iterator[tuple[QueueFacts, Fraction]]:
        """The queues from this one down that have a capability for the resource and none above them here that has."""
        pending, seen = [name], {name}
        while pending:
            queue = self.queues.get(pending.pop())
            if queue is None:
                continue
            if resource in queue.capability:
                yield queue, queue.capability[resource]
                continue
            new = [child.name for child in reversed(self.children(queue.name)) if child.name not in seen]
            seen.update(new)
            pending.extend(new)
