"""Jobs that enqueue has refused rest until anything has changed; then they take turns, if they are many."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.sessions import gang, node, pod_group, priority_class
from tests.unit.framework.resting.watched_scheduler import Cluster
from volcano_py.api.effects import PodGroupStatusUpdate
from volcano_py.api.objects import ApiObject, PodGroup
from volcano_py.framework.resting import looks
from volcano_py.plugins.overcommit import Overcommit

OVERCOMMIT = ", {name: overcommit, arguments: {overcommit-factor: 1.0}}"
MANY = [f"w{number:02}" for number in range(20)]


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The jobs that overcommit has voted on."""
    names: list[str] = []
    vote = Overcommit.job_enqueueable

    def noted(self: Overcommit, job: Any) -> Any:
        names.append(job.info.ref.name)
        return vote(self, job)

    monkeypatch.setattr(Overcommit, "job_enqueueable", noted)
    return names


def asking(name: str, cpu: int, **options: Any) -> PodGroup:
    return pod_group(name, min_resources={"cpu": str(cpu)}, phase="Pending", **options)


def full(*objects: ApiObject, actions: str = "enqueue, allocate", cpu: str = "4") -> Cluster:
    """A node that is full of one pod."""
    running = gang("r", cpu=cpu, running_on=["n1"], group_phase="Running")
    return Cluster(node("n1", cpu=cpu), *running, *objects, actions=actions, more=OVERCOMMIT)


def make_room(cluster: Cluster) -> None:
    cluster.state.delete("Pod", cluster.pod("r-0"))
    cluster.state.delete("PodGroup", cluster.objects.pop(("PodGroup", "r")))


def admitted(cluster: Cluster) -> set[str]:
    groups = (each for (kind, _), each in cluster.objects.items() if kind == "PodGroup")
    return {each.metadata.name for each in groups if isinstance(each, PodGroup) and each.status.phase == "Inqueue"}


def votes_of_a_cycle(cluster: Cluster, asked: list[str]) -> set[str]:
    asked.clear()
    cluster.cycle()
    return {*asked}


@pytest.mark.parametrize("with_pods", [False, True])
def test_it_is_not_voted_on_until_anything_has_changed(asked: list[str], with_pods: bool) -> None:
    pods = gang("w", cpu="1")[1:] if with_pods else []
    cluster = full(asking("w", 2), *pods)
    cluster.settle()
    before = cluster.cycle().pending
    assert [job.reason.value for job in before] == ["ClusterOvercommitted"]
    assert votes_of_a_cycle(cluster, asked) == set()
    assert cluster.cycle().pending == before
    cluster.put(priority_class("unused", 1))
    assert votes_of_a_cycle(cluster, asked) == {"w"}


def test_it_is_admitted_once_there_is_room() -> None:
    cluster = full(asking("w", 2))
    cluster.settle()
    assert admitted(cluster) == set()
    make_room(cluster)
    cluster.cycle()
    assert admitted(cluster) == {"w"}


def test_it_counts_as_not_admitted_while_it_rests() -> None:
    """A place that becomes free goes to none of its pods before it is admitted."""
    cluster = full(asking("large", 9), *gang("large", cpu="1")[1:])
    cluster.settle()
    make_room(cluster)
    for _ in range(3):
        cluster.cycle()
        assert cluster.bound() == []
    assert not [each for each in cluster.sent if isinstance(each, PodGroupStatusUpdate)]


def test_what_one_is_promised_enters_the_reasons_of_others(asked: list[str]) -> None:
    cluster = full(asking("large", 9, age=9))
    cluster.settle()
    make_room(cluster)
    cluster.put(asking("small", 3))
    cluster.cycle()
    assert admitted(cluster) == {"small"}
    assert votes_of_a_cycle(cluster, asked) == {"large"}
    (waiting,) = (job for job in cluster.cycle().pending if job.name == "team/large")
    assert "3 promised" in waiting.message


def test_a_group_that_cannot_be_used_as_it_stands_rests_too() -> None:
    cluster = full(pod_group("w", phase="Pending", min_resources={"cpu": "much"}))
    cluster.settle()
    (before,) = cluster.cycle().pending
    assert before.name == "team/w"
    assert cluster.cycle().pending == (before,)
    assert cluster.looked_at() == set()


class TestMany:
    """They take turns. Where evictions are explained, such as ask for the same in one queue are one question."""

    @pytest.fixture(autouse=True)
    def few_at_a_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(looks, "MOST", 2.0)
        monkeypatch.setattr(looks, "PER_PLACE", 0.0)

    def settled(self, cpu: Any = lambda number: 20 + number, actions: str = "enqueue, allocate") -> Cluster:
        cluster = full(*(asking(name, cpu(nth), age=100 - nth) for nth, name in enumerate(MANY)), actions=actions)
        for _ in range(3):
            self._turns(cluster, [])
        return cluster

    def _turns(self, cluster: Cluster, asked: list[str]) -> list[set[str]]:
        """The jobs on which each cycle votes, until none is due."""
        found = []
        for _ in cluster.cycles():
            found.append({*asked})
            asked.clear()
        return found

    def test_a_cycle_votes_on_some_and_the_next_ones_on_the_others(self, asked: list[str]) -> None:
        cluster = self.settled()
        assert votes_of_a_cycle(cluster, asked) == set()
        cluster.put(priority_class("unused", 1))
        asked.clear()
        turns = self._turns(cluster, asked)
        assert max(map(len, turns)) < 8
        assert len(turns) > 3
        assert set().union(*turns) == {*MANY}
        assert "w00" in turns[0], "the first in order is among the first"

    def test_what_asks_for_the_same_is_explained_at_once(
        self, asked: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(looks, "MOST", 10.0)
        evicting = "enqueue, allocate, reclaim"
        alike, different = self.settled(cpu=lambda _: 20, actions=evicting), self.settled(actions=evicting)
        for cluster in (alike, different):
            cluster.put(priority_class("unused", 1))
        assert votes_of_a_cycle(alike, asked) == {*MANY}
        assert len(votes_of_a_cycle(different, asked)) < 10

    def lapsed(self, *others: PodGroup) -> set[str]:
        """What is admitted after a promise has lapsed, while others that ask for too much wait, and these."""
        cluster = full(cpu="8")
        cluster.put(asking("idle", 7, age=50))
        make_room(cluster)
        cluster.cycle()
        assert admitted(cluster) == {"idle"}
        cluster.put(*others, *(asking(name, 20 + nth, age=40) for nth, name in enumerate(MANY)))
        self._turns(cluster, [])
        cluster.now += 60
        for _ in range(20):
            cluster.now += 1
            cluster.cycle()
        return admitted(cluster)

    def test_one_whose_promise_has_lapsed_waits_for_older_ones_at_which_the_cycle_does_not_look(self) -> None:
        assert self.lapsed(asking("fits", 8, age=20)) == {"fits"}

    def test_it_does_not_wait_for_those_that_would_not_be_admitted_either(self) -> None:
        assert self.lapsed() == {"idle"}
