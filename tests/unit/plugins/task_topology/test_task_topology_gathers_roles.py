"""Preferences of a job for its roles, the buckets that follow from them, and what nodes score for them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.placement.node_answers import batch_scores
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.actions.allocate import Allocate
from volcano_py.api.effects import Event
from volcano_py.framework.plugin import Reach
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.task_topology import TaskTopology
from volcano_py.plugins.task_topology.buckets import Buckets, Member, fill
from volcano_py.plugins.task_topology.role_preferences import AnnotationError, Strength, read_preferences

PREFIX = "volcano.sh/task-topology-"


def annotated(**preferences: str) -> dict[str, str]:
    return {PREFIX + key.replace("_", "-"): text for key, text in preferences.items()}


def member(row: int, role: str, node: int = -1, cpu: int = 1000) -> Member:
    return Member(row, role, node, np.array([cpu, 0, 1], dtype=np.int64))


def names(buckets: Buckets, members: list[Member]) -> list[str]:
    """The roles in each bucket, sorted."""
    role = {each.row: each.role for each in members}
    return ["".join(sorted(role[row] for row in rows.tolist())) for rows in buckets.rows]


def filled(members: list[Member], **preferences: str) -> Buckets:
    read = read_preferences(annotated(**preferences), {each.role for each in members})
    assert read is not None
    return fill(read, members)


def of_roles(roles: str) -> list[Member]:
    return [member(row, role) for row, role in enumerate(roles)]


# -- preferences -----------------------------------------------------------------------------------------------------


def test_groups_of_roles_are_read() -> None:
    preferences = read_preferences(annotated(affinity=" a , b ;c", anti_affinity="a", task_order="b,a"), "abc")
    assert preferences is not None
    assert preferences.together == {("a", "b"), ("b", "a"), ("c", "c")}
    assert preferences.apart == {("a", "a")}
    assert preferences.strength == {
        "a": Strength.APART_FROM_ITSELF,
        "b": Strength.TOGETHER,
        "c": Strength.TOGETHER_WITH_ITSELF,
    }
    assert sorted("abc", key=preferences.urgency) == ["b", "a", "c"]


def test_the_strongest_preference_that_names_a_role_decides_how_early_it_is_placed() -> None:
    preferences = read_preferences(annotated(affinity="b;c,d", anti_affinity="a;e,f"), "abcdef")
    assert preferences is not None
    assert sorted("fecba", key=preferences.urgency) == ["a", "c", "b", "f", "e"], "apart from itself, together, itself"


def test_without_annotations_there_are_no_preferences() -> None:
    assert read_preferences({"volcano.sh/other": "a"}, "a") is None


@pytest.mark.parametrize(
    ("preferences", "reported"),
    [
        ({"affinity": "a,x"}, "annotation volcano.sh/task-topology-affinity names role x, which no pod of the job"),
        ({"anti_affinity": "b;a,b,a"}, "annotation volcano.sh/task-topology-anti-affinity names role a twice"),
        ({"task_order": "b,b"}, "annotation volcano.sh/task-topology-task-order names role b twice in one group"),
        ({"affinity": "x" * 5000}, "names role " + "x" * 63 + ", which no pod"),
    ],
)
def test_impossible_preferences_are_refused_with_the_annotation(preferences: dict[str, str], reported: str) -> None:
    with pytest.raises(AnnotationError, match="task-topology") as refused:
        read_preferences(annotated(**preferences), "ab")
    assert reported in str(refused.value)


# -- buckets -------------------------------------------------------------------------------------------------------


def test_each_server_has_its_part_of_the_workers() -> None:
    members = of_roles("wwwwpp")
    assert names(filled(members, affinity="p,w", anti_affinity="p"), members) == ["pww", "pww"]


def test_without_a_preference_to_keep_apart_all_share_one() -> None:
    members = of_roles("wwpp")
    assert names(filled(members, affinity="p,w"), members) == ["ppww"]


def test_what_has_a_node_makes_a_bucket_with_its_neighbours() -> None:
    members = [member(0, "w", node=7), member(1, "w", node=8), member(2, "p", node=7), member(3, "p")]
    buckets = filled(members, affinity="p,w", anti_affinity="p")
    assert names(buckets, members) == ["pw", "pw"]
    assert buckets.waiting.tolist() == [0, 1]


def test_of_equals_the_bucket_that_asks_for_less_is_taken() -> None:
    members = [member(0, "p", cpu=4000), member(1, "p", cpu=1000), member(2, "w")]
    buckets = filled(members, affinity="p,w", anti_affinity="p", task_order="p,w")
    assert buckets.bucket.tolist() == [0, 1, 1]


def test_memory_counts_in_what_a_bucket_asks_for() -> None:
    members = [
        Member(0, "p", -1, np.array([1000, 2**30, 1], dtype=np.int64)),
        Member(1, "p", -1, np.array([1100, 2**20, 1], dtype=np.int64)),
        member(2, "w"),
    ]
    buckets = filled(members, affinity="p,w", anti_affinity="p", task_order="p,w")
    assert buckets.bucket.tolist() == [0, 1, 1], "1000 and 1024 are more than 1100 and 1"


def test_larger_buckets_go_first_then_older_ones() -> None:
    members = of_roles("ppw")
    buckets = filled(members, affinity="p,w", anti_affinity="p")
    order = buckets.members[np.argsort(buckets.ranks())].tolist()
    assert sorted(order[:2]) == sorted(buckets.rows[0].tolist())
    assert len(buckets.rows[0]) == 2


groups = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3, unique=True).map(",".join)
wishes_texts = st.lists(groups, max_size=3).map(";".join)


@given(st.text("abc", min_size=3, max_size=40).map(lambda text: "abc" + text), wishes_texts, wishes_texts, st.data())
def test_every_member_is_in_one_bucket_and_none_where_it_is_repelled(
    roles: str, affinity: str, anti_affinity: str, data: st.DataObject
) -> None:
    nodes = data.draw(st.lists(st.integers(-1, 3), min_size=len(roles), max_size=len(roles)))
    members = [member(row, role, node) for row, (role, node) in enumerate(zip(roles, nodes, strict=True))]
    buckets = filled(members, affinity=affinity, anti_affinity=anti_affinity)
    assert sorted(row for rows in buckets.rows for row in rows.tolist()) == list(range(len(roles)))
    assert sorted(buckets.ranks().tolist()) == list(range(len(roles)))
    seen: dict[int, Counter[str]] = {}
    for row, bucket in zip(buckets.members.tolist(), buckets.bucket.tolist(), strict=True):
        inside = seen.setdefault(bucket, Counter())
        if nodes[row] < 0:
            drawn = sum(buckets.preferences.attraction(roles[row], other) * count for other, count in inside.items())
            assert drawn >= 0
        else:
            assert all(nodes[other] == nodes[row] for other in buckets.rows[bucket].tolist() if nodes[other] >= 0)
        inside[roles[row]] += 1


# -- the plugin ----------------------------------------------------------------------------------------------------


def opened_with(*pods: Any, weight: int = 1, **preferences: str) -> Opened:
    group = pod_group("train", min_member=1)
    group = msgspec.structs.replace(
        group, metadata=msgspec.structs.replace(group.metadata, annotations=annotated(**preferences))
    )
    return open_session(
        node("n1", cpu="4"),
        node("n2", cpu="2"),
        node("n3", cpu="1"),
        group,
        *pods,
        tiers=[[Gang, (TaskTopology, {"arguments": {"task-topology.weight": weight}})]],
        actions=[Allocate],
    )


def trio(**more: Any) -> list[Any]:
    return [pod(name, group="train", role=name[0], cpu="1", **more) for name in ("p-0", "w-0", "w-1")]


def test_a_node_scores_by_how_much_of_the_bucket_it_can_take() -> None:
    opened = opened_with(*trio(), affinity="p,w", weight=3)
    assert batch_scores(opened, TaskTopology, "p-0") == {"n1": 300, "n2": 200, "n3": 100}


def test_and_by_what_it_has_of_it() -> None:
    opened = opened_with(*trio(), affinity="p,w")
    opened.place("train", {"p-0": "n2"})
    found = batch_scores(opened, TaskTopology, "w-0")
    assert found is not None
    assert {name: round(score, 6) for name, score in found.items()} == {
        "n1": 66.666667,
        "n2": 66.666667,
        "n3": 33.333333,
    }


def test_a_promised_place_counts_like_one_that_is_taken() -> None:
    taken, promised = opened_with(*trio(), affinity="p,w"), opened_with(*trio(), affinity="p,w")
    taken.place("train", {"p-0": "n2"})
    promised.pipeline("train", {"p-0": "n2"})
    found = batch_scores(promised, TaskTopology, "w-0")
    assert found is not None
    # what is promised is not in use yet, so n2 could take both of the others next to it
    assert {name: round(score, 6) for name, score in found.items()} == {"n1": 66.666667, "n2": 100, "n3": 33.333333}


def test_pods_to_keep_apart_from_take_from_the_score() -> None:
    pods = [pod(f"p-{index}", group="train", role="p", cpu="1") for index in range(2)]
    opened = opened_with(*pods, anti_affinity="p")
    opened.place("train", {"p-0": "n1"})
    assert batch_scores(opened, TaskTopology, "p-1") == {"n1": 0, "n2": 100, "n3": 100}


def test_nodes_without_room_for_the_pod_itself_score_nothing() -> None:
    opened = opened_with(*trio(), pod("other", cpu="1", on="n3"), affinity="p,w")
    found = batch_scores(opened, TaskTopology, "p-0")
    assert found is not None
    assert found["n3"] == 0


def test_a_full_node_scores_nothing_whatever_it_has_of_the_bucket() -> None:
    opened = opened_with(*trio(), affinity="p,w")
    opened.place("train", {"p-0": "n3"})
    found = batch_scores(opened, TaskTopology, "w-0")
    assert found is not None
    assert found["n3"] == 0


def test_what_is_released_counts_as_room() -> None:
    opened = opened_with(*trio(), pod_group("old"), pod("old-0", group="old", cpu="1", on="n3"), affinity="p,w")
    opened.evict("old-0")
    found = batch_scores(opened, TaskTopology, "p-0")
    assert found is not None
    assert round(found["n3"], 6) == 33.333333


def test_every_place_moves_all_scores_of_such_a_job_and_of_no_other() -> None:
    opened = opened_with(*trio(), pod("free", group="train", cpu="1"), affinity="p,w")
    topology = opened.plugin(TaskTopology)
    assert topology.batch_node_order_reach(opened.task("p-0").task_class) is Reach.DOMAIN
    assert topology.batch_node_order_reach(opened.task("free").task_class) is Reach.FEASIBLE_SET
    assert batch_scores(opened, TaskTopology, "free") is None
    assert opened.names(opened.ssn.ask.ordered_tasks(opened.rows("free", "w-1", "p-0", "w-0")))[-1] == "free"


def test_weight_0_switches_the_score_off() -> None:
    assert batch_scores(opened_with(*trio(), affinity="p,w", weight=0), TaskTopology, "p-0") is None


def test_ignored_preferences_are_reported_once_on_the_pod_group() -> None:
    opened = opened_with(*trio(), affinity="p,x")
    for _ in range(2):
        opened.plugin(TaskTopology).on_session_close(opened.ssn)
    (event,) = [effect for effect in opened.effects if isinstance(effect, Event)]
    assert (event.about.name, event.type, event.reason) == ("train", "Warning", "IgnoredAnnotation")
    assert event.message == (
        "task-topology annotations are ignored: annotation volcano.sh/task-topology-affinity names role x, "
        "which no pod of the job has. Correct the name."
    )
    assert batch_scores(opened, TaskTopology, "p-0") is None
