"""A series: plugins hear of each placement at once; tables, the placer and the binder follow with `commit`."""

from __future__ import annotations

import numpy as np

from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.api.effects import Bind
from volcano_py.framework.binding.series import Series
from volcano_py.framework.job import Placement
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.state.status import TaskStatus

JOBS = ("a", "b", "c", "d", "e", "f")


class Heard(Plugin):
    name = "heard"

    def on_session_open(self, ssn: Session) -> None:
        self.jobs: list[str] = []

    def on_allocate(self, placement: Placement) -> None:
        self.jobs.append(placement.job.info.ref.name)


def in_series(count: int) -> tuple[Opened, Series, Heard]:
    """The first `count` jobs have places on n1 and n2 in turn."""
    opened = open_session(node("n1"), node("n2"), *(gang(name, cpu="1") for name in JOBS), tiers=[[Heard]])
    series = opened.ssn.statements.series()
    for number, name in enumerate(JOBS[:count]):
        task = opened.task(f"{name}-0")
        place = np.array([opened.node_row(f"n{1 + number % 2}")], dtype=np.intp)
        series.allocate(task.job, task.task_class, opened.rows(f"{name}-0"), place)
    (heard,) = opened.ssn.dispatch.plugins
    assert isinstance(heard, Heard)
    return opened, series, heard


def test_until_then_only_plugins_know() -> None:
    opened, series, heard = in_series(3)
    assert heard.jobs == ["a", "b", "c"]
    assert len(series) == opened.ssn.moves.count == 3
    assert not opened.effects
    assert not opened.ssn.ledger.nodes.used.any()


def test_all_are_bound_in_order() -> None:
    opened, series, _ = in_series(6)
    series.commit()
    bound = [(effect.pod.name, effect.node) for effect in opened.effects if isinstance(effect, Bind)]
    assert bound == [(f"{name}-0", f"n{1 + number % 2}") for number, name in enumerate(JOBS)]
    assert [opened.job(name).count(TaskStatus.BINDING) for name in JOBS] == [1] * 6
    assert opened.ssn.ledger.drift() == 0


def test_nothing_is_bound_twice() -> None:
    opened, series, _ = in_series(2)
    series.commit()
    series.commit()
    assert (len(series), len(opened.binds)) == (0, 2)


def test_the_placer_sees_less_room_then() -> None:
    opened, series, _ = in_series(4)
    task_class = opened.task("f-0").task_class
    assert opened.ssn.placer.room(task_class).sum() == 16
    series.commit()
    assert opened.ssn.placer.room(task_class).sum() == 12
