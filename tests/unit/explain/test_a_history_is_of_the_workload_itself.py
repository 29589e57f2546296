"""The history of a workload: no events of others that had the same names, and what many pods say is said once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from tests.unit.explain.causes import gang, node, world_of
from volcano_py.capture.model import CapturedEvent
from volcano_py.cli.explaining.drawing import drawn
from volcano_py.cluster.manifests import EPOCH
from volcano_py.explain.model import Entry, WorkloadExplanation
from volcano_py.explain.of_workload import explain_workload

CREATED = EPOCH + timedelta(hours=12)
PODS = 3


def cluster() -> str:
    """A gang that waits: the PodGroup, created at noon, has the UID `group`, its pods `pod-0` and so on."""
    text = node() + gang(PODS, "64")
    text = text.replace("{name: train}", f"{{name: train, uid: group, creationTimestamp: '{CREATED.isoformat()}'}}")
    for number in range(PODS):
        text = text.replace(f"{{name: train-{number},", f"{{name: train-{number}, uid: pod-{number},")
    return text


def event(
    name: str, *, uid: str, at: datetime, kind: str = "Pod", text: str = "no room", count: int = 1
) -> CapturedEvent:
    return CapturedEvent(at, kind, "default", name, "FailedScheduling", text, count, uid)


def explained(events: Sequence[CapturedEvent], kind: str = "podgroup", name: str = "train") -> WorkloadExplanation:
    return explain_workload(world_of(cluster()), kind, f"default/{name}", events)


def texts(found: WorkloadExplanation) -> list[str]:
    return [f"{each.object}: {each.text}" for each in found.history if each.text.startswith("event ")]


@pytest.mark.parametrize("name", ["train-0", "train"])
def test_an_event_of_an_earlier_object_of_the_same_name_is_of_another_workload(name: str) -> None:
    kind, own = ("PodGroup", "group") if name == "train" else ("Pod", "pod-0")
    early = CREATED - timedelta(hours=1)
    found = explained(
        [
            event(name, kind=kind, uid="earlier", at=early, text="of another"),
            event(name, kind=kind, uid="", at=early, text="of no known UID"),
            event(name, kind=kind, uid=own, at=CREATED, text="its own"),
        ]
    )
    assert [text.rpartition(": ")[2] for text in texts(found)] == ["of no known UID", "its own"]


def test_an_earlier_pod_of_the_same_podgroup_counts() -> None:
    found = explained([event("train-0", uid="earlier", at=CREATED + timedelta(minutes=1), text="evicted")])
    assert texts(found) == ["Pod default/train-0: event FailedScheduling: evicted"]


def test_pods_that_say_the_same_are_one_entry() -> None:
    minutes = [timedelta(minutes=number) for number in range(PODS)]
    events = [event(f"train-{n}", uid=f"pod-{n}", at=CREATED + minutes[n], count=5) for n in range(PODS)]
    other = event("train-1", uid="pod-1", at=CREATED, text="another message")
    assert explained([*events, other]).history == (
        Entry("2026-01-01T12:00:00Z", "Pod default/train-1", "event FailedScheduling: another message"),
        Entry(
            "2026-01-01T12:02:00Z",
            "Pods default/train-0, default/train-1, default/train-2",
            "event FailedScheduling (15 times): no room",
            "2026-01-01T12:00:00Z",
        ),
    )


def test_conditions_of_pods_are_one_entry_too() -> None:
    condition = "{type: PodScheduled, status: 'False', reason: Unschedulable, message: m, lastTransitionTime: '%s'}"
    status = f"status: {{phase: Pending, conditions: [{condition % CREATED.isoformat()}]}}\n---"
    text = (node() + gang(PODS, "64")).replace("  \n---", f"{status}")
    [entry] = explain_workload(world_of(text), "podgroup", "default/train").history
    assert entry.object == "Pods default/train-0, default/train-1, default/train-2"
    assert (entry.text, entry.since) == ("PodScheduled=False (Unschedulable): m", "")


def test_the_newest_lines_are_printed_and_the_others_counted() -> None:
    events = [
        event("train-0", uid="pod-0", at=CREATED + timedelta(minutes=number), text=f"m{number}") for number in range(25)
    ]
    found = explained(events)
    lines = [*drawn(found)]
    printed = lines[lines.index("History") + 1 :]
    assert printed[0] == "  (5 earlier lines left out: --output json has all)"
    assert [line.rpartition(": ")[2] for line in printed[1:]] == [f"m{number}" for number in range(5, 25)]
    assert len(found.history) == 25


def test_the_first_of_several_is_printed_with_its_time() -> None:
    events = [event("train-0", uid="pod-0", at=CREATED + timedelta(minutes=number)) for number in (0, 7)]
    assert [*drawn(explained(events, "pod", "train-0"))][-2:] == [
        "  2026-01-01T12:07:00Z Pod default/train-0: event FailedScheduling (2 times): no room (first at",
        "    2026-01-01T12:00:00Z)",
    ]
