"""A board that is made from the one before has the same rows as one that is made from nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tests.unit.ui.cluster import OBJECTS, cluster
from tests.unit.ui.users import OTHERS
from volcano_py.api.objects import Pod, PodGroup, PodStatus
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
