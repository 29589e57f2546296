"""A board that is made from the one before has the same rows as one that is made from nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.unit.ui.cluster import OBJECTS, cluster
from tests.unit.ui.users import OTHERS
from volcano_py.api.objects import Node, ObjectMeta, Pod, PodGroup, PodStatus, Queue
from volcano_py.ui.board.board import BoardMaker
from volcano_py.ui.board.judgement import Judge
from volcano_py.ui.cluster import Cluster


def pod(shown: Cluster, name: str) -> Pod:
    return next(each for each in shown.objects("Pod", Pod) if each.metadata.name == name)


def group(shown: Cluster, name: str) -> PodGroup:
    return next(each for each in shown.objects("PodGroup", PodGroup) if each.metadata.name == name)


def pod_ends(shown: Cluster) -> None:
    shown.upsert("Pod", replace(pod(shown, "runs-0"), status=PodStatus(phase="Succeeded")))


def pod_starts(shown: Cluster) -> None:
    waits = pod(shown, "waits-0")
    shown.upsert("Pod", replace(waits, spec=replace(waits.spec, node_name="n1"), status=PodStatus(phase="Running")))


def group_goes(shown: Cluster) -> None:
    shown.delete("Pod", pod(shown, "secret-0"))
    shown.delete("PodGroup", group(shown, "secret"))


def another_takes_its_place(shown: Cluster) -> None:
    old, member = group(shown, "secret"), pod(shown, "secret-0")
    group_goes(shown)
    shown.upsert("PodGroup", replace(old, metadata=replace(old.metadata, name="new", uid="another")))
    notes = dict.fromkeys(member.metadata.annotations, "new")
    shown.upsert("Pod", replace(member, metadata=replace(member.metadata, name="new-0", annotations=notes)))


def one_more_comes(shown: Cluster) -> None:
    old = group(shown, "waits")
    shown.upsert("PodGroup", replace(old, metadata=replace(old.metadata, name="more", uid="more")))


def it_moves_to_another_queue(shown: Cluster) -> None:
    old = group(shown, "waits")
    shown.upsert("PodGroup", replace(old, spec=replace(old.spec, queue="research")))


def a_pod_asks_for_something_new(shown: Cluster) -> None:
    runs = pod(shown, "runs-0")
    (container,) = runs.spec.containers
    asking = replace(container, resources=replace(container.resources, requests={"cpu": "1", "example.com/gpu": "2"}))
    shown.upsert("Pod", replace(runs, spec=replace(runs.spec, containers=[asking])))


def a_node_fills_up(shown: Cluster) -> None:
    runs = pod(shown, "runs-0")
    other = replace(runs, metadata=replace(runs.metadata, name="runs-1", uid="one-more"))
    shown.upsert("Pod", other)


def a_node_is_closed(shown: Cluster) -> None:
    node = shown.objects("Node", Node)[0]
    shown.upsert("Node", replace(node, spec=replace(node.spec, unschedulable=True)))


def a_node_comes(shown: Cluster) -> None:
    node = shown.objects("Node", Node)[0]
    shown.upsert("Node", replace(node, metadata=replace(node.metadata, name="a-new-one", uid="a-new-one")))


def a_node_goes(shown: Cluster) -> None:
    shown.delete("Node", shown.objects("Node", Node)[0])


def a_queue_comes(shown: Cluster) -> None:
    shown.upsert("Queue", Queue(metadata=ObjectMeta(name="a-new-one", uid="a-new-one")))


def a_queue_goes(shown: Cluster) -> None:
    shown.delete("Queue", next(each for each in shown.objects("Queue", Queue) if each.metadata.name == "research"))


CHANGES = (
    pod_ends,
    pod_starts,
    group_goes,
    another_takes_its_place,
    one_more_comes,
    it_moves_to_another_queue,
    a_pod_asks_for_something_new,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("is_judged_again", [False, True])
def test_it_is_the_same_board(change: Callable[[Cluster], None], is_judged_again: bool) -> None:
    shown, maker = cluster(OBJECTS + OTHERS), BoardMaker()
    seen = shown.seen()
    judge = Judge(shown.registry)
    judgement = judge.judge(seen.snapshot, seen.configuration)
    before = maker.make(seen, judgement)
    change(shown)
    seen = shown.seen()
    if is_judged_again:
        judgement = judge.judge(seen.snapshot, seen.configuration)
    after = maker.make(seen, judgement)
    assert after["jobs"] == BoardMaker().make(seen, judgement)["jobs"]
    assert after["jobs"] != before["jobs"]
    kept = [key for key, row in after["jobs"].items() if before["jobs"].get(key) == row]
    if change is not a_pod_asks_for_something_new:  # which is a new column, and makes all rows again
        assert all(after["jobs"][key] is before["jobs"][key] for key in kept), "what has not changed is not made again"


OF_OTHERS = (a_node_fills_up, a_node_is_closed, a_node_comes, a_node_goes, a_queue_comes, a_queue_goes)


@pytest.mark.parametrize("second", CHANGES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("first", [*CHANGES, *OF_OTHERS], ids=lambda each: each.__name__)
@pytest.mark.parametrize("is_judged_again", [False, True])
def test_queues_nodes_and_sums_are_the_same_too(
    first: Callable[[Cluster], None], second: Callable[[Cluster], None], is_judged_again: bool
) -> None:
    shown, maker = cluster(OBJECTS + OTHERS), BoardMaker()
    seen = shown.seen()
    judge = Judge(shown.registry)
    judgement = judge.judge(seen.snapshot, seen.configuration)
    maker.make(seen, judgement)
    for change in (first, second):
        with contextlib.suppress(StopIteration):  # the one has taken what the other would change
            change(shown)
        seen = shown.seen()
        if is_judged_again:
            judgement = judge.judge(seen.snapshot, seen.configuration)
        made, fresh = maker.make(seen, judgement), BoardMaker().make(seen, judgement)
        for table in ("jobs", "queues", "nodes", "cluster"):
            assert made[table] == fresh[table], table
        assert [*made["queues"]] == [*fresh["queues"]]
