"""The order in which plugins that keep running sums see the candidates for eviction."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tests.support.sessions import gang, node, open_session, pod, pod_group
from volcano_py.framework.job import Task
from volcano_py.framework.plugin import Plugin
from volcano_py.state.table.table import Rows


class FirstTwo(Plugin):
    """Gives up the two candidates it sees first."""

    name = "first-two"

    def preemptable(self, preemptor: Task, candidates: Rows) -> NDArray[np.bool_]:
        return np.arange(len(candidates)) < 2


def test_low_priority_goes_before_youth_and_youth_before_place_in_the_gang() -> None:
    opened = open_session(
        node("n1"),
        pod_group("batch"),
        pod("precious", group="batch", cpu="1", on="n1", priority=10, age=1),
        pod("old-1", group="batch", cpu="1", on="n1", priority=5, age=100),
        pod("young-1", group="batch", cpu="1", on="n1", priority=5, age=10),
        pod("young-a-2", group="batch", cpu="1", on="n1", priority=5, age=10),
        gang("urgent", cpu="1"),
        tiers=[[FirstTwo]],
    )
    candidates = opened.running("batch")
    for order in (candidates, candidates[::-1], np.roll(candidates, 2)):
        victims = opened.ssn.ask.victims("preemptable", opened.task("urgent-0"), order)
        assert opened.names(victims) == ["young-a-2", "young-1"]
    assert opened.names(
        opened.ssn.ask.victims("preemptable", opened.task("urgent-0"), opened.rows("precious", "old-1"))
    ) == [
        "old-1",
        "precious",
    ]


def test_a_pod_without_a_job_is_never_a_victim() -> None:
    opened = open_session(
        node("n1"),
        pod("foreign", cpu="1", on="n1", scheduler="default-scheduler"),
        gang("batch", cpu="1", running_on=["n1"]),
        gang("urgent", cpu="1"),
        tiers=[[FirstTwo]],
    )
    victims = opened.ssn.ask.victims("preemptable", opened.task("urgent-0"), opened.rows("foreign", "batch-0"))
    assert opened.names(victims) == ["batch-0"]
