"""What queues may have, deserve and are guaranteed: inherited, set aside, added up; and what absence means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.queues.queue_trees import cpus, jobs, opened, queue, reported, root
from tests.support.sessions import Opened
from volcano_py.api.objects import Queue
from volcano_py.plugins.queues.levels import Levels
from volcano_py.state.table.axis import UNLIMITED

GPU = "nvidia.com/gpu"


def real(session: Opened, *queues: str) -> dict[str, float]:
    return cpus(session, "real_capability", queues)


# -- in a tree ----------------------------------------------------------------------------------------------------


def guide() -> list[Queue]:
    """root ── child-queue-a (64 cpu, 128Gi) ── subchild-queue-a1, subchild-queue-a2 (32 cpu, 64Gi each)
    └─ child-queue-b (64 cpu, 128Gi)"""
    half, quarter = {"cpu": "64", "memory": "128Gi"}, {"cpu": "32", "memory": "64Gi"}
    return [
        queue("child-queue-a", "root", deserved=half, reclaimable=True),
        queue("child-queue-b", "root", deserved=half, reclaimable=True),
        queue("subchild-queue-a1", "child-queue-a", deserved=quarter, reclaimable=True),
        queue("subchild-queue-a2", "child-queue-a", deserved=quarter, reclaimable=True),
    ]


def test_root_deserves_what_the_queues_below_it_do() -> None:
    session = opened(*guide(), cpu=500)
    assert reported(session)["root"]["deserved"] == {"cpu": 128_000, "memory": 256 * 2**30}


def test_without_a_limit_it_is_the_whole_cluster() -> None:
    session = opened(*guide(), memory="256Gi")
    for name in ("root", "child-queue-a", "subchild-queue-a2", "default"):
        facts = reported(session)[name]
        assert facts["capability"]["memory"] == facts["real_capability"]["memory"] == 256 * 2**30


def test_capability_is_inherited_from_the_nearest_queue_above_that_has_one() -> None:
    session = opened(
        queue("a", capability={"cpu": "80"}),
        queue("a1", "a"),
        queue("a2", "a", capability={"memory": "1Gi"}),
        queue("a21", "a2"),
        queue("b"),
    )
    assert cpus(session, "capability", ["a", "a1", "a2", "a21", "b"]) == {
        "a": 80,
        "a1": 80,
        "a2": 80,
        "a21": 80,
        "b": 128,
    }
    assert reported(session)["a21"]["capability"]["memory"] == 2**30


def test_guarantees_of_others_are_set_aside_at_every_level() -> None:
    session = opened(
        queue("a", guarantee=32, capability=100),
        queue("b", guarantee=16),
        queue("a1", "a", guarantee=10),
        queue("a2", "a", guarantee=6),
    )
    assert real(session, "root", "a", "b", "a1", "a2") == {"root": 128, "a": 100, "b": 96, "a1": 94, "a2": 90}
    assert cpus(session, "guarantee", ["root"]) == {"root": 48}


def test_a_queue_is_guaranteed_no_less_than_the_queues_below_it() -> None:
    """Although admission would refuse it: what is guaranteed below must be had on the way down, too."""
    session = opened(queue("a"), queue("a1", "a", guarantee=10), queue("b"))
    assert cpus(session, "guarantee") == {"root": 10, "a": 10, "a1": 10}
    assert real(session, "b") == {"b": 118}


def test_a_queue_deserves_no_less_than_it_is_guaranteed() -> None:
    session = opened(queue("a", guarantee=10, deserved=4))
    assert cpus(session, "deserved") == {"root": 10, "a": 10}


@pytest.mark.parametrize(
    ("deserved", "counts"),
    [({"cpu": "9E"}, 128), ({"cpu": "1000"}, 1000)],
    ids=["beyond any cluster: this one", "beyond this cluster: as written, so that ratios stay"],
)
def test_an_unobtainable_resource_does_not_make_a_share_the_least_forever(
    deserved: dict[str, str], counts: int
) -> None:
    session = opened(queue("bad", deserved=deserved), queue("b", deserved=64), jobs("j", "bad", 4))
    assert cpus(session, "deserved") == {"root": counts + 64, "bad": counts, "b": 64}


def test_no_more_is_deserved_than_the_queue_may_have_or_the_queue_above_deserves() -> None:
    """Else a queue would take all that its siblings have to share."""
    session = opened(
        queue("a", deserved=40),
        queue("greedy", "a", deserved=1000),
        queue("modest", "a", deserved=20),
        queue("between", "a"),
        queue("below", "between", deserved=900),
        queue("b", deserved=60, capability=50),
        queue("capped", capability=30),
        queue("inside", "capped", deserved=80),
        queue("silent"),
        queue("free", "silent", deserved=80),
    )
    assert cpus(session, "deserved") == {
        "root": 90, "a": 40, "greedy": 40, "modest": 20, "below": 40, "b": 50, "inside": 30, "free": 80,
    }  # fmt: skip


def test_a_child_that_is_allowed_more_than_its_parent_gets_the_parents() -> None:
    session = opened(queue("a", capability=20), queue("a1", "a", capability=100))
    assert cpus(session, "capability", ["a1"]) == real(session, "a1") == {"a1": 20}


def test_a_guarantee_beyond_the_cluster_leaves_others_what_they_have_without_it() -> None:
    session = opened(queue("a", guarantee=1000), queue("b"), queue("c", guarantee=3))
    assert real(session, "a", "b", "c") == {"a": 125, "b": 125, "c": 128}
    assert cpus(session, "deserved") == {"root": 3, "c": 3}, "nor does it entitle to anything"


def test_roots_own_guarantee_is_that_of_the_queues_below_it() -> None:
    assert cpus(opened(root(guarantee={"cpu": "9E"}), queue("a", guarantee=3)), "guarantee") == {"root": 3, "a": 3}


def test_roots_own_capability_bounds_all() -> None:
    session = opened(queue("root", capability=100), queue("a"))
    assert real(session, "root", "a") == {"root": 100, "a": 100}
    assert real(opened(queue("root", capability=1000), queue("a")), "root", "a") == {"root": 128, "a": 128}


def test_the_cluster_is_what_its_nodes_have_now() -> None:
    assert real(opened(queue("a"), cpu=7), "root", "a") == {"root": 7, "a": 7}


# -- absent, 0, unlimited -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("capability", [{}, {"cpu": "0"}, {"memory": "1Gi"}, {"cpu": "9E"}])
def test_a_cpu_capability_of_zero_counts_as_absent(capability: dict[str, str]) -> None:
    session = opened(queue("a", capability=20), queue("a1", "a", capability=capability))
    assert real(session, "a1") == {"a1": 20}


def test_a_device_capability_of_zero_is_zero() -> None:
    session = opened(queue("a", capability={GPU: "0"}), queue("a1", "a"), devices={GPU: "4"})
    assert reported(session)["a1"]["real_capability"][GPU] == 0
    assert reported(session)["root"]["real_capability"][GPU] == 4


def test_a_queue_that_deserves_nothing_has_a_share_of_one_whatever_it_holds() -> None:
    session = opened(queue("a"), queue("b"), jobs("j", "b", 3))
    assert {name: reported(session)[name]["share"] for name in ("a", "b")} == {"a": 1.0, "b": 1.0}


def test_places_for_pods_alone_are_no_entitlement() -> None:
    assert reported(opened(queue("a", deserved={"pods": "10"})))["a"]["share"] == 1.0


def test_a_share_is_the_largest_part_held_of_anything_deserved() -> None:
    session = opened(
        queue("a", deserved={"cpu": "4", "memory": "8Gi"}), jobs("j", "a", 2, memory="3Gi"), hierarchy=False
    )
    assert reported(session)["a"]["share"] == 0.75


def test_a_resource_deserved_as_zero_is_used_up_by_the_first_that_is_held() -> None:
    held = [jobs("j", "a", 1, devices={GPU: "1"})]
    unlisted, zero = {"cpu": "4"}, {"cpu": "4", GPU: "0"}
    shares = [
        reported(opened(queue("a", deserved=deserved), *held, devices={GPU: "4"}))["a"]["share"]
        for deserved in (unlisted, zero)
    ]
    assert shares == [0.25, 1.0]


def test_sums_of_absurd_amounts_do_not_wrap_around() -> None:
    many = [queue(f"q{number}", "a", deserved={"cpu": "9E"}, guarantee={"cpu": "9E"}) for number in range(300)]
    session = opened(queue("a"), queue("b"), *many)
    assert real(session, "b", "q7") == {"b": 128, "q7": 128}
    assert reported(session)["b"]["share"] == 1.0


def test_sums_over_many_levels_end_at_unlimited() -> None:
    names = [f"q{depth}" for depth in range(5)]
    levels = Levels.of(names, dict(zip(names[1:], names, strict=False)))
    unlimited = np.full((5, 1), UNLIMITED, dtype=np.int64)
    assert levels.add_up(unlimited).tolist() == unlimited.tolist()


# -- side by side -------------------------------------------------------------------------------------------------


def test_side_by_side_parents_do_not_matter() -> None:
    session = opened(
        queue("both", guarantee=20, capability=60),
        queue("guaranteed", "both", guarantee=10),
        queue("plain", "nowhere"),
        cpu=100,
        hierarchy=False,
    )
    assert real(session, "both", "guaranteed", "plain", "root") == {
        "both": 60,
        "guaranteed": 80,
        "plain": 70,
        "root": 70,
    }


def test_side_by_side_no_more_is_deserved_than_is_available() -> None:
    session = opened(
        queue("a", deserved=50, capability=30), queue("b", deserved=5, guarantee=8), cpu=100, hierarchy=False
    )
    assert cpus(session, "deserved") == {"a": 30, "b": 8}


# -- whatever is written ------------------------------------------------------------------------------------------

AMOUNT = st.one_of(st.none(), st.integers(0, 40))


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[str, str, dict[str, Any]]]:
    """Names, parents and limits of up to eight queues; parents come before their children."""
    found: list[tuple[str, str, dict[str, Any]]] = []
    for number in range(draw(st.integers(1, 8))):
        parent = draw(st.sampled_from(["", *(name for name, _, _ in found)]))
        limits = {field: draw(AMOUNT) for field in ("capability", "deserved", "guarantee")}
        found.append((f"q{number}", parent, {field: value for field, value in limits.items() if value is not None}))
    return found


@given(trees(), st.integers(0, 60), st.data())
def test_no_limit_is_above_that_of_a_queue_above_and_guarantees_are_had(
    tree: list[tuple[str, str, dict[str, Any]]], cpu: int, data: st.DataObject
) -> None:
    made = [queue(name, parent, **limits) for name, parent, limits in tree]
    session = opened(*made, cpu=cpu)
    facts = reported(session)
    parents = {name: parent or "root" for name, parent, _ in tree}
    for name, parent in parents.items():
        for field in ("capability", "real_capability"):
            assert facts[name][field].get("cpu", 0) <= facts[parent][field].get("cpu", 0)
        siblings = [each for each in parents if parents[each] == parent]
        guaranteed = sum(facts[each]["guarantee"].get("cpu", 0) for each in siblings)
        own = facts[name]["guarantee"].get("cpu", 0)
        room = facts[parent]["real_capability"]["cpu"]
        real_capability = facts[name]["real_capability"]["cpu"]
        assert real_capability <= max(room - (guaranteed - own), own), "what others are guaranteed is not lent"
        if guaranteed <= room:
            assert real_capability >= min(own, facts[name]["capability"].get("cpu", 0)), "what is guaranteed can be had"
        assert facts[name]["deserved"].get("cpu", 0) >= own
    assert reported(opened(*data.draw(st.permutations(made)), cpu=cpu)) == facts, "in whatever order they come"
