"""Which guarantees are set aside when not all of them can be: in both plugins that know guarantees, and the events
about it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.queues.queue_trees import cpus, jobs, opened, queue
from tests.support.queues.queue_trees import reported as reported_by_capacity
from tests.support.sessions import Objects, Opened, node, open_session
from volcano_py.api.effects import Event
from volcano_py.api.objects import Queue
from volcano_py.plugins.proportion import Proportion
from volcano_py.plugins.queues.guarantees import Kept, keep
from volcano_py.state.table.axis import LARGEST_SUM, UNLIMITED

GPU = "nvidia.com/gpu"
WAYS = ["side by side", "tree", "proportion"]


def session(way: str, *objects: Objects, cpu: int = 8, **more: Any) -> Opened:
    """A session over one node of `cpu`, with the plugin that is meant."""
    if way == "proportion":
        size = node("n1", **{"cpu": str(cpu), "memory": "10Ti", "pods": "1000", **more})
        return open_session(size, *objects, tiers=[[Proportion]])
    return opened(*objects, cpu=cpu, hierarchy=way == "tree", **more)


def reported(of: Opened, way: str) -> dict[str, dict[str, Any]]:
    if way != "proportion":
        return reported_by_capacity(of)
    return {name: dict(facts) for name, facts in of.plugin(Proportion).describe_queues().items()}


def of_cpu(of: Opened, way: str, field: str) -> dict[str, float]:
    """Queue → cpus of that field, of all but root that have any."""
    found = {name: facts[field].get("cpu", 0) / 1000 for name, facts in reported(of, way).items() if name != "root"}
    return {name: amount for name, amount in found.items() if amount}


def events(of: Opened) -> dict[str, str]:
    """Queue → the events about its guarantee, a line for each resource."""
    of.ssn.dispatch.life("on_session_close", of.ssn)
    assert not of.ssn.dispatch.failures.counts
    found = [each for each in of.effects if isinstance(each, Event) and each.reason == "GuaranteeNotKept"]
    assert {(each.about.kind, each.type) for each in found} <= {("Queue", "Warning")}
    by_queue: dict[str, list[str]] = {}
    for each in found:
        by_queue.setdefault(each.about.name, []).append(each.message)
    return {name: "\n".join(messages) for name, messages in by_queue.items()}


# -- in every plugin --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("amount", ["9", "9E", str(10**30), "1e400"])
def test_what_the_cluster_cannot_hold_is_not_kept_and_affects_nothing_else(way: str, amount: str) -> None:
    """Not even the guarantees of younger queues."""
    bad = queue("bad", guarantee={"cpu": amount}, age=60)
    of = session(way, bad, queue("ok"), queue("young", guarantee=3), jobs("j", "bad", running=0))
    facts = reported(of, way)
    assert {name: facts[name]["real_capability"]["cpu"] for name in ("bad", "ok", "young")} == {
        "bad": 5_000,
        "ok": 5_000,
        "young": 8_000,
    }
    assert of_cpu(of, way, "guarantee") == {"young": 3}
    assert facts["bad"]["deserved"].get("cpu", 0) <= 1_000, "an entitlement to no more than there is work for"


@pytest.mark.parametrize("way", WAYS)
def test_of_two_that_do_not_fit_together_the_older_is_kept(way: str) -> None:
    of = session(way, queue("a", guarantee=5), queue("b", guarantee=5, age=60), queue("c", guarantee=2))
    assert of_cpu(of, way, "guarantee") == {"b": 5, "c": 2}, "a smaller one that is younger still fits"
    assert of_cpu(of, way, "guarantee_not_kept") == {"a": 5}
    assert of_cpu(of, way, "real_capability") == {"a": 1, "b": 6, "c": 3, **_unnamed(of, way)}


@pytest.mark.parametrize("way", WAYS)
def test_of_equal_age_the_first_by_name_is_kept(way: str) -> None:
    of = session(way, queue("b", guarantee=5), queue("a", guarantee=5))
    assert of_cpu(of, way, "guarantee") == {"a": 5}


@pytest.mark.parametrize("way", WAYS)
def test_a_guarantee_is_kept_or_not_in_each_resource_by_itself(way: str) -> None:
    of = session(way, queue("a", guarantee={"cpu": "100", "memory": "1Ti", GPU: "1"}), devices={GPU: "2"})
    assert reported(of, way)["a"]["guarantee"] == {"memory": 2**40, GPU: 1}


@pytest.mark.parametrize("way", WAYS)
def test_what_a_queue_can_never_use_is_not_kept_from_others(way: str) -> None:
    of = session(way, queue("a", guarantee=7, capability=2), queue("b"))
    assert of_cpu(of, way, "guarantee") == {"a": 2}
    assert of_cpu(of, way, "real_capability") == {"a": 2, "b": 6, **_unnamed(of, way)}


@pytest.mark.parametrize("way", WAYS)
def test_it_is_kept_again_when_the_cluster_can_hold_it(way: str) -> None:
    """While a node is away, the youngest guarantees that do not fit any more lapse."""
    queues = queue("old", guarantee=5, age=60), queue("young", guarantee=3)
    assert of_cpu(session(way, *queues, cpu=7), way, "guarantee") == {"old": 5}
    assert of_cpu(session(way, *queues, cpu=8), way, "guarantee") == {"old": 5, "young": 3}


def _unnamed(of: Opened, way: str) -> dict[str, float]:
    """The queue that every session has."""
    return {name: amount for name, amount in of_cpu(of, way, "real_capability").items() if name == "default"}


# -- in a tree --------------------------------------------------------------------------------------------------------


def test_an_inner_queue_whose_own_is_not_kept_still_keeps_its_childrens() -> None:
    of = session("tree", queue("a", guarantee={"cpu": "9E"}, age=60), queue("a1", "a", guarantee=2), queue("b"))
    assert cpus(of, "guarantee") == {"root": 2, "a": 2, "a1": 2}
    assert cpus(of, "real_capability", ["b"]) == {"b": 6}


def test_only_what_a_guarantee_adds_to_those_above_it_counts() -> None:
    """Six of a's children are within a's own six, so that they fit, however young they are."""
    of = session(
        "tree",
        queue("a", guarantee=6, age=60),
        queue("b", guarantee=2, age=50),
        queue("a1", "a", guarantee=4, age=40),
        queue("a2", "a", guarantee=2, age=30),
        queue("a3", "a", guarantee=1, age=20),
    )
    assert cpus(of, "guarantee") == {"root": 8, "a": 6, "b": 2, "a1": 4, "a2": 2}


def test_what_was_admitted_below_counts_for_later_jobs_above() -> None:
    of = session(
        "tree", queue("a1", "a", guarantee=4, age=60), queue("b", guarantee=3, age=50), queue("a", guarantee=5)
    )
    assert cpus(of, "guarantee") == {"root": 8, "a": 5, "a1": 4, "b": 3}


def test_a_queue_above_that_may_not_have_so_much_cannot_hold_it_either() -> None:
    """Else it would keep for its children, from others, what they can never have, and from each other all they have."""
    of = session(
        "tree",
        queue("a", capability=4),
        queue("a1", "a", guarantee=3, age=60),
        queue("a2", "a", guarantee=3),
        queue("bad", "a", guarantee={"cpu": "9E"}, age=90),
        queue("b"),
    )
    assert cpus(of, "guarantee") == {"root": 3, "a": 3, "a1": 3}
    assert cpus(of, "real_capability", ["a1", "a2", "b"]) == {"a1": 4, "a2": 1, "b": 5}


def test_pods_of_others_are_not_evicted_by_the_right_of_what_is_not_kept() -> None:
    """Nor are the queue's own protected by it."""
    bad, good = queue("bad", guarantee={"cpu": "9E"}), queue("good", deserved=4)
    for way in ("side by side", "tree"):
        of = session(way, bad, good, jobs("g", "good", 4), jobs("b", "bad", 5, running=4))
        pending = of.task("b-4").job
        assert not of.ssn.ask.preemptive(pending.queue, of.rows("b-4"))
        of = session(way, bad, good, jobs("g", "good", 4, running=3), jobs("b", "bad", 5))
        assert of.victims("reclaimable", "g-3", of.running("b"))


def test_what_a_queue_without_a_place_is_guaranteed_is_neither_kept_nor_reported_twice() -> None:
    of = session("tree", queue("lost", "gone", guarantee={"cpu": "9E"}), queue("a", guarantee=8))
    assert cpus(of, "guarantee") == {"root": 8, "a": 8}
    assert not events(of)


# -- messages --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_an_event_on_the_queue_says_what_is_not_kept_and_what_would_fix_it(way: str) -> None:
    of = session(
        way,
        queue("bad", guarantee={"cpu": "9E"}, age=90),
        queue("one", guarantee=5, age=60),
        queue("two", guarantee={"cpu": "5", "memory": "1Gi"}),
        queue("capped", guarantee={"cpu": "3"}, capability=2),
    )
    assert events(of) == {
        "bad": "queue bad: spec.guarantee.resource[cpu] is 9E, but the cluster has 8 cpu: nothing is kept for it; "
        "lower it, or add nodes",
        "capped": "queue capped: spec.guarantee.resource[cpu] is 3, but spec.capability is 2 cpu: only this much is "
        "kept for it; lower one or raise the other",
        "two": "queue two: spec.guarantee.resource[cpu] is 5, but 7 cpu of the cluster's 8 cpu are kept for older "
        "queues: nothing is kept for it; lower it or theirs, or add nodes",
    }


@pytest.mark.parametrize("way", WAYS)
def test_there_is_nothing_to_report_when_all_fit_or_when_there_is_no_node(way: str) -> None:
    fitting = [queue("a", guarantee=5, deserved=5), queue("b", guarantee=3, deserved=3)]
    assert not events(session(way, *fitting))
    empty = session(way, *fitting, cpu=0, memory="0", pods="0")
    assert not events(empty)
    assert of_cpu(empty, way, "guarantee_not_kept") == {"a": 5, "b": 3}


def test_a_queue_above_that_cannot_hold_it_is_named() -> None:
    of = session(
        "tree",
        queue("a", capability=4),
        queue("a1", "a", guarantee=3, age=60),
        queue("a2", "a", guarantee=3),
        queue("bad", "a", guarantee={"cpu": "9E"}, age=90),
    )
    found = events(of)
    assert found["bad"].endswith(
        "is 9E, but queue a above it may have 4 cpu: nothing is kept for it; lower it, or raise spec.capability of "
        "queue a"
    )
    assert found["a2"].endswith(
        "is 3, but 3 cpu of the 4 cpu that queue a above it may have are kept for older queues: nothing is kept for "
        "it; lower it or theirs, or raise spec.capability of queue a"
    )


def test_a_limit_of_root_below_the_cluster_is_reported() -> None:
    of = session("tree", queue("root", capability=6), queue("a", guarantee=7))
    assert "but queue root above it may have 6 cpu: nothing is kept" in events(of)["a"]


def test_long_foreign_text_is_cut() -> None:
    of = session("tree", queue("a", guarantee={"cpu": "9" * 60}))
    assert f"[cpu] is {'9' * 40}…, but" in events(of)["a"]


# -- whatever is written ----------------------------------------------------------------------------------------------

AMOUNTS = st.one_of(st.integers(0, 12), st.sampled_from([LARGEST_SUM, LARGEST_SUM - 1]))
Row = tuple[int, int, int]
"""Row of the queue above, guarantee, ceiling."""


@st.composite
def queue_rows(draw: st.DrawFn) -> list[Row]:
    """Of up to ten queues below the top, each after the one above it."""
    ceilings = st.one_of(st.just(int(UNLIMITED)), st.integers(0, 30))
    return [(draw(st.integers(0, row)), draw(AMOUNTS), draw(ceilings)) for row in range(draw(st.integers(1, 10)))]


def kept_of(rows: list[Row], total: int, ages: list[int]) -> tuple[Kept, list[int]]:
    """What is kept, and the effective guarantees that follow; `ages` are rows, the oldest first."""
    up = np.array([-1, *(above for above, _, _ in rows)], dtype=np.intp)
    own = np.array([[0], *([amount] for _, amount, _ in rows)], dtype=np.int64)
    ceilings = np.array([[total], *([ceiling] for _, _, ceiling in rows)], dtype=np.int64)
    effective = np.array([[each] for each in effective_of(rows, own[:, 0].tolist())[0]], dtype=np.int64)
    kept = keep(own, effective, ceilings, up, lambda: ages)
    return kept, effective_of(rows, kept.own[:, 0].tolist())[0]


def effective_of(rows: list[Row], own: list[int]) -> tuple[list[int], list[int]]:
    """By row: the larger of a queue's own and the sum of those directly below; and that sum."""
    effective, below = own.copy(), [0] * len(own)
    for row in range(len(rows), 0, -1):
        effective[row] = max(own[row], below[row])
        below[rows[row - 1][0]] += effective[row]
    effective[0] = below[0]
    return effective, below


@given(queue_rows(), st.integers(0, 40), st.data())
def test_what_is_kept_is_available_on_every_level(rows: list[Row], total: int, data: st.DataObject) -> None:
    ages = data.draw(st.permutations(range(1, len(rows) + 1)))
    kept, effective = kept_of(rows, total, ages)
    assert effective[0] <= total, "all of them together"
    for row, (_, written, ceiling) in enumerate(rows, start=1):
        own = int(kept.own[row, 0])
        assert effective[row] <= ceiling
        assert own in (0, min(written, ceiling)), "all that the queue may have of it, or nothing"
    short = {each.row: each for each in kept.shortfalls}
    assert {row for row, (_, written, _) in enumerate(rows, start=1) if kept.own[row, 0] < written} == short.keys()
    assert all((each.guaranteed - each.kept) == kept.missing()[row][0] for row, each in short.items())


@given(queue_rows(), st.integers(0, 40), st.data())
def test_admission_does_not_depend_on_age(rows: list[Row], total: int, data: st.DataObject) -> None:
    """So the oldest keeps whatever is legal by itself, and no queue loses by a younger one."""
    ages = data.draw(st.permutations(range(1, len(rows) + 1)))
    kept, _ = kept_of(rows, total, ages)
    older = ages[: data.draw(st.integers(1, len(ages)))]
    without = [(above, amount if row in older else 0, ceiling) for row, (above, amount, ceiling) in enumerate(rows, 1)]
    alone, _ = kept_of(without, total, ages)
    assert [int(kept.own[row, 0]) for row in older] == [int(alone.own[row, 0]) for row in older]


@given(queue_rows(), st.integers(0, 40), st.data())
def test_one_is_left_out_only_when_it_does_not_fit_next_to_the_older(
    rows: list[Row], total: int, data: st.DataObject
) -> None:
    ages = data.draw(st.permutations(range(1, len(rows) + 1)))
    kept, _ = kept_of(rows, total, ages)
    for place, row in enumerate(ages):
        _, written, ceiling = rows[row - 1]
        wanted = min(written, ceiling)
        own = [int(amount) if each in ages[:place] else 0 for each, amount in enumerate(kept.own[:, 0].tolist())]
        own[row] = wanted
        effective, _ = effective_of(rows, own)
        fits = effective[0] <= total and all(effective[each] <= rows[each - 1][2] for each in range(1, len(rows) + 1))
        assert kept.own[row, 0] == (wanted if fits else 0)


GUARANTEES = st.dictionaries(
    st.sampled_from(["cpu", "memory", GPU]), st.sampled_from(["0", "1", "2", "3", "5", "8", "9E", "-1"]), max_size=3
)


@st.composite
def queues(draw: st.DrawFn) -> list[Queue]:
    names = [f"q{number}" for number in range(draw(st.integers(1, 6)))]
    made = []
    for number, name in enumerate(names):
        parent = draw(st.sampled_from(["", *names[:number]]))
        limits = {"guarantee": draw(GUARANTEES), "capability": draw(GUARANTEES), "deserved": draw(GUARANTEES)}
        made.append(queue(name, parent, age=draw(st.integers(0, 3)), **limits))
    return made


@given(st.sampled_from(WAYS), queues(), st.data())
def test_no_plugin_sets_aside_more_than_there_is(way: str, made: list[Queue], data: st.DataObject) -> None:
    """And it does not depend on the order in which queues come."""
    limits: dict[str, Any] = {"cpu": 8, "memory": "9", "devices": {GPU: "4"}}
    of = session(way, *made, **limits)
    facts = reported(of, way)
    top = [each.metadata.name for each in made if way != "tree" or not each.spec.parent]
    for resource, total in (("cpu", 8_000), ("memory", 9), (GPU, 4)):
        guaranteed = {name: facts[name]["guarantee"].get(resource, 0) for name in top}
        assert sum(guaranteed.values()) <= total
        left = total - sum(guaranteed.values())
        for name, own in guaranteed.items():
            ceiling = int(of.ssn.queues[name].capability[of.ssn.axis.names.index(resource)])
            assert facts[name]["real_capability"][resource] == min(left + own, ceiling), "the rest is free for all"
    shuffled = session(way, *data.draw(st.permutations(made)), **limits)
    assert reported(shuffled, way) == facts
    assert events(shuffled) == events(of)
