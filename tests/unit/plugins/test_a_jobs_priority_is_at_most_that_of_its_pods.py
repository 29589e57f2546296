"""priority: the class of a PodGroup raises nothing that a quota on the class of pods keeps down."""

from __future__ import annotations

import pytest

from tests.support.sessions import Objects, Opened, gang, node, open_session, pod, pod_group, priority_class
from volcano_py.plugins.priority import Priority

CLASSES = (priority_class("high", 1000), priority_class("low", -5))


def opened(*objects: Objects) -> Opened:
    return open_session(node("n1", cpu="64"), *CLASSES, *objects, tiers=[[Priority]])


def priority_of(*members: Objects, group: str = "high") -> int:
    return opened(pod_group("job", priority_class=group), *members).job("job").priority


def test_pods_of_a_lower_class_lower_the_job() -> None:
    assert priority_of(pod("job-0", group="job", priority=0)) == 0


def test_one_pod_of_the_class_does_not_raise_the_others() -> None:
    assert priority_of(pod("job-0", group="job", priority=1000), pod("job-1", group="job", priority=10)) == 10


def test_pods_of_a_higher_class_do_not_raise_the_job() -> None:
    assert priority_of(pod("job-0", group="job", priority=1000), group="low") == -5


def test_without_pods_or_where_pods_are_admitted_without_a_priority_the_class_counts() -> None:
    assert priority_of() == 1000
    assert priority_of(pod("job-0", group="job")) == 1000


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_finished_neither_raises_nor_lowers(phase: str) -> None:
    """A quota counts it no more."""
    finished = pod("job-0", group="job", priority=5, on="n1", phase=phase)
    assert priority_of(finished, pod("job-1", group="job", priority=7)) == 7
    assert priority_of(finished) == 1000


def test_what_the_pods_annotation_says_does_not_count() -> None:
    """Anyone may set it: it orders the pods of a job, no more."""
    assert priority_of(pod("job-0", group="job", priority=0, annotations={"volcano.sh/task-priority": "1000"})) == 0


def test_no_pod_is_evicted_for_a_job_that_names_a_class_its_pods_do_not_have() -> None:
    session = opened(
        gang("victim", cpu="1", priority=0, running_on=["n1"]),
        gang("pretender", cpu="1", priority=0, priority_class="high"),
        gang("urgent", cpu="1", priority=1000, priority_class="high"),
    )
    running = session.running("victim")
    assert session.victims("preemptable", "pretender-0", running) == []
    assert session.victims("preemptable", "urgent-0", running) == ["victim-0"]


def test_nor_is_it_spared_for_the_class() -> None:
    session = opened(
        gang("pretender", cpu="1", priority=0, priority_class="high", running_on=["n1"]),
        gang("urgent", cpu="1", priority=1000, priority_class="high"),
    )
    assert session.victims("preemptable", "urgent-0", session.running("pretender")) == ["pretender-0"]


def test_nor_does_it_go_first() -> None:
    session = opened(
        gang("honest", cpu="1", priority=0, age=9), gang("pretender", cpu="1", priority=0, priority_class="high")
    )
    jobs = sorted(map(session.job, ("pretender", "honest")), key=session.ssn.ask.job_key)
    assert [job.info.ref.name for job in jobs] == ["honest", "pretender"]
