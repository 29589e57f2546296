"""priority: order of jobs and tasks, victims, starvation."""

from __future__ import annotations

import pytest

from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, pod_group, priority_class
from volcano_py.plugins.priority import Priority

CLASSES = (priority_class("high", 1000), priority_class("low", -5))


def opened(*objects: Objects) -> Opened:
    return open_session(node("n1", cpu="64"), *CLASSES, *objects, tiers=[[Priority]])


def test_jobs_of_higher_priority_class_go_first_and_no_class_is_zero() -> None:
    session = opened(
        gang("lowly", cpu="1", priority_class="low", age=9),
        gang("plain", cpu="1"),
        gang("mighty", cpu="1", priority_class="high"),
    )
    jobs = sorted(map(session.job, ("lowly", "plain", "mighty")), key=session.ssn.ask.job_key)
    assert [job.info.ref.name for job in jobs] == ["mighty", "plain", "lowly"]


def test_tasks_of_higher_priority_go_first_and_equal_ones_by_their_number() -> None:
    session = opened(
        pod_group("job"),
        pod("job-w-2", group="job", cpu="1", priority=5),
        pod("job-w-1", group="job", cpu="1", priority=5),
        pod("job-w-0", group="job", cpu="1"),  # no priority counts as 1
        pod("job-w-3", group="job", cpu="1", priority=7),
    )
    ordered = session.ssn.ask.ordered_tasks(session.ssn.tasks_of(session.job("job")))
    assert session.names(ordered) == ["job-w-3", "job-w-1", "job-w-2", "job-w-0"]


@pytest.mark.parametrize(
    ("preemptor", "victims"),
    [
        ("mighty-0", ["lowly-0", "plain-0"]),
        ("plain-1", ["lowly-0"]),
        ("lowly-1", []),
    ],
)
def test_jobs_of_strictly_lower_priority_are_victims(preemptor: str, victims: list[str]) -> None:
    session = opened(
        gang("lowly", pods=2, min_member=1, cpu="1", priority_class="low", running_on=["n1"]),
        gang("plain", pods=2, min_member=1, cpu="1", running_on=["n1"]),
        gang("also-plain", pods=1, cpu="1", running_on=["n1"]),
        gang("mighty", cpu="1", priority_class="high"),
    )
    candidates = session.running("lowly", "plain")
    assert session.victims("preemptable", preemptor, candidates) == victims


def test_equal_priority_never_preempts() -> None:
    session = opened(gang("one", cpu="1", running_on=["n1"]), gang("other", cpu="1"))
    assert session.victims("preemptable", "other-0", session.running("one")) == []


def test_inside_a_job_tasks_of_strictly_lower_priority_are_victims() -> None:
    session = opened(
        pod_group("job", phase="Running"),
        pod("helper", group="job", cpu="1", on="n1", priority=3),
        pod("equal", group="job", cpu="1", on="n1", priority=5),
        pod("leader", group="job", cpu="1", priority=5),
    )
    assert session.victims("preemptable", "leader", session.running("job")) == ["helper"]


def test_a_job_starves_until_every_task_has_a_place_or_is_promised_one() -> None:
    session = opened(gang("job", pods=3, cpu="1", running_on=["n1"]))
    job = session.job("job")
    assert session.ssn.ask.job_starving(job)
    session.place("job", {"job-1": "n1"})
    assert session.ssn.ask.job_starving(job)
    session.pipeline("job", {"job-2": "n1"})
    assert not session.ssn.ask.job_starving(job)
