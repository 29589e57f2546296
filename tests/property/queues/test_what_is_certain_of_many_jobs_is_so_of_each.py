"""What plugins are certain of for many jobs at once is what they answer for each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sessions import gang, node, open_session, pod, pod_group, queue
from tests.unit.state.watched import with_meta
from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.framework.plugin import Plugin
from volcano_py.plugins.capacity.plugin import Capacity
from volcano_py.plugins.drf.plugin import Drf
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.proportion.plugin import Proportion


def way(path: str) -> dict[str, str]:
    """The place in the tree of drf."""
    return {HIERARCHY: path, HIERARCHY_WEIGHTS: "/".join("1" for _ in path.split("/"))}


# `a` has a queue below it, the parent of `lost` is missing, and the path of `odd` ends at no queue.
QUEUES = [
    with_meta(queue("a"), annotations=way("root/a")),
    with_meta(queue("a1", parent="a"), annotations=way("root/b/a1")),
    with_meta(queue("lost", parent="missing"), annotations=way("root/c/lost")),
    with_meta(queue("odd"), annotations=way("nowhere")),
]
PHASES = st.sampled_from(["Pending", "Running", "Succeeded", "Failed"])


@st.composite
def groups(draw: st.DrawFn, name: str) -> list[Any]:
    """A PodGroup, perhaps with a minimum of a role, with some of its pods."""
    minimum = draw(st.integers(0, 4))
    roles = {"worker": draw(st.integers(0, minimum))} if draw(st.booleans()) else {}
    group = pod_group(
        name, min_member=minimum, queue=draw(st.sampled_from(["a", "a1", "lost", "odd"])), min_task_member=roles
    )
    phases = enumerate(draw(st.lists(PHASES, max_size=4)))
    pods = [
        pod(
            f"{name}-{at}",
            group=name,
            cpu="1",
            phase=phase,
            on="" if phase == "Pending" else "n1",
            role=draw(st.sampled_from(["", "worker"])),
        )
        for at, phase in phases
    ]
    return [group, *pods]


@pytest.mark.parametrize("plugin", [Capacity, Proportion, Drf])
@given(data=st.data())
def test_valid_and_ready_jobs_are(plugin: type[Plugin], data: st.DataObject) -> None:
    names = [f"g{number}" for number in range(4)]
    objects = [data.draw(groups(name)) for name in names]
    tiers: list[list[Any]] = [[Gang, (plugin, {"enableHierarchy": True})]]
    session = open_session(node("n1", cpu="64"), *QUEUES, *objects, tiers=tiers)
    ask, jobs = session.ssn.ask, [session.job(name) for name in names]
    rows = np.array([job.row for job in jobs])
    for job, is_valid, is_ready in zip(jobs, ask.certainly_valid(rows), ask.certainly_ready(rows), strict=True):
        assert not is_valid or ask.job_valid(job) is None
        assert not is_ready or ask.job_ready(job)


def test_of_plain_gangs_all_is_known() -> None:
    members = [gang("whole", pods=2, min_member=2, cpu="1"), gang("part", pods=1, min_member=2, cpu="1")]
    session = open_session(node("n1", cpu="64"), *members, tiers=[[Gang]])
    rows = np.array([session.job(name).row for name in ("whole", "part")])
    assert session.ssn.ask.certainly_valid(rows).tolist() == [True, False]
    assert session.ssn.ask.certainly_ready(rows).tolist() == [False, False]


def test_nothing_is_certain_of_a_plugin_that_does_not_say() -> None:
    class Picky(Plugin):
        name = "picky"

        def job_ready(self, job: Any) -> bool:
            return False

    running = gang("g", pods=1, min_member=1, cpu="1", running_on=["n1"])
    session = open_session(node("n1", cpu="64"), running, tiers=[[Gang, Picky]])
    rows = np.array([session.job("g").row])
    assert session.ssn.ask.certainly_valid(rows).tolist() == [True]
    assert session.ssn.ask.certainly_ready(rows).tolist() == [False]
