"""gang as protector: what preempt and reclaim may take."""

from __future__ import annotations

import pytest

from tests.support.policies import Ruthless
from tests.support.sessions import gang, node, open_session, pod, pod_group
from volcano_py.plugins.gang import Gang

POINTS = ("preemptable", "reclaimable")


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(
    ("running", "min_member", "surplus"),
    [(4, 2, 2), (3, 3, 0), (1, 1, 0), (2, 0, 2), (2, 3, 0)],
    ids=["beyond", "at the minimum", "single pod", "no minimum", "already below"],
)
def test_only_what_is_beyond_the_minimum_may_go(point: str, running: int, min_member: int, surplus: int) -> None:
    session = open_session(
        node("n1", cpu="64"),
        gang("train", pods=running, min_member=min_member, cpu="1", running_on=["n1"] * running),
        gang("urgent", cpu="1"),
        tiers=[[Gang]],
    )
    assert len(session.victims(point, "urgent-0", session.running("train"))) == surplus


@pytest.mark.parametrize("point", POINTS)
def test_the_least_important_and_youngest_go(point: str) -> None:
    session = open_session(
        node("n1", cpu="64"),
        pod_group("train", min_member=2, phase="Running"),
        pod("train-old", group="train", cpu="1", on="n1", priority=1, age=100),
        pod("train-young", group="train", cpu="1", on="n1", priority=1, age=1),
        pod("train-precious", group="train", cpu="1", on="n1", priority=9, age=1),
        gang("urgent", cpu="1"),
        tiers=[[Gang]],
    )
    assert session.victims(point, "urgent-0", session.running("train")) == ["train-young"]


def test_every_job_is_counted_by_itself() -> None:
    session = open_session(
        node("n1", cpu="64"),
        gang("job-one", pods=3, min_member=2, cpu="1", running_on=["n1"] * 3),
        gang("job-two", pods=3, min_member=1, cpu="1", running_on=["n1"] * 3),
        gang("urgent", cpu="1"),
        tiers=[[Gang]],
    )
    assert session.victims("preemptable", "urgent-0", session.running("job-one", "job-two")) == [
        "job-one-2",
        "job-two-1",
        "job-two-2",
    ]


def test_what_was_evicted_before_counts() -> None:
    session = open_session(
        node("n1", cpu="64"),
        gang("job-train", pods=4, min_member=2, cpu="1", running_on=["n1"] * 4),
        gang("urgent", cpu="1"),
        tiers=[[Gang]],
    )
    session.evict("job-train-3")
    assert session.victims("preemptable", "urgent-0", session.running("job-train")) == ["job-train-2"]


def test_a_role_keeps_its_minimum_even_when_its_pods_would_go_first() -> None:
    session = open_session(
        node("n1", cpu="64"),
        pod_group("train", min_member=3, min_task_member={"master": 1, "worker": 2}, phase="Running"),
        pod("train-master-0", group="train", role="master", cpu="1", on="n1", priority=1),
        *(
            pod(f"train-worker-{index}", group="train", role="worker", cpu="1", on="n1", priority=5)
            for index in range(4)
        ),
        gang("urgent", cpu="1"),
        tiers=[[Gang]],
    )
    victims = session.victims("preemptable", "urgent-0", session.running("train"))
    assert victims == ["train-worker-2", "train-worker-3"]


def test_a_role_that_no_pod_has_protects_no_pod() -> None:
    session = open_session(
        node("n1", cpu="64"),
        pod_group("train", min_member=2, min_task_member={"ghost": 1}, phase="Running"),
        *(pod(f"train-worker-{index}", group="train", role="worker", cpu="1", on="n1") for index in range(3)),
        gang("urgent", cpu="1"),
        tiers=[[Gang]],
    )
    assert session.victims("preemptable", "urgent-0", session.running("train")) == ["train-worker-2"]


@pytest.mark.parametrize("point", POINTS)
def test_no_other_tier_can_break_a_gang(point: str) -> None:
    session = open_session(
        node("n1", cpu="64"),
        gang("job-train", pods=3, min_member=2, cpu="1", running_on=["n1"] * 3),
        gang("urgent", cpu="1"),
        tiers=[[Ruthless], [Gang]],
    )
    assert session.victims(point, "urgent-0", session.running("job-train")) == ["job-train-2"]


def test_switched_off_it_protects_nothing() -> None:
    session = open_session(
        node("n1", cpu="64"),
        gang("train", pods=3, cpu="1", running_on=["n1"] * 3),
        gang("urgent", cpu="1"),
        tiers=[[(Gang, {"enablePreemptable": False}), Ruthless]],
    )
    assert len(session.victims("preemptable", "urgent-0", session.running("train"))) == 3
