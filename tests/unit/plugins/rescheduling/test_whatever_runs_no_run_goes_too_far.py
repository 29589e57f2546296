"""Properties of a run, whatever runs: the room of nodes with a low load holds, gangs keep their minimums, and the
session is as before, until shuffle evicts."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sessions import gang, node, open_session
from tests.unit.plugins.rescheduling.test_loaded_nodes_lose_pods import load, owned
from volcano_py.api.objects import ApiObject
from volcano_py.plugins.predicates.plugin import Predicates
from volcano_py.plugins.rescheduling import Rescheduling
from volcano_py.state.nodes.loads import Load
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.axis import CPU, MEMORY

CPUS: Final = 8
MOST: Final = 4
_NODES: Final = ("a", "b", "c", "d")


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, Load], list[ApiObject], dict[str, int]]:
    """Loads, jobs, and the thresholds of CPU."""
    loads = {name: load(draw(st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.6, 0.75, 0.9, 1.2]))) for name in _NODES}
    objects: list[ApiObject] = []
    free = dict.fromkeys(_NODES, CPUS)
    for number in range(draw(st.integers(1, 8))):
        cpus = draw(st.integers(1, 3))
        places = [name for name in draw(st.lists(st.sampled_from(_NODES), max_size=4)) if (free[name] >= cpus)]
        fitting = []
        for name in places:
            if free[name] >= cpus:
                free[name] -= cpus
                fitting.append(name)
        waiting = draw(st.integers(0, 1))
        if fitting:
            minimum = draw(st.integers(1, len(fitting)))
            fields: dict[str, Any] = {"cpu": str(cpus), "memory": "1Gi", "min_member": minimum}
            objects += owned(gang(f"job{number}", pods=len(fitting) + waiting, running_on=fitting, **fields))
    low = draw(st.integers(5, 60))
    return loads, objects, {"low": low, "target": draw(st.integers(low, low + 20))}


@given(clusters())
def test_room_minimums_and_the_limit_of_a_run_hold(
    drawn: tuple[dict[str, Load], list[ApiObject], dict[str, int]],
) -> None:
    loads, objects, percent = drawn
    params = {"thresholds": {"cpu": percent["low"]}, "targetThresholds": {"cpu": percent["target"]}}
    arguments = {"maxVictims": MOST, "strategies": [{"name": "lowNodeUtilization", "params": params}]}
    opened = open_session(
        *(node(name, cpu=str(CPUS), memory="64Gi") for name in _NODES),
        *objects,
        tiers=[[Predicates, (Rescheduling, {"arguments": arguments})]],
        prepare=lambda state: state.measured(loads),
    )
    ssn, tasks, jobs = opened.ssn, opened.ssn.ledger.tasks, opened.ssn.ledger.jobs
    before: tuple[Any, ...] = tasks.status.copy(), tasks.node.copy(), ssn.ledger.nodes.used.copy(), jobs.counts.copy()
    running = np.flatnonzero((tasks.status == TaskStatus.RUNNING) & (tasks.job >= 0))

    victims = list(opened.plugin(Rescheduling).victim_tasks(running))

    after: tuple[Any, ...] = tasks.status, tasks.node, ssn.ledger.nodes.used, jobs.counts
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    assert ssn.ledger.drift() == 0
    assert not ssn.findings.tentative
    assert len(victims) <= MOST
    use = {name: (each.cpu or 0.0) * 100 for name, each in loads.items()}
    low = {name for name, percents in use.items() if percents < percent["low"]}
    room = sum(max(percent["target"] - use[name], 0) * CPUS * 10 for name in low)
    requests = ssn.ledger.classes.request[tasks.task_class[victims]] if victims else np.zeros((0, 2), dtype=np.int64)
    assert requests[:, CPU].sum() <= room + 1e-6
    assert requests[:, MEMORY].sum() <= 64 * 2**30 * len(low)
    for row in victims:
        name = ssn.snapshot.nodes[int(tasks.node[row])].name
        assert name not in low
        assert use[name] > percent["target"]
    for job, lost in Counter(tasks.job[victims].tolist()).items():
        running_pods, all_pods = int(jobs.counts[job, TaskStatus.RUNNING]), int(jobs.counts[job].sum())
        assert running_pods - lost >= jobs.min_member[job] or (all_pods == 1 and lost == 1)
