"""Whether `volcano-py up --once` is done; if not, what is still missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from volcano_py.api.reasons import Rank, Reason
from volcano_py.cli.live.overview import GroupRow, Overview, PodRow
from volcano_py.shipped import shipped

SAMPLE: Final = shipped("examples") / "sample"

# What the sample consists of (see its manifests), all in the namespace `default`.
GANG_THAT_FITS: Final = ("default/train", 4)
GANG_THAT_WAITS: Final = ("default/too-large", 3)
BARE_POD: Final = "default/hello"
DEPLOYMENT: Final = ("web", 3)


def sample_lacks(seen: Overview) -> list[str]:
    """What the sample still lacks: a gang, the pod and the Deployment run, the other gang waits whole and says why."""
    late = (late for group in seen.groups for late in _late_phase(group))
    return [*_running(seen), *_waiting(seen), *_unwritten(seen), *late]


def lacks(seen: Overview) -> list[str]:
    """What any workload still lacks to be at rest: every pod runs or has run, or waits with a reason."""
    unrest = [missing for group in seen.groups for missing in _unrest(group)]
    cleared = (pod.key for pod in seen.pods if _code(pod.why) == Reason.WAITING_FOR_RELEASE)
    return [
        *unrest,
        *_alone(seen),
        *_unwritten(seen),
        *(f"pod {key}: its place is still being cleared" for key in cleared),
    ]


def _running(seen: Overview) -> Iterator[str]:
    name, size = GANG_THAT_FITS
    yield from _all_run(f"the gang {name}", (pod for pod in seen.pods if pod.group == name), size)
    yield from _all_run(f"the pod {BARE_POD}", (pod for pod in seen.pods if pod.key == BARE_POD), 1)
    label, replicas = DEPLOYMENT
    pods = (pod for pod in seen.pods if pod.labels.get("app") == label)
    yield from _all_run(f"the Deployment default/{label}", pods, replicas)


def _all_run(what: str, pods: Iterable[PodRow], wanted: int) -> Iterator[str]:
    found = list(pods)
    running = sum(pod.phase == "Running" for pod in found)
    if running != wanted:
        why = next((f": {pod.why}" for pod in found if pod.why), "")
        yield f"{what}: {running} of {wanted} pods run{why}"


def _waiting(seen: Overview) -> Iterator[str]:
    name, size = GANG_THAT_WAITS
    group = next((group for group in seen.groups if group.key == name), None)
    if group is None or group.pods != size:
        yield f"the gang {name}: {group.pods if group else 0} of {size} pods exist"
    elif group.bound:
        yield f"the gang {name}: {group.bound} of its pods have a node, although not all of them fit"
    elif not _explains(group.why):
        yield f"the gang {name}: its PodGroup does not say why it waits{f' ({group.why})' if group.why else ''}"


def _unrest(group: GroupRow) -> Iterator[str]:
    starting = group.bound - group.running - group.finished
    if starting > 0:
        yield f"PodGroup {group.name}: {starting} of {group.pods} pods have a node and do not run yet"
    if group.bound < group.pods and _code(group.why) in ("", Reason.NOT_YET_EVALUATED):
        yield f"PodGroup {group.name}: {group.pods - group.bound} of {group.pods} pods wait, and nothing says why"
    yield from _late_phase(group)
    if 0 < group.bound < min(group.minimum, group.pods):
        yield f"PodGroup {group.name}: {group.bound} of {group.pods} pods have a node, minMember is {group.minimum}"


def _alone(seen: Overview) -> Iterator[str]:
    """Pods without a PodGroup have reasons, too."""
    for row in seen.alone:
        if _code(row.why) in ("", Reason.NOT_YET_EVALUATED):
            pods = f"{row.others + 1} pods" if row.others else "1 pod"
            yield f"{pods} without a PodGroup ({row.name}): nothing says why"


def _unwritten(seen: Overview) -> Iterator[str]:
    """PodGroups that are made for pods follow their bindings."""
    there = {group.key for group in seen.groups}
    named = {pod.group for pod in seen.pods if pod.node and pod.group}
    yield from (f"PodGroup {key}: its pods have a node, and it is not there yet" for key in sorted(named - there))


def _late_phase(group: GroupRow) -> Iterator[str]:
    """Phases follow the pods a moment later."""
    if group.running >= max(group.minimum, 1) and group.phase in ("", "Pending", "Inqueue"):
        phase = group.phase or "empty"
        yield f"PodGroup {group.name}: {group.running} of {group.pods} pods run, and its phase is {phase}"


def _explains(why: str) -> bool:
    """Whether the scheduler has looked at the whole gang and says what is in its way."""
    code = _code(why)
    return any(code == reason and Rank.NEVER_FITS <= reason.rank < Rank.NOT_EVALUATED for reason in Reason)


def _code(why: str) -> str:
    return why.partition(":")[0]
