"""What has happened to a workload: conditions and events, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from volcano_py.api.objects import Condition, Pod, PodGroup
from volcano_py.api.wording.summarize import plural, summarize
from volcano_py.capture.model import CapturedEvent
from volcano_py.explain.model import Entry
from volcano_py.explain.target import Target, as_captured, captured_group, job_of
from volcano_py.explain.world import World
from volcano_py.jobs.model import VolcanoJob

Story = Callable[[str], Iterable[Entry]]
"""What is known besides of a PodGroup, given as namespace/name: in the order of what happened."""


class _Happened(msgspec.Struct, frozen=True):
    """`count`: how often, 0 for a condition, which is there once."""

    at: datetime
    kind: str
    key: str
    what: str
    text: str = ""
    count: int = 0


def no_story(_group: str) -> Iterable[Entry]:
    """Nothing, where there is no record."""
    return ()


def history(
    world: World, target: Target, events: Sequence[CapturedEvent] = (), story: Story = no_story
) -> tuple[Entry, ...]:
    """Conditions of the Job, the PodGroup and its pods as the cluster has them, those of the events that are about
    them, and the story, oldest first. What several pods say alike is one entry. Conditions without a time are left
    out."""
    group, pods = captured_group(world, target), as_captured(world, target)
    job = job_of(world, target)
    found: list[_Happened] = []
    if group is not None:
        found += _conditions("PodGroup", group.metadata.key, group.status.conditions)
    if job is not None:
        found += _phases(job)
    for pod in pods:
        found += _conditions("Pod", pod.metadata.key, pod.status.conditions)
    uids = {("Pod", pod.metadata.key): "" for pod in target.pods}  # those that only the copy has
    uids |= {(kind, obj.metadata.key): obj.metadata.uid for kind, obj in _captured(group, job, pods)}
    found += [_reported(event) for event in events if _is_theirs(event, uids, group)]
    entries = sorted(_merged(found), key=lambda entry: (entry.at, entry.object, entry.text))
    return tuple(sorted((*entries, *story(target.group)), key=lambda entry: entry.at))


def moment(at: datetime) -> str:
    """RFC 3339, in whole seconds."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _captured(
    group: PodGroup | None, job: VolcanoJob | None, pods: Iterable[Pod]
) -> Iterator[tuple[str, PodGroup | VolcanoJob | Pod]]:
    """Kind in events, and object."""
    if group is not None:
        yield "PodGroup", group
    if job is not None:
        yield "Job", job
    yield from (("Pod", pod) for pod in pods)


def _is_theirs(event: CapturedEvent, uids: Mapping[tuple[str, str], str], group: PodGroup | None) -> bool:
    """Whether the event is about one of these objects, rather than an earlier one of the same name. Pods that came
    before in the same PodGroup count: their evictions say why the pods of today wait."""
    uid = uids.get((event.kind, f"{event.namespace}/{event.name}"))
    if uid is None:
        return False
    since = group.metadata.creation_timestamp if group is not None and event.kind == "Pod" else None
    return event.uid in ("", uid) or not uid or (since is not None and event.at >= since)


def _merged(found: Iterable[_Happened]) -> Iterator[Entry]:
    """One entry for what is said again, by the same object or by another pod; at the time of the last one."""
    alike: dict[tuple[str, str, str, str], list[_Happened]] = {}
    for each in found:
        key = "" if each.kind == "Pod" else each.key
        alike.setdefault((each.kind, key, each.what, each.text), []).append(each)
    for (kind, _, what, text), same in alike.items():
        names = sorted({each.key for each in same})
        first, last = min(each.at for each in same), max(each.at for each in same)
        count = sum(each.count for each in same)
        times = f" ({count} times)" if count > 1 else ""
        yield Entry(
            at=moment(last),
            object=f"{plural(kind, len(names))} {summarize(names)}",
            text=f"{what}{times}{f': {text}' if text else ''}",
            since=moment(first) if first < last else "",
        )


def _phases(job: VolcanoJob) -> Iterator[_Happened]:
    for condition in job.status.conditions:
        if condition.last_transition_time is not None:
            yield _Happened(condition.last_transition_time, "Job", job.metadata.key, f"phase {condition.status}")


def _conditions(kind: str, key: str, conditions: Iterable[Condition]) -> Iterator[_Happened]:
    for condition in conditions:
        if condition.last_transition_time is not None:
            reason = f" ({condition.reason})" if condition.reason else ""
            what = f"{condition.type}={condition.status}{reason}"
            yield _Happened(condition.last_transition_time, kind, key, what, condition.message if reason else "")


def _reported(event: CapturedEvent) -> _Happened:
    key = f"{event.namespace}/{event.name}"
    return _Happened(event.at, event.kind, key, f"event {event.reason}", event.message, event.count)
