"""The builder that all plugin tests stand on."""

from __future__ import annotations

from tests.support.sessions import gang, node, open_session, queue
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.state.status import TaskStatus


class Oldest(Plugin):
    name = "oldest"

    def job_order(self, job: Job) -> Key:
        return job.created


def test_objects_become_jobs_tasks_and_nodes_of_a_session() -> None:
    opened = open_session(
        node("n1", cpu="4"),
        queue("q1", weight=3),
        gang("train", pods=3, queue="q1", cpu="1", running_on=["n1"]),
        tiers=[[(Oldest, {"enableJobOrder": False})]],
    )
    job = opened.job("train")
    assert (job.queue.weight, job.min_member, job.ready, job.pending_tasks) == (3, 3, 1, 2)
    assert opened.names(opened.running("train")) == ["train-0"]
    assert not opened.ssn.dispatch.calls("job_order"), "the switch was read"
    assert opened.plugin(Oldest).name == "oldest"


def test_what_is_placed_is_bound_when_it_is_committed_and_gone_when_it_is_discarded() -> None:
    opened = open_session(node("n1"), gang("train", pods=2, cpu="1"))
    opened.place("train", {"train-0": "n1"}).discard()
    assert opened.job("train").count(TaskStatus.PENDING) == 2
    opened.place("train", {"train-0": "n1", "train-1": "n1"}).commit()
    assert opened.binds == {"train-0": "n1", "train-1": "n1"}


def test_evictions_are_sent_when_they_are_committed() -> None:
    opened = open_session(node("n1"), gang("train", pods=2, cpu="1", running_on=["n1", "n1"]))
    opened.evict("train-1").commit()
    assert opened.evictions == ["train-1"]
