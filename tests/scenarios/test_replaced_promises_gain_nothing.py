"""A tenant holds promises without pods, and replaces each PodGroup by another before its time is over. Its time is
counted for its namespace, so that a job that waits is admitted nevertheless; and no honest user is held back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.scenarios.lapsing import TIMEOUT, Cluster, Object, group, pod, vcjob
from volcano_py.cluster.manifests import VOLCANO_JOB

QUEUES = [{"kind": "Queue", "metadata": {"name": f"q{number}"}, "spec": {"weight": 100}} for number in range(20)]
FIRST = {"kind": "PriorityClass", "metadata": {"name": "first"}, "value": 1000}
"""A tenant may name it in a PodGroup, and so goes before others as long as that has no pods."""

Attack = Callable[[Cluster, int], None]
"""What the attacker does in this second, of namespace `attacker`."""


def idle(name: str, cpu: int = 100, **spec: Any) -> Object:
    return group(name, cpu, namespace="attacker", priorityClassName="first", **spec)


def replace_every(seconds: int, made: Callable[[int], list[Object]], at: int = 0) -> Attack:
    """Delete what was made before, and make the next, in the same moment."""

    def act(cluster: Cluster, second: int) -> None:
        turn, rest = divmod(second - at, seconds)
        if turn < 0 or rest:
            return
        for old in made(turn - 1) if turn else []:
            cluster.delete(old["kind"], f"attacker/{old['metadata']['name']}")
        cluster.add(*made(turn))

    return act


def of_both(one: Attack, other: Attack) -> Attack:
    def act(cluster: Cluster, second: int) -> None:
        one(cluster, second)
        other(cluster, second)

    return act


def edit_every(seconds: int, edits: list[Callable[[Cluster], None]]) -> Attack:
    """One PodGroup, `idle`, which is edited again and again; one edit a second, then none for a while."""

    def act(cluster: Cluster, second: int) -> None:
        if not second:
            cluster.add(idle("idle"))
        elif (place := second % seconds) < len(edits):
            edits[place](cluster)

    return act


def covered_before_it_goes(cover: Callable[[int], Object]) -> Attack:
    """Each PodGroup gets a pod for its last second, which asks for all that it is promised."""

    def act(cluster: Cluster, second: int) -> None:
        turn, rest = divmod(second, TIMEOUT - 1)
        if rest == TIMEOUT - 2:
            cluster.add(cover(turn))
        if not rest and turn:
            cluster.delete("Pod", f"attacker/cover-{turn - 1}")
            cluster.delete("PodGroup", f"attacker/idle-{turn - 1}")
        if not rest:
            cluster.add(idle(f"idle-{turn}"))

    return act


def small_pod(turn: int, **spec: Any) -> Object:
    return pod(f"small-{turn}", 1, f"idle-{turn}", "attacker", priority=1000, **spec)


def cover(turn: int, **spec: Any) -> Object:
    return pod(f"cover-{turn}", 100, f"idle-{turn}", "attacker", priority=1000, **spec)


SOON = TIMEOUT - 1
ATTACKS: dict[str, Attack] = {
    "replaced": replace_every(SOON, lambda turn: [idle(f"idle-{turn}")]),
    "replaced every second": replace_every(1, lambda turn: [idle(f"idle-{turn}")]),
    "replaced under the same name": replace_every(
        SOON, lambda turn: [{**idle("idle"), "metadata": {"name": "idle", "namespace": "attacker", "uid": str(turn)}}]
    ),
    "in another queue each time": replace_every(SOON, lambda turn: [idle(f"idle-{turn}", queue=f"q{turn}")]),
    "two that overlap": of_both(
        replace_every(SOON, lambda turn: [idle(f"one-{turn}", 60)]),
        replace_every(SOON, lambda turn: [idle(f"other-{turn}", 60)], at=2),
    ),
    "three that overlap, in two queues": of_both(
        replace_every(3, lambda turn: [idle(f"one-{turn}", 40, queue="q1"), idle(f"more-{turn}", 40, queue="q2")]),
        replace_every(3, lambda turn: [idle(f"other-{turn}", 40, queue="q2")], at=2),
    ),
    "its phase is written": edit_every(SOON, [lambda cluster: cluster.write_phase("attacker/idle", "Pending")]),
    "its minResources are removed for a second": edit_every(
        SOON,
        [
            lambda cluster: cluster.write_min_resources("attacker/idle", None),
            lambda cluster: cluster.write_min_resources("attacker/idle", {"cpu": "100"}),
        ],
    ),
    "its minResources are changed": edit_every(
        2,
        [
            lambda cluster: cluster.write_min_resources("attacker/idle", {"cpu": "99"}),
            lambda cluster: cluster.write_min_resources("attacker/idle", {"cpu": "100"}),
        ],
    ),
    "with one small pod each": replace_every(SOON, lambda turn: [idle(f"idle-{turn}"), small_pod(turn)]),
    "with one small pod that fits nowhere": replace_every(
        SOON, lambda turn: [idle(f"idle-{turn}"), small_pod(turn, nodeSelector={"pool": "none"})]
    ),
    "with one small pod that is gated": replace_every(
        SOON, lambda turn: [idle(f"idle-{turn}"), small_pod(turn, schedulingGates=[{"name": "a/b"}])]
    ),
    "covered by a pod that fits nowhere": covered_before_it_goes(cover),
    "covered by a pod that is gated": covered_before_it_goes(lambda turn: cover(turn, schedulingGates=[{"name": "a"}])),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_job_that_waits_is_admitted_within_two_timeouts(attack: Attack) -> None:
    cluster = Cluster(FIRST, *QUEUES)
    attacked = seconds_of(cluster, attack)
    for _ in range(3):
        next(attacked)
    cluster.add(vcjob("work", 2, 40, "victim"))
    for _ in range(2 * TIMEOUT + 2):
        next(attacked)
    assert cluster.bound >= {"work-worker-0", "work-worker-1"}, cluster.reported("victim/work-work")


def seconds_of(cluster: Cluster, attack: Attack) -> Iterator[None]:
    second = 0
    while True:
        attack(cluster, second)
        cluster.pass_by(1)
        second += 1
        yield


def replaced_by_two(namespace: str) -> Cluster:
    """A job waits for a PodGroup without pods, which is replaced by one called `two` after four seconds."""
    cluster = Cluster(group("one", 100))
    cluster.pass_by(1)
    cluster.add(vcjob("work", 2, 40, "victim"))
    cluster.pass_by(3)
    cluster.delete("PodGroup", "one")
    cluster.add({**FIRST}, group("two", 100, namespace=namespace, priorityClassName="first"))
    return cluster


def test_the_one_that_has_inherited_says_so() -> None:
    cluster = replaced_by_two("default")
    cluster.pass_by(3)
    assert cluster.bound == {"work-worker-0", "work-worker-1"}
    assert "PromiseLapsed: " in cluster.reported("two")
    assert "none of its pods was created within 5s in all, with the time that PodGroups of its namespace had used" in (
        cluster.reported("two")
    )


def test_another_namespace_inherits_nothing() -> None:
    cluster = replaced_by_two("other")
    cluster.pass_by(TIMEOUT - 1)
    assert cluster.phase("other/two") == "Inqueue"


def run_one_after_another(cluster: Cluster, *, count: int, empty_for: int) -> None:
    """PodGroups whose pods come after some seconds, run, and are deleted."""
    for turn in range(count):
        cluster.add(group(f"own-{turn}", 50))
        cluster.pass_by(empty_for)
        assert cluster.phase(f"own-{turn}") == "Inqueue", cluster.reported(f"own-{turn}")
        cluster.add(pod(f"own-{turn}", 50, f"own-{turn}"))
        cluster.pass_by(2)
        assert f"own-{turn}" in cluster.bound
        cluster.delete("Pod", f"own-{turn}")
        cluster.delete("PodGroup", f"own-{turn}")


@pytest.mark.parametrize("empty_for", [1, TIMEOUT - 1])
def test_jobs_one_after_another_whose_pods_come_in_time_are_never_held_back(empty_for: int) -> None:
    """Also while another job waits all the time."""
    cluster = Cluster(vcjob("larger", 3, 50, "victim"))
    cluster.pass_by(1)
    run_one_after_another(cluster, count=2 * TIMEOUT, empty_for=empty_for)


def test_a_promise_that_pods_have_held_leaves_its_namespace_all_the_time() -> None:
    """It had no pods again, for a while, when it was deleted."""
    cluster = Cluster(vcjob("larger", 3, 50, "victim"))
    cluster.pass_by(1)
    cluster.add(group("one", 50))
    cluster.pass_by(3)
    cluster.add(pod("one-0", 50, "one"))
    cluster.pass_by(2)
    cluster.delete("Pod", "one-0")
    cluster.pass_by(1)
    cluster.delete("PodGroup", "one")
    cluster.add(group("two", 50))
    cluster.pass_by(TIMEOUT - 1)
    assert cluster.phase("two") == "Inqueue"


def test_what_was_used_is_forgotten_when_those_that_waited_then_no_longer_wait() -> None:
    cluster = Cluster(group("one", 100))
    cluster.pass_by(1)
    cluster.add(vcjob("work", 2, 40, "victim"))
    cluster.pass_by(TIMEOUT - 2)
    cluster.delete("PodGroup", "one")
    cluster.pass_by(3)
    assert cluster.bound == {"work-worker-0", "work-worker-1"}
    cluster.delete(VOLCANO_JOB, "victim/work")
    cluster.delete("PodGroup", "victim/work-work")
    for index in range(2):
        cluster.delete("Pod", f"victim/work-worker-{index}")
    cluster.pass_by(2)
    cluster.add(group("two", 100), vcjob("later", 2, 40, "victim"))
    cluster.pass_by(TIMEOUT - 1)
    assert (cluster.phase("two"), cluster.phase("victim/later-later")) == ("Inqueue", "Pending")
