"""Many alike jobs of a single pod: once enough of them are placed, the order of the others is found all at once."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.support.sessions import Opened, gang, node, queue
from tests.unit.actions.acting import act
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.votes import Room
from volcano_py.plugins.capacity.plugin import Capacity
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.proportion.plugin import Proportion
from volcano_py.state.infos import QueueInfo
from volcano_py.state.task_class import TaskClass

LEAVES: Final = ("a1", "a2", "b1", "b2")
QUEUES: Final = [queue("a"), queue("b"), *[queue(name, parent=name[0]) for name in LEAVES]]


def waiting(count: int) -> list[Any]:
    return [gang(f"single-{number:02d}", cpu="1", queue=LEAVES[number % 4]) for number in range(count)]


def counting(plugin: type[Plugin]) -> type[Plugin]:
    """The plugin, which counts the questions for room."""

    class Counting(plugin):  # type: ignore[misc,valid-type]  # a class that is a parameter
        questions = 0

        def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
            type(self).questions += 1
            room: Room = super().allocatable(queue, task_class)
            return room

    return Counting


def allocated(plugin: type[Plugin], *objects: Any, hierarchy: bool = True) -> Opened:
    return act(*objects, tiers=[[Gang, (plugin, {"enableHierarchy": hierarchy})]])


@pytest.mark.parametrize("hierarchy", [True, False])
@pytest.mark.parametrize("plugin", [Capacity, Proportion])
def test_the_plugin_is_asked_for_few_of_the_turns(plugin: type[Plugin], hierarchy: bool) -> None:
    counted = counting(plugin)
    opened = allocated(counted, node("n1", cpu="99"), QUEUES, *waiting(64), hierarchy=hierarchy)
    assert len(opened.binds) == 64
    assert 0 < counted.questions < 16  # type: ignore[attr-defined]  # see `counting`


def test_turns_end_where_no_node_has_room() -> None:
    opened = allocated(Capacity, node("n1", cpu="30"), QUEUES, *waiting(64))
    assert len(opened.binds) == 30
    assert len(opened.ssn.findings.fit_errors) == 34


def test_turns_go_on_behind_a_queue_that_is_at_its_ceiling() -> None:
    bounded = [*QUEUES[:2], queue("a1", parent="a", capability={"cpu": "3"}), *QUEUES[3:]]
    opened = allocated(Capacity, node("n1", cpu="99"), bounded, *waiting(64))
    assert len(opened.binds) == 3 + 48
    assert len(opened.ssn.findings.notes) == 13


def test_turns_go_on_behind_a_job_of_another_kind() -> None:
    other = gang("single-30-other", pods=2, cpu="1", queue="b1")
    opened = allocated(Capacity, node("n1", cpu="99"), QUEUES, *waiting(64), other)
    assert len(opened.binds) == 66
