"""Objects of a capture, named as on the command line: `queue/research`, `podgroup/team/train`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from volcano_py.api.names import GROUP_NAME
from volcano_py.api.objects import ApiObject, Pod, PodGroup, metadata_of
from volcano_py.capture.kinds import OF_NAME
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.kinds import VOLCANO_JOB
from volcano_py.cluster.manifests import Stored

_SHORT: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("po",),
    "Node": ("no",),
    "Queue": ("q",),
    "PodGroup": ("pg",),
    "Namespace": ("ns",),
    "PriorityClass": ("pc",),
    "ResourceQuota": ("quota",),
    "PodDisruptionBudget": ("pdb",),
    "Deployment": ("deploy",),
    "CronJob": ("cj",),
    "ReplicaSet": ("rs",),
    "StatefulSet": ("sts",),
    "DaemonSet": ("ds",),
    "PersistentVolumeClaim": ("pvc",),
    "PersistentVolume": ("pv",),
    "StorageClass": ("sc",),
}


def _words() -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in OF_NAME.values():
        for word in _spellings(kind.name, kind.path):
            found.setdefault(word, kind.name)  # nodes are Nodes, although NodeMetrics have this plural, too
    # Most Jobs that this scheduler places are Volcano's; the others are `job.batch`.
    return found | dict.fromkeys(("job", "jobs", "job.batch.volcano.sh", "vcjob", "vcjobs", "vj"), VOLCANO_JOB.name)


def _spellings(kind: str, path: ApiPath) -> Iterator[str]:
    group = path.group_version.rpartition("/")[0]
    for word in (kind.lower(), path.plural, *_SHORT.get(kind, ())):
        yield word
        if group:
            yield f"{word}.{group}"


WORDS: Final[Mapping[str, str]] = _words()
"""How a kind may be written → its name."""
WORKLOADS: Final[Mapping[str, str]] = {
    **WORDS,
    **dict.fromkeys(_spellings("Deployment", ApiPath("apps/v1", "deployments")), "Deployment"),
    **dict.fromkeys(_spellings("CronJob", ApiPath("batch/v1", "cronjobs")), "CronJob"),
    **dict.fromkeys(("cronjob.batch", "cronjobs.batch", "cj.batch"), "CronJob.batch"),
    **dict.fromkeys(("cronjob.batch.volcano.sh", "cronjobs.batch.volcano.sh", "cronvcjob", "cronvj"), "CronJob"),
}
"""The same, with Deployments and CronJobs: a capture has none, but what they create. `CronJob` is Volcano's or else
Kubernetes', `CronJob.batch` the latter alone."""


class TargetError(ValueError):
    """What is named is not there, or not clear; the text says what there is."""


def kind_of(word: str) -> str:
    """The kind that is meant.

    Raises:
        TargetError: there is no such kind in captures.
    """
    if word.lower() not in WORDS:
        known = ", ".join(sorted({name.lower() for name in OF_NAME}))
        raise TargetError(f"{word} is not a kind that the scheduler reads; known: {known}")
    return WORDS[word.lower()]


def found(items: Sequence[Stored], text: str) -> Stored:
    """The object that is meant by KIND/NAME or KIND/NAMESPACE/NAME.

    Raises:
        TargetError: there is none, or more than one namespace has one.
    """
    word, slash, name = text.partition("/")
    if not (slash and name):
        raise TargetError(f"{text!r} is not KIND/NAME or KIND/NAMESPACE/NAME, such as podgroup/team/train")
    kind = kind_of(word)
    of_kind = [item for item in items if item[0] == kind]
    matches = [item for item in of_kind if name in (metadata_of(item[1]).key, metadata_of(item[1]).name)]
    if not matches:
        raise TargetError(f"there is no {word} {name} in the cluster; it has {_listed(of_kind)}")
    if len(matches) > 1:
        raise TargetError(f"{word} {name} is in several namespaces: name one of {_listed(matches)}")
    return matches[0]


def with_dependents(items: Sequence[Stored], target: Stored) -> set[tuple[str, str]]:
    """(kind, namespace/name) of the object and of all that goes with it: what it owns, and the pods of a PodGroup. A
    PodGroup that has an owner goes with that owner, which would create it again."""
    owner = metadata_of(target[1]).controller if isinstance(target[1], PodGroup) else None
    roots = {metadata_of(target[1]).uid} | ({owner.uid} if owner is not None else set())
    gone = {_place(item): item for item in items if metadata_of(item[1]).uid in roots}
    gone[_place(target)] = target
    while True:
        uids = {metadata_of(obj).uid for _, obj in gone.values()}
        groups = {metadata_of(obj).key for _, obj in gone.values() if isinstance(obj, PodGroup)}
        more = {_place(item): item for item in items if _goes_with(item[1], uids, groups)}
        if more.keys() <= gone.keys():
            return set(gone)
        gone |= more


def without(items: Iterable[Stored], gone: set[tuple[str, str]]) -> list[Stored]:
    """The items that stay."""
    return [item for item in items if _place(item) not in gone]


def _goes_with(obj: ApiObject, uids: set[str], groups: set[str]) -> bool:
    meta = metadata_of(obj)
    if any(owner.uid in uids for owner in meta.owner_references):
        return True
    return isinstance(obj, Pod) and f"{meta.namespace}/{meta.annotations.get(GROUP_NAME, '')}" in groups


def _place(item: Stored) -> tuple[str, str]:
    return item[0], metadata_of(item[1]).key


def _listed(items: Sequence[Stored], most: int = 5) -> str:
    names = sorted(metadata_of(obj).key for _, obj in items)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return (", ".join(names[:most]) + more) or "none of that kind"
