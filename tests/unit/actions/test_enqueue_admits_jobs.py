"""enqueue: which jobs are admitted, in which order, and that none blocks another."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import gang, node, pod_group, queue
from tests.unit.actions.acting import act, phase
from tests.unit.state.watched import with_spec
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.reasons import Reason
from volcano_py.framework.job import Job
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.votes import ABSTAIN, PERMIT, Ballot, reject
from volcano_py.plugins.overcommit import Overcommit
from volcano_py.state.infos import QueueInfo
from volcano_py.state.snapshot import Phase


class Door(Plugin):
    """Lets jobs in up to a number of millicores, and remembers who asked and who came in."""

    name = "door"
    limit = 4000

    def on_session_open(self, ssn: Any) -> None:
        self.asked: list[str] = []
        self.entered: list[str] = []
        self.taken = 0

    def job_enqueueable(self, job: Job) -> Ballot:
        self.asked.append(job.info.ref.name)
        assert job.min_resources is not None
        if self.taken + int(job.min_resources[0]) > self.limit:
            return reject(Reason.CLUSTER_OVERCOMMITTED, "full")
        return PERMIT

    def job_enqueued(self, job: Job) -> None:
        self.entered.append(job.info.ref.name)
        if job.min_resources is not None:
            self.taken += int(job.min_resources[0])


def asking(name: str, cpu: str, **options: Any) -> Any:
    return pod_group(name, min_resources={"cpu": cpu}, phase="Pending", **options)


def test_row_15_a_group_without_minimum_resources_always_enters() -> None:
    opened = act(pod_group("g", phase="Pending"), pod_group("h", phase=""), actions=[Enqueue], tiers=[[Door]])
    assert (phase(opened, "g"), phase(opened, "h")) == (Phase.INQUEUE, Phase.INQUEUE)
    assert opened.plugin(Door).asked == []
    assert opened.plugin(Door).entered == ["g", "h"]


def test_a_group_with_minimum_resources_enters_when_the_plugins_agree() -> None:
    opened = act(asking("g", "4"), actions=[Enqueue], tiers=[[Door]])
    assert phase(opened, "g") is Phase.INQUEUE
    assert opened.binds == {}


def test_empty_minimum_resources_are_asked_about() -> None:
    opened = act(pod_group("g", min_resources={}, phase="Pending"), actions=[Enqueue], tiers=[[Door]])
    assert opened.plugin(Door).asked == ["g"]


def test_a_refused_job_is_reported_and_does_not_hold_up_those_behind_it() -> None:
    opened = act(
        asking("large", "5", age=50),
        asking("small", "1", age=10),
        asking("last", "3"),
        actions=[Enqueue],
        tiers=[[Door]],
    )
    assert phase(opened, "large") is Phase.PENDING
    assert (phase(opened, "small"), phase(opened, "last")) == (Phase.INQUEUE, Phase.INQUEUE)
    note = opened.ssn.findings.notes[opened.job("large").row]
    assert (note.reason, note.message) == (Reason.CLUSTER_OVERCOMMITTED, "full")
    assert opened.plugin(Door).asked.count("large") == 1, "it is not tried again in this cycle"


def test_all_jobs_are_admitted_when_no_plugin_votes() -> None:
    class Indifferent(Plugin):
        name = "indifferent"

        def job_enqueueable(self, job: Job) -> Ballot:
            return ABSTAIN

    for plugins in ([], [Indifferent]):
        assert phase(act(asking("g", "400"), actions=[Enqueue], tiers=[plugins]), "g") is Phase.INQUEUE


def test_only_pending_groups_are_considered() -> None:
    groups = [asking("g", "1"), *[pod_group(name, phase=name.capitalize()) for name in ("running", "unknown")]]
    opened = act(groups, pod_group("inqueue", phase="Inqueue"), actions=[Enqueue], tiers=[[Door]])
    assert opened.plugin(Door).entered == ["g"]


def test_a_group_whose_queue_does_not_exist_is_not_admitted() -> None:
    opened = act(asking("g", "1", queue="nowhere"), asking("h", "1"), actions=[Enqueue], tiers=[[Door]])
    assert opened.plugin(Door).entered == ["h"]


@pytest.mark.parametrize("spec", [{"min_resources": {"cpu": "much"}}, {"sub_group_policy": [{"subGroupSize": 0}]}])
def test_a_group_that_cannot_be_scheduled_as_it_stands_is_not_admitted(spec: dict[str, Any]) -> None:
    opened = act(with_spec(asking("g", "1"), **spec), actions=[Enqueue], tiers=[[Door]])
    assert phase(opened, "g") is Phase.PENDING


def test_validity_is_not_asked_for() -> None:
    """Its pods are only made once it is admitted."""
    opened = act(asking("g", "1", min_member=5), actions=[Enqueue], tiers=[[Door]])
    assert phase(opened, "g") is Phase.INQUEUE


def test_jobs_enter_in_job_order_and_queues_take_turns_as_their_keys_move() -> None:
    class Turns(Door):
        """The queue from which fewer jobs came in goes first."""

        name = "turns"

        def on_session_open(self, ssn: Any) -> None:
            super().on_session_open(ssn)
            self.by_queue: dict[str, int] = {}

        def job_enqueued(self, job: Job) -> None:
            super().job_enqueued(job)
            self.by_queue[job.queue.name] = self.by_queue.get(job.queue.name, 0) + 1

        def queue_order(self, queue: QueueInfo) -> Key:
            return self.by_queue.get(queue.name, 0)

    opened = act(
        queue("a", age=9),
        queue("b"),
        [asking(f"a{index}", "1", queue="a", age=10 - index) for index in range(2)],
        [asking(f"b{index}", "1", queue="b", age=10 - index) for index in range(2)],
        actions=[Enqueue],
        tiers=[[Turns]],
    )
    assert opened.plugin(Turns).entered == ["a0", "b0", "a1", "b1"]


def test_nothing_is_placed() -> None:
    opened = act(node("n1"), gang("g", cpu="1", group_phase="Pending"), actions=[Enqueue])
    assert opened.effects == []
    assert opened.job("g").pending_tasks == 1


def test_a_gang_that_has_lost_a_pod_is_not_asked_for_its_minimum_again() -> None:
    """It was admitted before, and holds most of what it asks for: counting that too would block it forever."""
    objects = (
        node("n1", cpu="4"),
        gang("g", pods=3, running_on=["n1", "n1"], cpu="1", min_resources={"cpu": "3"}, group_phase="Pending"),
    )
    opened = act(*objects, actions=[Enqueue], tiers=[[Overcommit]])
    assert phase(opened, "g") is Phase.INQUEUE
    assert phase(act(*objects, actions=[Enqueue], tiers=[[Door]]), "g") is Phase.INQUEUE
