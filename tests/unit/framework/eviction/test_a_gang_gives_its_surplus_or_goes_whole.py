"""What jobs give to preempt and reclaim: the pods beyond their minimums one by one, or everything."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import NOW, Opened, gang, node, open_session, pod, pod_group
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.gangs import Gangs
from volcano_py.framework.eviction.units import UnitRules
from volcano_py.plugins.gang import Gang
from volcano_py.state.status import TaskStatus


def opened_with(*objects: Any) -> Opened:
    return open_session(node("n1", cpu="64"), *objects, gang("urgent", cpu="1"), tiers=[[Gang]])


def gangs(session: Opened, **rules: Any) -> Gangs:
    return Candidates(session.ssn, UnitRules(**rules)).gangs


def surplus(session: Opened, job: str, **rules: Any) -> int:
    return int(gangs(session, **rules).surplus()[session.job(job).row])


def goes_whole(session: Opened, job: str, **rules: Any) -> bool:
    return bool(gangs(session, **rules).may_go_whole()[session.job(job).row])


@pytest.mark.parametrize(
    ("running", "min_member", "spare", "whole"),
    [(4, 2, 2, True), (3, 3, 0, True), (1, 1, 0, True), (2, 0, 2, False), (2, 3, 0, True)],
    ids=["beyond", "at the minimum", "single pod", "no minimum", "already below"],
)
def test_what_is_beyond_the_minimum_goes_alone_and_the_rest_whole(
    running: int, min_member: int, spare: int, whole: bool
) -> None:
    session = opened_with(gang("train", pods=running, min_member=min_member, cpu="1", running_on=["n1"] * running))
    assert surplus(session, "train") == spare
    assert goes_whole(session, "train") == whole


def test_every_job_is_counted_by_itself() -> None:
    session = opened_with(
        gang("job-one", pods=3, min_member=2, cpu="1", running_on=["n1"] * 3),
        gang("job-two", pods=3, min_member=1, cpu="1", running_on=["n1"] * 3),
    )
    assert (surplus(session, "job-one"), surplus(session, "job-two")) == (1, 2)


def test_what_was_evicted_before_counts() -> None:
    session = opened_with(gang("job-train", pods=4, min_member=2, cpu="1", running_on=["n1"] * 4))
    session.evict("job-train-3")
    assert surplus(session, "job-train") == 1


def roles(minimums: dict[str, int], min_member: int, *pods: str) -> list[Any]:
    return [
        pod_group("train", min_member=min_member, min_task_member=minimums, phase="Running"),
        *(pod(f"train-{role}-{at}", group="train", role=role, cpu="1", on="n1") for at, role in enumerate(pods)),
    ]


def test_a_role_keeps_its_minimum_though_the_job_has_more_than_its_own() -> None:
    session = opened_with(*roles({"master": 1, "worker": 2}, 3, "master", *["worker"] * 4))
    found = gangs(session)
    assert found.surplus()[session.job("train").row] == 2
    assert not found.can_spare(int(session.rows("train-master-0")[0]))
    assert found.can_spare(int(session.rows("train-worker-1")[0]))


def test_a_role_that_no_pod_has_protects_nothing() -> None:
    session = opened_with(*roles({"ghost": 1}, 2, "worker", "worker", "worker"))
    assert gangs(session).can_spare(int(session.rows("train-worker-2")[0]))


def test_the_least_important_the_youngest_and_the_last_by_number_go_first() -> None:
    session = opened_with(
        pod_group("train", min_member=1, phase="Running"),
        pod("train-old-0", group="train", cpu="1", on="n1", priority=1, age=100),
        pod("train-young-0", group="train", cpu="1", on="n1", priority=1, age=1),
        pod("train-young-1", group="train", cpu="1", on="n1", priority=1, age=1),
        pod("train-precious-0", group="train", cpu="1", on="n1", priority=9, age=1),
    )
    unit = gangs(session).whole(session.job("train"))
    assert session.names(unit.rows) == ["train-young-1", "train-young-0", "train-old-0", "train-precious-0"]
    assert unit.core.tolist() == session.ssn.task_class(int(session.rows("train-precious-0")[0])).request.tolist()


def test_a_job_of_which_a_pod_is_spared_or_being_bound_does_not_go_whole() -> None:
    session = opened_with(
        pod_group("spared", min_member=2, phase="Running"),
        pod("spared-0", group="spared", cpu="1", on="n1"),
        pod("spared-1", group="spared", cpu="1", on="n1", annotations={"volcano.sh/preemptable": "false"}),
        gang("coming", pods=2, cpu="1", running_on=["n1", "n1"]),
    )
    assert not goes_whole(session, "spared")
    row = session.rows("coming-0")
    session.ssn.ledger.relabel(row, TaskStatus.BINDING)
    assert not goes_whole(session, "coming")


def test_pods_that_are_leaving_already_do_not_keep_the_rest() -> None:
    session = opened_with(gang("job-train", pods=3, cpu="1", running_on=["n1"] * 3))
    session.evict("job-train-2")
    assert goes_whole(session, "job-train")
    assert len(gangs(session).whole(session.job("job-train")).rows) == 2


def test_the_configuration_may_leave_gangs_whole_or_tear_them() -> None:
    session = opened_with(gang("train", pods=3, cpu="1", running_on=["n1"] * 3))
    assert not goes_whole(session, "train", whole=False)
    assert (surplus(session, "train", minimums=False), goes_whole(session, "train", minimums=False)) == (3, False)


def test_a_gang_that_has_not_run_long_enough_is_looked_at_again_then() -> None:
    session = opened_with(gang("train", pods=2, cpu="1", running_on=["n1"] * 2))
    now = NOW.timestamp()
    rows = session.rows("train-0", "train-1")
    session.ssn.snapshot.ledger.tasks.change(rows).scheduled_at[rows] = [now - 500, now - 240]
    assert goes_whole(session, "train", min_runtime=240.0)
    assert not goes_whole(session, "train", min_runtime=600.0)
    assert session.ssn.wakeups.next_recheck == now + 360
