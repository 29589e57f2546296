"""What one user may see of the cluster, as a value."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Final, Protocol

import msgspec

PODS: Final = "pods"
POD_GROUPS: Final = "podgroups"
JOBS: Final = "jobs"
EVENTS: Final = "events"
QUEUES: Final = "queues"
NODES: Final = "nodes"
HYPER_NODES: Final = "hypernodes"
CONFIGURATION: Final = "configmaps"

IN_NAMESPACES: Final = (POD_GROUPS, PODS, JOBS, EVENTS)
"""Kinds (their plurals) that may be seen in some namespaces only."""
CLUSTER_WIDE: Final = (QUEUES, NODES, HYPER_NODES)

GROUPS: Final[Mapping[str, str]] = {
    POD_GROUPS: "scheduling.volcano.sh",
    QUEUES: "scheduling.volcano.sh",
    JOBS: "batch.volcano.sh",
    HYPER_NODES: "topology.volcano.sh",
}
"""Plural → API group, where it is not the core one."""


class User(msgspec.Struct, frozen=True):
    """A user, as a TokenReview has it. `extra`: key → values, by key."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Sight(msgspec.Struct, frozen=True):
    """What may be seen.

    Attributes:
        everywhere: plurals of the kinds of which all objects may be seen, in all namespaces.
        inside: plural → the namespaces in which they may be seen, for those that are not in `everywhere`.
        unanswered: whether the API server has not said all: what is in doubt is not in here.
    """

    everywhere: frozenset[str] = frozenset()
    inside: Mapping[str, frozenset[str]] = {}
    unanswered: bool = False

    def may(self, resource: str, namespace: str = "") -> bool:
        """Whether the objects of this kind may be seen; those of one namespace, or (without it) all of them."""
        return resource in self.everywhere or (bool(namespace) and namespace in self.inside.get(resource, ()))

    @property
    def mark(self) -> str:
        """A short text that differs where sights do."""
        parts = sorted(self.everywhere), sorted((name, sorted(spaces)) for name, spaces in self.inside.items())
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]

    def sees_work(self, namespace: str = "") -> bool:
        """Whether the jobs of a namespace may be seen, or (without it) all of them: a row tells of pods, too."""
        return self.may(POD_GROUPS, namespace) and self.may(PODS, namespace)

    @property
    def sees_use(self) -> bool:
        """Whether it may be seen how full nodes are. This tells what others run, so it takes pods everywhere."""
        return self.may(NODES) and self.may(PODS)

    @property
    def sees_all_work(self) -> bool:
        """Whether nothing of what decisions depend on is hidden."""
        return self.sees_use and self.sees_work() and self.may(QUEUES) and self.may(HYPER_NODES)

    @property
    def is_whole(self) -> bool:
        """Whether nothing at all is hidden."""
        return self.everywhere >= _ALL

    def hidden(self, namespaces: Iterable[str]) -> tuple[str, ...]:
        """What is not shown, as sentences. `namespaces`: those in which there is work."""
        there = list(namespaces)
        own = [name for name in there if self.sees_work(name)]
        quiet = sum(not self.may(EVENTS, name) for name in own)
        found = {
            _namespaces(len(there) - len(own), "not yours to see: you may not list PodGroups and pods there"): len(own)
            < len(there),
            _namespaces(quiet, "without evictions and events: you may not list events there"): quiet > 0,
            "Queues are hidden: you may not list queues": not self.may(QUEUES),
            "Nodes are hidden: you may not list nodes": not self.may(NODES),
            "How full nodes are is hidden: you may not list pods in all namespaces": self.may(NODES)
            and not self.sees_use,
            "HyperNodes are hidden: you may not list hypernodes": not self.may(HYPER_NODES),
            "The configuration is hidden: you may not get its ConfigMap": not self.may(CONFIGURATION),
            "What you may see could not be checked whole; what is in doubt is hidden": self.unanswered,
        }
        return tuple(text for text, is_so in found.items() if is_so)


_ALL: Final = frozenset((*IN_NAMESPACES, *CLUSTER_WIDE, CONFIGURATION))
EVERYTHING: Final = Sight(_ALL)


class Rights(Protocol):
    """Says what users may see."""

    async def sight(self, user: User, namespaces: frozenset[str]) -> Sight:
        """What the user may see now, of these namespaces. It never fails: in doubt, less is seen."""


class OwnRights:
    """Of a page that reads the cluster with its user's own rights: what could be read may be seen."""

    async def sight(self, user: User, namespaces: frozenset[str]) -> Sight:  # noqa: ARG002 - all users are one
        """Everything."""
        return EVERYTHING


def _namespaces(count: int, what: str) -> str:
    return f"{count} namespace{' is' if count == 1 else 's are'} {what}"
