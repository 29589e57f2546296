"""Whatever the queues, and wherever tasks are placed: keys become what the plugin said that they would, and at least as
many tasks find room as it said."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.property.queues.small_trees import LEAVES, queues
from tests.support.sessions import gang, node, open_session
from volcano_py.framework.ordering.outlook import Level
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.plugins.capacity.plugin import Capacity
from volcano_py.plugins.proportion.plugin import Proportion

AMOUNTS = st.sampled_from(
    [
        {},
        {},
        {"cpu": "1"},
        {"cpu": "2"},
        {"cpu": "5"},
        {"cpu": "0"},
        {"pods": "1"},
        {"cpu": "0", "memory": "2Gi"},
        {"cpu": "4", "memory": "2Gi"},
    ]
)


@pytest.mark.parametrize("hierarchy", [True, False])
@pytest.mark.parametrize("plugin", [Capacity, Proportion])
@given(
    queues=queues(AMOUNTS, root=True),
    turns=st.lists(st.sampled_from(LEAVES), min_size=1, max_size=10),
    running=st.integers(0, 3),
    leaving=st.booleans(),
)
def test_it(
    plugin: type[Plugin], hierarchy: bool, queues: list[Any], turns: list[str], running: int, leaving: bool
) -> None:
    jobs = [gang(f"{turn}-{number}", cpu="1", queue=turn) for number, turn in enumerate(turns)]
    nodes_of_running = ["n1"] * running
    there = gang("there", pods=running, running_on=nodes_of_running, cpu="1", queue="a1", deleting=leaving)
    session = open_session(
        node("n1", cpu="12"),
        *queues,
        *(there if running else []),
        *jobs,
        tiers=[[(plugin, {"enableHierarchy": hierarchy})]],
    )
    ssn, at = session.ssn, session.ssn.nodes.rows["n1"]
    owner = ssn.dispatch.plugins[0]
    waiting = [(job, rows) for job, rows in ssn.jobs_with_pending_tasks()]
    task_class = ssn.task_class(int(waiting[0][1][0]))
    paths = ssn.ask.queue_paths() if hierarchy else {name: (name,) for name in ssn.queues}
    nodes = sorted({path[:depth] for path in paths.values() for depth in range(1, len(path) + 1)})
    placed: Counter[tuple[str, ...]] = Counter()
    outlook = owner.look_ahead(task_class)
    assert outlook is not None
    most = {path: outlook.most(path) for path in [(), *nodes]}
    of, counts = np.repeat(np.arange(len(nodes)), 11), np.tile(np.arange(11), len(nodes))
    said = np.array(outlook.keys(Level(nodes, of, counts, np.arange(len(of))))).T.reshape(len(nodes), 11, -1)
    for job, rows in waiting:
        path = paths[job.queue.name]
        way = [path[:depth] for depth in range(len(path) + 1)]
        if all(placed[each] < most[each] for each in way):
            assert not ssn.ask.overused(job.queue)
            assert ssn.ask.bindable(job.queue, task_class).count > 0
        ssn.statement().allocate(job, task_class, rows, np.full(len(rows), at))
        placed.update(way)
        for index, each in enumerate(nodes):
            assert tuple(said[index, placed[each]]) == key(ssn, owner, each, hierarchy=hierarchy)


def key(ssn: Session, owner: Plugin, path: tuple[str, ...], *, hierarchy: bool) -> tuple[Any, ...]:
    found = owner.branch_order(path) if hierarchy else owner.queue_order(ssn.queues[path[0]])
    return found if isinstance(found, tuple) else (found,)
