"""Names of resources that no node has and no pod can ask for: most are misspelt.

A name with a domain, such as `nvidia.com/gpu`, may be that of a device on a node that is still to come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.names import DEVICES_OF_CLASS
from volcano_py.api.objects import PodGroup, Queue, ResourceList
from volcano_py.api.wording.explain import cut
from volcano_py.api.wording.suggestion import suggestion

_OWN: Final = ("cpu", "memory", "ephemeral-storage", "pods", "storage")
_OWN_PREFIXES: Final = ("hugepages-", "attachable-volumes-")
_OF_QUOTAS: Final = ("requests.", "limits.")
_CAPABILITY: Final = "spec.capability"
_MOST: Final = 5  # names of an object that are reported
_LONGEST: Final = 60  # characters of what a user wrote


def is_possible(name: str) -> bool:
    """Whether Kubernetes has a resource of this name, or it has a domain."""
    return name in _OWN or "/" in name or name.startswith(_OWN_PREFIXES)


def is_of_devices(name: str) -> bool:
    """Whether it is about devices of ResourceClaims: their number, or the amount of one of their capacities."""
    domain, slash, _ = f".{name}".partition("/")
    return f"{domain}{slash}".endswith(f".{DEVICES_OF_CLASS}")


def limits_devices(name: str) -> bool:
    """Whether it limits how many devices of a class a queue may have, when it stands in its capability."""
    return name.startswith(DEVICES_OF_CLASS)


def advice(name: str) -> str:
    """For a name that is not possible: what was probably meant, else what names look like."""
    bare = _bare(name)
    if bare != name and is_possible(bare):
        return f' (did you mean "{_cut(bare)}"?)'
    near = "" if "gpu" in name.lower() else suggestion(bare, (*_OWN, "hugepages-2Mi", "hugepages-1Gi"))
    return near or "; the name of a device has a domain, such as nvidia.com/gpu"


def without_effect(
    capability: ResourceList, deserved: ResourceList, guarantee: ResourceList
) -> Iterator[tuple[str, str, str]]:
    """Amounts of a Queue that have no effect because of their names: the field, what was found in it, and why."""
    fields = {_CAPABILITY: capability, "spec.deserved": deserved, "spec.guarantee.resource": guarantee}
    found = (
        (f"{field}.{_cut(name)}", _cut(str(amounts[name])), why)
        for field, amounts in fields.items()
        for name in amounts
        if (why := _why_without_effect(field, name))
    )
    return islice(found, _MOST)


def misnamed(queue: Queue) -> Iterator[str]:
    """The same as sentences without a full stop."""
    spec = queue.spec
    for field, found, why in without_effect(spec.capability, spec.deserved, spec.guarantee.resource):
        yield f"{field} ({found}) has no effect: {why}"


def misnamed_of_pod_group(group: PodGroup) -> Iterator[Unreadable]:
    """Names in minResources. They may be names for quotas (`requests.cpu`), too, as those of Volcano Jobs are."""
    amounts = group.spec.min_resources or {}
    wrong = (
        Unreadable(
            f"spec.minResources.{_cut(name)}",
            _cut(str(amounts[name])),
            f"correct the name, which no resource has{advice(name)}",
            "it counts as absent",
        )
        for name in _impossible(amounts)
        if not is_possible(_bare(name))
    )
    return islice(wrong, _MOST)


def _why_without_effect(field: str, name: str) -> str:
    if not is_possible(name):
        return f"no resource has this name{advice(name)}"
    if not is_of_devices(name) or (field == _CAPABILITY and limits_devices(name)):
        return ""
    if field == _CAPABILITY:
        number = f"{DEVICES_OF_CLASS}{_cut(name.partition('/')[2])}"
        return f"capacities of devices are not limited; limit their number, by {number}"
    return f"devices of ResourceClaims are limited by {_CAPABILITY} only; remove it"


def _impossible(names: Iterable[str]) -> Iterator[str]:
    return (name for name in names if not is_possible(name))


def _bare(name: str) -> str:
    """Without what ResourceQuotas have in front of it."""
    prefix = next((each for each in _OF_QUOTAS if name.startswith(each)), "")
    return name.removeprefix(prefix)


def _cut(text: str) -> str:
    return cut(text, _LONGEST)
