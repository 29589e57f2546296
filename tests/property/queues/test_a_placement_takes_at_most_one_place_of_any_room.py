"""Whatever the tree of queues: with each pod that is placed, every queue has room for at most one less of its class.

So in a series a queue is asked again only once its room may be used up.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.queues.small_trees import LEAVES, queues
from tests.support.sessions import gang, node, open_session
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.plugins.capacity.plugin import Capacity
from volcano_py.plugins.drf.plugin import Drf
from volcano_py.plugins.proportion.plugin import Proportion
from volcano_py.state.task_class import TaskClass

AMOUNTS = st.sampled_from([{}, {}, {"cpu": "1"}, {"cpu": "2"}, {"cpu": "3"}, {"cpu": "5"}])


@pytest.mark.parametrize("hierarchy", [True, False])
@pytest.mark.parametrize("plugin", [Capacity, Proportion, Drf])
@given(queues=queues(AMOUNTS), turns=st.lists(st.sampled_from(LEAVES), max_size=10), running=st.integers(0, 3))
def test_no_queue_loses_two_places(
    plugin: type[Plugin], hierarchy: bool, queues: list[Any], turns: list[str], running: int
) -> None:
    jobs = [gang(f"{turn}-{number}", cpu="1", queue=turn) for number, turn in enumerate(turns)]
    there = gang("there", pods=running, running_on=["n1"] * running, cpu="1", queue="a1") if running else []
    session = open_session(
        node("n1", cpu="8"), *queues, *there, *jobs, tiers=[[(plugin, {"enableHierarchy": hierarchy})]]
    )
    ssn, at = session.ssn, session.ssn.nodes.rows["n1"]
    for job, rows in list(ssn.jobs_with_pending_tasks()):
        task_class = ssn.task_class(int(rows[0]))
        before = rooms(ssn, task_class)
        ssn.statement().allocate(job, task_class, rows, np.full(len(rows), at))
        after = rooms(ssn, task_class)
        assert all(after[name] >= before[name] - 1 for name in LEAVES)


def rooms(ssn: Session, task_class: TaskClass) -> dict[str, int]:
    """Leaf → how many more pods of the class it may take."""
    return {name: ssn.ask.bindable(ssn.queues[name], task_class).count for name in LEAVES}
