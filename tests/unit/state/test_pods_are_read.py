"""What is read of a pod."""

from __future__ import annotations

import pytest

from tests.support.sessions import pod
from tests.unit.state.watched import Watched
from volcano_py.state.pod_readings import name_suffix, task_info


@pytest.mark.parametrize(
    ("priority", "annotation", "expected"),
    [
        (None, None, 1),
        (0, None, 0),
        (7, None, 7),
        (7, "12", 12),
        (7, "-3", -3),
        (7, "soon", 7),
        (7, "1e3", 7),
        (7, "99999999999", 7),
    ],
)
def test_the_priority_of_a_task(priority: int | None, annotation: str | None, expected: int) -> None:
    marks = {} if annotation is None else {"volcano.sh/task-priority": annotation}
    assert task_info(pod("a", priority=priority, annotations=marks), ours=True).priority == expected


@pytest.mark.parametrize(
    ("name", "number"),
    [("job-task-12", 12), ("train-3", 3), ("web-0", 0), ("-3", 0), ("a-b-c", 0), ("plain", 0), ("job-task-007", 7)],
)
def test_the_number_of_a_pod_in_its_gang(name: str, number: int) -> None:
    assert name_suffix(name) == number


@pytest.mark.parametrize(
    ("marks", "labels", "preemptable"),
    [
        ({}, {}, True),
        ({"volcano.sh/preemptable": "false"}, {}, False),
        ({}, {"volcano.sh/preemptable": "0"}, False),
        ({"volcano.sh/preemptable": "true"}, {"volcano.sh/preemptable": "false"}, True),
        ({"volcano.sh/preemptable": "perhaps"}, {}, False),
    ],
)
def test_pods_are_preemptable_unless_they_say_no(
    marks: dict[str, str], labels: dict[str, str], preemptable: bool
) -> None:
    watched = Watched(pod("a", annotations=marks, labels=labels))
    info = watched.snapshot().tasks[0]
    assert info is not None
    assert info.preemptable is preemptable
