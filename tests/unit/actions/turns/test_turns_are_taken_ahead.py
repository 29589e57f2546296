"""Many alike jobs of a single pod: once enough of them are placed, the order of the others is found all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest

from tests.support.sessions import Opened, gang, node, queue
from tests.unit.actions.acting import act
from volcano_py.framework.ordering.turns_ahead import Front, TurnsAhead
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.votes import Room
from volcano_py.plugins.capacity.plugin import Capacity
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.proportion.plugin import Proportion
from volcano_py.state.infos import QueueInfo
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

LEAVES: Final = ("a1", "a2", "b1", "b2")
QUEUES: Final = [queue("a"), queue("b"), *[queue(name, parent=name[0]) for name in LEAVES]]

NODE: Final = node("n1", cpu="999", pods="999")


def waiting(count: int) -> list[Any]:
    return [gang(f"single-{number:03d}", cpu="1", queue=LEAVES[number % 4]) for number in range(count)]


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
    opened = allocated(counted, NODE, QUEUES, *waiting(128), hierarchy=hierarchy)
    assert len(opened.binds) == 128
    assert 0 < counted.questions < 64  # type: ignore[attr-defined]  # see `counting`


def test_turns_end_where_no_node_has_room() -> None:
    opened = allocated(Capacity, node("n1", cpu="60"), QUEUES, *waiting(128))
    assert len(opened.binds) == 60
    assert len(opened.ssn.findings.fit_errors) == 68


def test_turns_go_on_behind_a_queue_that_is_at_its_ceiling() -> None:
    bounded = [*QUEUES[:2], queue("a1", parent="a", capability={"cpu": "3"}), *QUEUES[3:]]
    opened = allocated(Capacity, NODE, bounded, *waiting(128))
    assert len(opened.binds) == 3 + 96
    assert len(opened.ssn.findings.notes) == 29


def test_turns_go_on_behind_a_job_of_another_kind() -> None:
    other = gang("single-060-other", pods=2, cpu="1", queue="b1")
    opened = allocated(Capacity, NODE, QUEUES, *waiting(128), other)
    assert len(opened.binds) == 130


def test_turns_are_ordered_less_often_where_it_is_of_little_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second job is of another kind, so that few turns are certain."""
    looks: list[TaskClass] = []
    of = TurnsAhead.of

    def counting(ahead: TurnsAhead, task_class: TaskClass, fronts: Sequence[Front]) -> Rows:
        looks.append(task_class)
        return of(ahead, task_class, fronts)

    monkeypatch.setattr(TurnsAhead, "of", counting)
    jobs = [gang(f"single-{number:03d}", cpu="112"[number % 3], queue=LEAVES[number % 2]) for number in range(600)]
    opened = allocated(Capacity, NODE, QUEUES, *jobs)
    assert len(opened.binds) == 600
    assert 1 < len(looks) < 8
