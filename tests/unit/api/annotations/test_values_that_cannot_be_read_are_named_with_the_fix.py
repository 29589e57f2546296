"""Each annotation and label whose value has a form: what can be read, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from volcano_py.api.annotations import known
from volcano_py.api.annotations.known import unreadable_of_pod, unreadable_of_pod_group
from volcano_py.api.annotations.reading import Unreadable
from volcano_py.api.objects import ObjectMeta

DURATION = "write a duration, such as 5m; until then it counts as absent"
TIME = "write a duration above 0, such as 45m; until then it counts as absent"
PODS = "write a number of pods or a percentage, such as 2 or 25%; until then it counts as absent"
NUMBER = "write a whole number, such as 100; until then it counts as absent"
TRUTH = "write true or false; until then it counts as false"
ZONE = "write * for all zones; a single one cannot be chosen; until then the pod uses no revocable nodes"
NUMA = "write one of none, best-effort, restricted, single-numa-node; until then it counts as absent"
OF_PODS = [
    ("volcano.sh/task-priority", ["0", "-7", "100"], ["1e999", "abc", "", "1.5", "٣", "12345678901"], NUMBER),
    ("volcano.sh/preemptable", ["true", "false", "T", "0"], ["maybe", "yes", "", "TrUe"], TRUTH),
    ("volcano.sh/cooldown-time", ["5m", "0s", "0"], ["soon", "5", "-5m", ""], DURATION),
    ("volcano.sh/revocable-zone", ["*", ""], ["rz1", "**"], ZONE),
    ("volcano.sh/numa-topology-policy", ["none", "best-effort", "restricted", ""], ["strict"], NUMA),
]
OF_POD_GROUPS = [
    ("volcano.sh/preemptable", ["true", "false"], ["maybe"], TRUTH),
    ("volcano.sh/running-estimate", ["45m"], ["an hour", "0s", "-1h", "99999999h"], TIME),
    ("volcano.sh/sla-waiting-time", ["1h30m"], ["soon", "0"], TIME),
    ("sla-waiting-time", ["1h30m"], ["soon"], TIME),
    ("volcano.sh/jdb-min-available", ["2", "25%", " 3 "], ["half", "-1", "2.5", "1000000000", "%", ""], PODS),
    ("volcano.sh/jdb-max-unavailable", ["0", "100%"], ["a few", "٣"], PODS),
]


CASES = [pytest.param(unreadable_of_pod, *each, id=f"pod: {each[0]}") for each in OF_PODS]
CASES += [pytest.param(unreadable_of_pod_group, *each, id=f"PodGroup: {each[0]}") for each in OF_POD_GROUPS]


@pytest.mark.parametrize(("unreadable", "key", "good", "bad", "advice"), CASES)
def test_each_value_is_read_or_named(
    unreadable: Callable[[ObjectMeta], tuple[Unreadable, ...]], key: str, good: list[str], bad: list[str], advice: str
) -> None:
    for value in good:
        assert unreadable(ObjectMeta(annotations={key: value})) == ()
    for value in bad:
        (found,) = unreadable(ObjectMeta(annotations={key: value}))
        assert found.message == f"annotation {key} is {value!r}: {advice}"


def test_all_that_is_wrong_with_one_object_is_found() -> None:
    metadata = ObjectMeta(annotations={"volcano.sh/task-priority": "high", "volcano.sh/preemptable": "maybe"})
    assert [each.field for each in unreadable_of_pod(metadata)] == [
        "annotation volcano.sh/preemptable",
        "annotation volcano.sh/task-priority",
    ]


def test_what_means_nothing_on_the_object_is_not_reported() -> None:
    assert unreadable_of_pod(ObjectMeta(annotations={"volcano.sh/jdb-min-available": "half", "note": "1e999"})) == ()
    assert unreadable_of_pod_group(ObjectMeta(annotations={"volcano.sh/task-priority": "1e999"})) == ()


def test_the_place_that_counts_is_the_one_that_is_named() -> None:
    key = "volcano.sh/preemptable"
    (label,) = unreadable_of_pod(ObjectMeta(labels={key: "maybe"}))
    assert label.field == f"label {key}"
    assert unreadable_of_pod(ObjectMeta(annotations={key: "true"}, labels={key: "maybe"})) == ()
    key = "volcano.sh/cooldown-time"
    assert unreadable_of_pod(ObjectMeta(annotations={key: "soon"}, labels={key: "5m"})) == ()
    assert unreadable_of_pod(ObjectMeta(annotations={key: "5m"}, labels={key: "soon"})) != ()


def test_a_long_value_is_cut_and_the_fix_stays() -> None:
    (found,) = unreadable_of_pod(ObjectMeta(annotations={"volcano.sh/task-priority": "\x00" * 200_000}))
    assert len(found.message) < 500
    assert found.message.endswith(NUMBER)


@pytest.mark.parametrize(("text", "share"), [("2", 2), ("25%", 3), ("0%", 0), ("200%", 20)])
def test_percentages_of_pods_are_rounded_up(text: str, share: int) -> None:
    amount = known.JDB_MIN_AVAILABLE.value({"volcano.sh/jdb-min-available": text})
    assert amount is not None
    assert amount.of(10) == share


def test_what_cannot_be_read_counts_as_absent_or_as_false() -> None:
    assert known.TASK_PRIORITY.value({"volcano.sh/task-priority": "1e999"}) is None
    assert known.PREEMPTABLE.value({"volcano.sh/preemptable": "maybe"}) is False
    assert known.PREEMPTABLE.value({}) is None
