"""Keys that look as if they name the PodGroup of a pod, and do not: only one annotation does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from volcano_py.api.names import GROUP_NAME

_LONGEST_KEY: Final = 100  # characters of a user's text that a message quotes
# The part of a key after its prefix, without separators.
_NAMES: Final = frozenset({"groupname", "group", "podgroup", "podgroupname", "podgroups", "groupnames"})
_SEPARATORS: Final = re.compile(r"[-_.]")
_PREFIXES: Final = ("k8s.io", "volcano.sh", "sigs.k8s.io")
# Keys of other schedulers, whose plugins for gangs people move from.
_OF_OTHERS: Final = frozenset({"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io"})


def ignored_group_key(annotations: Mapping[str, str], labels: Mapping[str, str]) -> str:
    """What is wrong with a pod that names no PodGroup, but seems to want to; "" if it does not."""
    for kind, keys in (("label", labels), ("annotation", annotations)):
        for key in keys:
            # The annotation itself is there once the pod was given the PodGroup that was created for it.
            if _looks_like_it(key) and (kind, key) != ("annotation", GROUP_NAME):
                return (
                    f"the {kind} {key[:_LONGEST_KEY]} does not name a PodGroup, so the pod is scheduled without "
                    f"{keys[key][:_LONGEST_KEY]}: write it as the annotation {GROUP_NAME}"
                )
    return ""


def _looks_like_it(key: str) -> bool:
    prefix, _, name = key.rpartition("/")
    if key in _OF_OTHERS:
        return True
    is_near = prefix in _PREFIXES or prefix.endswith(tuple(f".{each}" for each in _PREFIXES))
    return is_near and _SEPARATORS.sub("", name).lower() in _NAMES
