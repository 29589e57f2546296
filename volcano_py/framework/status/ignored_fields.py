"""Fields of a Queue that say how the cluster is to be shared, and that no configured plugin reads; and amounts of
resources that do not exist.

The scheduler writes them to the Queue, the command line shows them. A queue that says more than it should gets less
than its author expects, and nothing else would report that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS, ROOT_QUEUE
from volcano_py.api.objects import Queue, ResourceList
from volcano_py.api.quantity import QuantityError, parse_quantity
from volcano_py.api.queues.fields import QueueField
from volcano_py.api.wording.explain import cut
from volcano_py.api.wording.resource_names import limits_devices, without_effect
from volcano_py.config.catalogue import VOLCANO_PLUGINS
from volcano_py.config.model import SchedulerConfiguration
from volcano_py.framework.plugin import Plugin, points_of
from volcano_py.state.infos import QueueInfo

_LONGEST_VALUE: Final = 60  # characters of what a user wrote
# A plugin that fills one of these divides the cluster among queues.
_OWNING_POINTS: Final = frozenset({"queue_paths", "overused", "allocatable"})
_NO_OWNER: Final = "no configured plugin divides the cluster among queues"


class SharingFields(msgspec.Struct, frozen=True):
    """What a queue says of these fields."""

    name: str
    parent: str
    capability: ResourceList
    deserved: ResourceList
    guarantee: ResourceList
    annotations: Mapping[str, str]

    @classmethod
    def of(cls, queue: Queue) -> SharingFields:
        """Of the object."""
        spec = queue.spec
        name, annotations = queue.metadata.name, queue.metadata.annotations
        return cls(name, spec.parent, spec.capability, spec.deserved, spec.guarantee.resource, annotations)

    @classmethod
    def of_info(cls, queue: QueueInfo) -> SharingFields:
        """Of a queue of a session."""
        capability, deserved, guarantee = (
            queue.written.get(each, {}) for each in ("capability", "deserved", "guarantee")
        )
        return cls(queue.name, queue.parent, capability, deserved, guarantee, queue.annotations)


class IgnoredField(msgspec.Struct, frozen=True):
    """`field` is set and has no effect; `why` says why, and what would help."""

    field: str
    found: str
    why: str

    @property
    def message(self) -> str:
        """A sentence without a full stop."""
        found = f" ({self.found})" if self.found else ""
        # Queues below a closed one close with it, and node groups may be inherited.
        effect = "effect on shares and limits" if self.field == QueueField.PARENT else "effect"
        return f"{self.field}{found} has no {effect}: {self.why}"


class FieldUse(msgspec.Struct, frozen=True):
    """Which of the fields a configuration uses.

    Attributes:
        read: fields that some plugin reads.
        owner: the plugin that divides the cluster among queues; "" for none.
        in_tree: whether that plugin does it in a tree.
    """

    read: frozenset[QueueField]
    owner: str
    in_tree: bool

    @classmethod
    def of(cls, configuration: SchedulerConfiguration, plugins: Mapping[str, type[Plugin]]) -> FieldUse:
        """Of this configuration, given the classes of its plugins by name."""
        read: set[QueueField] = set()
        owner, in_tree = "", False
        for entry in configuration.plugins():
            plugin = plugins[entry.name]
            if _may_read_all(plugin):
                return cls(frozenset(QueueField), entry.name, in_tree=True)
            found = plugin.queue_fields | (plugin.hierarchy_queue_fields if entry.flags.hierarchy else frozenset())
            read |= found
            if found and not in_tree:
                owner, in_tree = entry.name, entry.flags.hierarchy
        return cls(frozenset(read), owner, in_tree)

    def ignored(self, queue: SharingFields) -> tuple[IgnoredField, ...]:
        """The fields that the queue has and nothing reads. Root's follow from the cluster."""
        if queue.name == ROOT_QUEUE:
            return ()
        return tuple(self._ignored(queue))

    def _ignored(self, queue: SharingFields) -> Iterator[IgnoredField]:
        if queue.parent not in ("", ROOT_QUEUE) and QueueField.PARENT not in self.read:
            yield IgnoredField(QueueField.PARENT, cut(queue.parent, _LONGEST_VALUE), self._parent())
        if queue.deserved and QueueField.DESERVED not in self.read and not self._is_guaranteed(queue):
            yield IgnoredField(QueueField.DESERVED, _shown(queue.deserved), self._deserved(queue))
        if queue.guarantee and QueueField.GUARANTEE not in self.read:
            yield IgnoredField(QueueField.GUARANTEE, _shown(queue.guarantee), self._guarantee())
        devices = {name: text for name, text in queue.capability.items() if limits_devices(name)}
        if devices and QueueField.DEVICES not in self.read:
            yield IgnoredField(QueueField.DEVICES, _shown(devices), self._devices())
        if QueueField.HIERARCHY not in self.read and not queue.annotations.keys().isdisjoint(
            (HIERARCHY, HIERARCHY_WEIGHTS)
        ):
            path = cut(queue.annotations.get(HIERARCHY, ""), _LONGEST_VALUE)
            yield IgnoredField(QueueField.HIERARCHY, path, self._hierarchy())

    def _is_guaranteed(self, queue: SharingFields) -> bool:
        """Whether it deserves no more than it is guaranteed: admission demands as much, and that is kept for it."""
        if QueueField.GUARANTEE not in self.read:
            return False
        try:
            kept = {name: parse_quantity(text) for name, text in queue.guarantee.items()}
            return all(name in kept and parse_quantity(text) <= kept[name] for name, text in queue.deserved.items())
        except QuantityError:
            return False

    def _parent(self) -> str:
        if not self.owner:
            return f"{_NO_OWNER}; configure proportion or capacity, with enableHierarchy: true"
        if self.in_tree:
            return f"{self.owner} with enableHierarchy reads the path in the annotation {HIERARCHY}; write it there"
        return f"{self.owner} treats all queues as siblings; set enableHierarchy: true for {self.owner}"

    def _deserved(self, queue: SharingFields) -> str:
        # The CRD refuses a queue that deserves less than it is guaranteed.
        if not queue.guarantee:
            fix = "remove the field"
        elif QueueField.GUARANTEE in self.read:
            fix = f"lower it to {QueueField.GUARANTEE}"
        else:
            fix = f"remove it together with {QueueField.GUARANTEE}"
        if not self.owner:
            return f"{_NO_OWNER}; configure capacity, or {fix}"
        weights = f"the weights in the annotation {HIERARCHY_WEIGHTS}" if self.owner == "drf" else "spec.weight"
        return f"{self.owner} divides by {weights}; configure capacity in its place, or {fix}"

    def _guarantee(self) -> str:
        if not self.owner:
            return f"{_NO_OWNER}; configure capacity or proportion, or remove the field"
        return f"{self.owner} reserves nothing for idle queues; configure capacity in its place, or remove the field"

    def _devices(self) -> str:
        if not self.owner:
            return f"{_NO_OWNER}; configure capacity, or remove the limit"
        return f"{self.owner} limits no devices; configure capacity in its place, or remove the limit"

    def _hierarchy(self) -> str:
        if not self.owner:
            return "only drf with enableHierarchy reads it; set enableHierarchy: true for drf, or remove it"
        switch = "" if self.in_tree else f" with enableHierarchy: true for {self.owner},"
        return (
            f"only drf with enableHierarchy reads it, and {self.owner} divides the cluster; name the queue above in "
            f"spec.parent,{switch} or remove it"
        )


def fields_without_effect(use: FieldUse, queue: SharingFields) -> tuple[IgnoredField, ...]:
    """What the configuration does not use, and amounts that no configuration can use because of their names."""
    misnamed = without_effect(queue.capability, queue.deserved, queue.guarantee)
    return (*use.ignored(queue), *(IgnoredField(*each) for each in misnamed))


def _may_read_all(plugin: type[Plugin]) -> bool:
    """Whether another package's plugin divides the cluster and does not say which fields it reads."""
    says = plugin.queue_fields or plugin.hierarchy_queue_fields
    return plugin.name not in VOLCANO_PLUGINS and not says and not _OWNING_POINTS.isdisjoint(points_of(plugin))


def _shown(amounts: ResourceList) -> str:
    """`cpu 4, memory 8Gi`"""
    return cut(", ".join(f"{name} {amounts[name]}" for name in sorted(amounts)), _LONGEST_VALUE)
