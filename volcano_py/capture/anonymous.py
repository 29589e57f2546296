"""A capture without its names: every word of a name is replaced, everywhere by the same other word.

Words, not whole names, because names are made of each other: pod `train-worker-0` and PodGroup `train-<uid>` belong to
Job `train`, and still do as `w3-w7-0`, `w3-<uid>` and `w3`. Numbers, amounts, times, durations, UIDs and Kubernetes'
own words stay, and so does the configuration, with all words in it. So do the names of device drivers, the attributes
of their devices, and the expressions that select by these: with other words, an expression could select others.
Messages are left out, of events, too. What has the same priority and the same age is ordered by a hash of its name, so
such ties may be decided otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Any, Final

import msgspec

from volcano_py.api import names
from volcano_py.api.devices.claims import CLASS_AS_RESOURCE
from volcano_py.api.devices.slices import ResourceSlice
from volcano_py.api.objects import ApiObject, Pod
from volcano_py.capture.model import Capture, CapturedEvent
from volcano_py.cluster.manifests import Stored
from volcano_py.state.extended.asked import extended_resources

_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_UID: Final = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_HASH: Final = r"(?=[a-f]*[0-9])[0-9a-f]{8,}"
_AMOUNT: Final = r"[0-9]+(?:[numkMGTPE]|[KMGTPE]i)?"
_DURATION: Final = r"(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|ms|s|m|h))+"
_KEPT: Final = re.compile(rf"{_UID}|\b(?:{_HASH}|{_AMOUNT}|{_DURATION})\b")
"""What says nothing about its author: UIDs, hashes that Kubernetes appends, amounts, and durations."""

_WELL_KNOWN: Final = re.compile(r"(?:[a-z0-9-]+\.)*(?:kubernetes\.io|k8s\.io|volcano\.sh)/[A-Za-z0-9._/-]+")
"""Keys of labels, annotations and taints with a meaning of their own."""

_COMMON: Final = frozenset(
    {
        *(
            names.DEFAULT_QUEUE,
            names.ROOT_QUEUE,
            "kube",
            "system",
            "public",
            "node",
            "lease",
            "cluster",
            "critical",
            "podgroup",
        ),
        *(
            "metadata",
            "name",
            "volcano",
            "pvc",
            "docker",
            "io",
            "library",
            "latest",
            "kubernetes",
            "k8s",
            "true",
            "false",
            "pod",
            "pods",
        ),
    }
)
"""Words that decisions know, or that every cluster has."""

_AS_THEY_ARE: Final = frozenset(
    {
        *("kind", "apiVersion", "resourceVersion", "creationTimestamp", "deletionTimestamp", "startTime"),
        *("lastTransitionTime", "timestamp", "transitionID", "phase", "state", "status", "reason", "type", "operator"),
        *("effect", "protocol", "whenUnsatisfiable", "schedulerName", "preemptionPolicy", "restartPolicy", "policy"),
        *(
            "nodeAffinityPolicy",
            "nodeTaintsPolicy",
            "dequeueStrategy",
            "volumeMode",
            "volumeBindingMode",
            "accessModes",
        ),
        *("requests", "limits", "allocatable", "capacity", "capability", "deserved", "allocated", "hard", "used"),
        *("overhead", "minResources", "allocatedResources", "usage", "guarantee", "minAvailable", "maxUnavailable"),
        *("scopes", "scopeName", "networkTopology", "action", "event", "events", "timeout", "iteration"),
        *("topologyPolicy", "plugins", "runningEstimate", "runningDuration", "maximumVolumeSize", "hostIP", "mode"),
        *("allocationMode", "attributes", "expression", "matchAttribute", "distinctAttribute"),
        *("policies", "resReserved", "numares", "cpuDetail", "allocations"),
        *("extendedResourceName", "resourceName"),
        *("controlledResources", "reclaimPolicy", names.RESOURCE_STRATEGY_TYPE, names.RESOURCE_STRATEGY_WEIGHT),
        *(names.NUMA_POLICY, names.NETWORK_TOPOLOGY_MODE, names.NODE_GROUP_LIMITS),
    }
)
"""Fields and annotations whose values are no names."""

_MESSAGES: Final = frozenset({"message"})

_MAPS: Final = frozenset(
    {
        *("labels", "annotations", "matchLabels", "minTaskMember", "taskStatusCount"),
        *("disruptedPods",),
    }
)
"""Fields that are maps with keys of their authors' choosing."""

_MAPS_OF_TEXTS: Final = frozenset({"selector", "nodeSelector"})
"""Fields that are such maps in Services and pods, where they have texts; elsewhere they are objects."""


def anonymized(capture: Capture) -> Capture:
    """The capture with other names. The same words become the same other words; the order of names stays."""
    words, sharding = _Words.of(capture), capture.sharding
    return msgspec.structs.replace(
        capture,
        items=tuple(words.renamed(item) for item in capture.items),
        events=None if capture.events is None else tuple(words.of_event(each) for each in capture.events),
        default_queue=words.text(capture.default_queue),
        sharding=sharding and msgspec.structs.replace(sharding, name=words.text(sharding.name)),
        unread=tuple(
            msgspec.structs.replace(each, what=each.what.partition(" ")[0], why="") for each in capture.unread
        ),
        leader=words.text(capture.leader),
    )


class _Words:
    """Word → the other word. Those that sort first get names that sort first, as ties are decided by name."""

    def __init__(self, found: Iterable[str], kept: Iterable[str]) -> None:
        known = {*kept, *_COMMON}
        replaced = sorted({*found} - known)
        digits = len(str(len(replaced) + len(known)))
        free = (other for number in count() if (other := f"w{number:0{digits}}") not in known)
        self._other = dict(zip(replaced, free, strict=False))

    @classmethod
    def of(cls, capture: Capture) -> _Words:
        """Those of a capture; the words of its configuration and the names of its schedulers and drivers stay."""
        drivers = [obj.spec.driver for _, obj in capture.items if isinstance(obj, ResourceSlice)]
        staying = (capture.configuration, *capture.scheduler_names, *drivers, *_asked_as_resources(capture))
        kept = {word for text in staying for word in _WORD.findall(text)}
        texts = [capture.default_queue, capture.leader, capture.sharding.name if capture.sharding else ""]
        for _, obj in capture.items:
            _collect(msgspec.to_builtins(obj), texts)
        for event in capture.events or ():
            texts += [event.namespace, event.name]
        return cls((word for text in texts for word in _words_of(text)), kept)

    def renamed(self, item: Stored) -> Stored:
        kind, obj = item
        changed = self._value(msgspec.to_builtins(obj))
        return kind, _decoded(changed, type(obj))

    def of_event(self, event: CapturedEvent) -> CapturedEvent:
        namespace, name = self.text(event.namespace), self.text(event.name)
        return msgspec.structs.replace(event, namespace=namespace, name=name, message="")

    def text(self, text: str) -> str:
        """The text with its words replaced."""
        if _WELL_KNOWN.fullmatch(text):
            return text
        parts, end = [], 0
        for kept in _KEPT.finditer(text):
            parts += [self._plain(text[end : kept.start()]), kept.group()]
            end = kept.end()
        return "".join((*parts, self._plain(text[end:])))

    def _plain(self, text: str) -> str:
        return _WORD.sub(lambda word: self._other.get(word.group(), word.group()), text)

    def _value(self, value: Any, field: str = "") -> Any:
        if field in _AS_THEY_ARE and not isinstance(value, dict | list):
            return value
        if isinstance(value, str):
            return "" if field in _MESSAGES else self.text(value)
        if isinstance(value, list):
            return [self._value(each, field) for each in value]
        if isinstance(value, dict):
            return {self._key(key, field, item): self._inside(key, item, field) for key, item in value.items()}
        return value

    def _key(self, key: str, field: str, item: Any) -> str:
        return self.text(key) if _is_map(field, item) else key

    def _inside(self, key: str, item: Any, field: str) -> Any:
        if _is_map(field, item):
            return item if key in _AS_THEY_ARE else self._value(item)
        field = _field(key, item)
        return item if field in _AS_THEY_ARE and key not in ("state", "status") else self._value(item, field)


def _asked_as_resources(capture: Capture) -> set[str]:
    """Names of device classes that pods ask for as resources: names of resources stay, and so must these."""
    pods = (obj for _, obj in capture.items if isinstance(obj, Pod))
    asked = {name for pod in pods for name in extended_resources(pod)}
    return {name.removeprefix(CLASS_AS_RESOURCE) for name in asked if name.startswith(CLASS_AS_RESOURCE)}


def _is_map(field: str, item: Any) -> bool:
    """Whether the keys of this field's value are names."""
    return field in _MAPS or (field in _MAPS_OF_TEXTS and isinstance(item, str))


def _field(key: str, item: Any) -> str:
    """The field, but for `requests`: they are amounts, and in claims to devices lists with names."""
    return "" if key == "requests" and isinstance(item, list) else key


def _collect(value: Any, texts: list[str], field: str = "") -> None:
    """All texts that are to be renamed, as `_Words._value` goes through them."""
    if isinstance(value, str):
        if field not in _AS_THEY_ARE and field not in _MESSAGES:
            texts.append(value)
    elif isinstance(value, list):
        for each in value:
            _collect(each, texts, field)
    elif isinstance(value, dict):
        for key, item in value.items():
            if _is_map(field, item):
                texts.append(key)
                _collect(item, texts, key if key in _AS_THEY_ARE else "")
            elif (within := _field(key, item)) not in _AS_THEY_ARE or key in ("state", "status"):
                _collect(item, texts, within)


def _words_of(text: str) -> list[str]:
    return [] if _WELL_KNOWN.fullmatch(text) else _WORD.findall(_KEPT.sub(" ", text))


def _decoded(value: Any, kind: type[ApiObject]) -> ApiObject:
    return msgspec.convert(value, kind, strict=False)
