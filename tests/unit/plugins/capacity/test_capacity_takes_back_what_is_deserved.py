"""reclaim between queues of capacity: who may take, whose pods go, in which order; and that it comes to an end.

The tree of the user guide, on a node of 128 cpu:

    root ── a (64) ── a1 (32), a2 (32)
    └─ b (64)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.policies import Ruthless
from tests.support.queues.queue_trees import HIERARCHICAL, jobs, opened, queue, root
from tests.support.sessions import Objects, Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import Queue
from volcano_py.framework.eviction.victims import expendable_first
from volcano_py.framework.plugin import Plugin
from volcano_py.plugins.conformance import Conformance
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.priority import Priority

GPU = "nvidia.com/gpu"


def tree(**fields: dict[str, Any]) -> list[Queue]:
    deserved = {"a": 64, "b": 64, "a1": 32, "a2": 32}
    parents = {"a1": "a", "a2": "a"}
    return [
        queue(name, parents.get(name, ""), **{"deserved": amount, **fields.get(name, {})})
        for name, amount in deserved.items()
    ]


def victims(session: Opened, reclaimer: str, *holding: str) -> dict[str, int]:
    """Job → how many of its pods would go for the reclaimer."""
    found = session.victims("reclaimable", reclaimer, session.running(*holding))
    assert not session.ssn.dispatch.failures.counts
    jobs_of = [name.rpartition("-")[0] for name in found]
    return {job: jobs_of.count(job) for job in sorted(set(jobs_of))}


def may_take(session: Opened, *pods: str) -> bool:
    job = session.task(pods[0]).job
    return session.ssn.ask.preemptive(job.queue, session.rows(*pods))


# -- whose pods go ------------------------------------------------------------------------------------------------


def test_queues_give_what_they_hold_beyond_what_they_deserve() -> None:
    session = opened(
        tree(),
        jobs("job-a", "a1", 5, cpu="8"),
        jobs("job-c", "b", 11, cpu="8"),
        jobs("job-b", "a2", 4, running=0, cpu="8"),
    )
    assert victims(session, "job-b-0", "job-a", "job-c") == {"job-a": 1, "job-c": 3}
    session.evict("job-a-4")
    session.pipeline("job-b", {"job-b-0": "n1"})
    assert victims(session, "job-b-1", "job-a", "job-c") == {"job-c": 3}


def test_a_sibling_within_what_it_deserves_is_spared() -> None:
    session = opened(
        tree(),
        jobs("job-a", "a1", 4, cpu="8"),
        jobs("job-c", "b", 12, cpu="8"),
        jobs("job-b", "a2", 4, running=0, cpu="8"),
    )
    assert victims(session, "job-b-0", "job-a", "job-c") == {"job-c": 4}


def test_the_last_pod_may_leave_its_queue_below_what_it_deserves() -> None:
    session = opened(tree(), jobs("large", "b", 3, cpu="30"), jobs("j", "a1", running=0))
    assert victims(session, "j-0", "large") == {"large": 1}, "90 → 60 of 64"


def test_what_was_evicted_before_counts() -> None:
    session = opened(tree(), jobs("rich", "b", 70), jobs("j", "a1", running=0))
    session.evict("rich-0", "rich-1")
    assert victims(session, "j-0", "rich") == {"rich": 4}


def test_only_pods_that_hold_some_of_what_is_asked_for_go() -> None:
    session = opened(
        tree(b={"deserved": {"cpu": "1", GPU: "1"}}, a1={"deserved": {"cpu": "32", GPU: "4"}}),
        jobs("cpus", "b", 9),
        jobs("gpus", "b", 3, cpu="", devices={GPU: "1"}),
        jobs("wants-gpu", "a1", running=0, cpu="", devices={GPU: "1"}),
        jobs("wants-cpu", "a1", running=0),
        devices={GPU: "8"},
    )
    assert victims(session, "wants-gpu-0", "cpus", "gpus") == {"gpus": 2}
    assert victims(session, "wants-cpu-0", "cpus", "gpus") == {"cpus": 8}


def test_a_queue_that_deserves_nothing_of_a_resource_gives_all_of_it() -> None:
    session = opened(tree(b={"deserved": {"memory": "1Gi"}}), jobs("free", "b", 5), jobs("j", "a1", running=0))
    assert victims(session, "j-0", "free") == {"free": 5}


def test_an_entitlement_to_nothing_is_one_too() -> None:
    """b deserves 0 GPUs: the memory that it does deserve does not protect them."""
    session = opened(
        tree(b={"deserved": {"memory": "99Gi", GPU: "0"}}, a1={"deserved": {GPU: "4"}}),
        jobs("held", "b", 2, cpu="", memory="1Gi", devices={GPU: "1"}),
        jobs("j", "a1", running=0, cpu="", devices={GPU: "1"}),
        devices={GPU: "8"},
    )
    assert victims(session, "j-0", "held") == {"held": 2}


def test_what_is_guaranteed_is_not_taken() -> None:
    session = opened(tree(b={"deserved": 5, "guarantee": 5}), jobs("held", "b", 3, cpu="3"), jobs("j", "a1", running=0))
    assert victims(session, "j-0", "held") == {"held": 1}, "9 → 6, and 3 would be less than 5"


def test_what_an_inner_queue_is_guaranteed_is_not_taken_from_below_it() -> None:
    """b1 deserves nothing, b has 6 guaranteed: of its 9 only 3 may go to a; to its sibling all may."""
    session = opened(
        queue("a", deserved=20), queue("b", deserved=6, guarantee=6), queue("b1", "b"), queue("b2", "b", deserved=6),
        jobs("held", "b1", 9), jobs("cousin", "a", running=0), jobs("sibling", "b2", running=0), cpu=9,
    )  # fmt: skip
    assert victims(session, "cousin-0", "held") == {"held": 3}
    assert victims(session, "sibling-0", "held") == {"held": 9}


def test_guarantees_in_resources_that_a_pod_does_not_hold_do_not_protect_it() -> None:
    session = opened(
        tree(b={"deserved": {"cpu": "1", GPU: "4"}, "guarantee": {GPU: "4"}}),
        jobs("held", "b", 3), jobs("j", "a1", running=0), devices={GPU: "8"},
    )  # fmt: skip
    assert victims(session, "j-0", "held") == {"held": 2}


def test_the_least_important_go() -> None:
    session = opened(
        tree(b={"deserved": 5}),
        jobs("precious", "b", 5, priority=10),
        jobs("spare", "b", 1),
        jobs("j", "a1", running=0),
    )
    assert victims(session, "j-0", "precious", "spare") == {"spare": 1}


def test_a_smaller_pod_may_go_where_a_larger_one_may_not() -> None:
    session = opened(
        tree(b={"deserved": 4, "guarantee": 4}),
        pod_group("held", queue="b"),
        pod("large", group="held", cpu="3", on="n1"),
        pod("small", group="held", cpu="1", on="n1", priority=5),
        pod("other", group="held", cpu="2", on="n1", priority=9),
        jobs("j", "a1", running=0),
    )
    assert session.victims("reclaimable", "j-0", session.running("held")) == ["small"], "6 - 3 < 4, 6 - 1 is not"


def test_mistakes_in_the_tree_cost_no_pods() -> None:
    session = opened(
        tree(), queue("lost", "gone"), jobs("in-lost", "lost", 9), jobs("stray", "a", 9), jobs("j", "a1", running=0)
    )
    assert victims(session, "j-0", "in-lost", "stray") == {}


@pytest.mark.parametrize("where", ["lost", "a", "shut"])
def test_a_job_that_cannot_start_takes_nothing(where: str) -> None:
    session = opened(
        tree(), queue("lost", "gone"), queue("shut", state="Closed"), jobs("rich", "b", 70), jobs("j", where, running=0)
    )
    assert not may_take(session, "j-0")
    assert victims(session, "j-0", "rich") == {}


def test_pods_of_a_queue_that_is_gone_are_spared() -> None:
    session = opened(tree(), jobs("orphans", "vanished", 9), jobs("j", "a1", running=0))
    rows = session.rows(*(f"orphans-{index}" for index in range(9)))
    assert session.victims("reclaimable", "j-0", rows) == []


@pytest.mark.parametrize(
    "tiers",
    [[[Ruthless], [HIERARCHICAL]], [[Priority, Gang], [HIERARCHICAL]], [[Gang, Conformance], [HIERARCHICAL, Ruthless]]],
    ids=["a ruthless tier before", "the guide's tiers", "beside a ruthless plugin"],
)
def test_no_other_tier_can_take_what_a_queue_deserves(tiers: list[list[type[Plugin]]]) -> None:
    session = open_session(
        root(), node("n1", cpu="128"), tree(), jobs("rich", "b", 70), jobs("j", "a1", running=0), tiers=tiers
    )
    assert victims(session, "j-0", "rich") == {"rich": 6}


def test_side_by_side_the_tree_does_not_matter() -> None:
    session = opened(
        tree(), queue("lost", "gone", deserved=2), jobs("in-lost", "lost", 5), jobs("in-a", "a", 66),
        jobs("j", "a1", running=0), hierarchy=False,
    )  # fmt: skip
    assert victims(session, "j-0", "in-lost", "in-a") == {"in-a": 2, "in-lost": 3}
    assert not session.ssn.dispatch.calls("victim_queue_order")


# -- the order of queues ------------------------------------------------------------------------------------------


def test_siblings_give_before_cousins_and_those_before_what_is_further_away() -> None:
    session = opened(
        queue("a"), queue("x", "a"), queue("x1", "x"), queue("x2", "x"), queue("y", "a"), queue("y1", "y"), queue("b"),
        *(jobs(f"in-{name}", name) for name in ("x2", "y1", "b")), jobs("j", "x1", running=0),
    )  # fmt: skip
    names = ("b", "y1", "x2")
    order = session.ssn.ask.victim_queues([session.ssn.queues[name] for name in names], session.task("j-0"))
    assert [each.name for each in order] == ["x2", "y1", "b"]


def test_of_equally_near_queues_the_last_in_queue_order_gives_first() -> None:
    session = opened(
        queue("a", deserved=10), queue("b", deserved=10), queue("c", deserved=10, priority=3), queue("j", deserved=10),
        jobs("in-a", "a", 12), jobs("in-b", "b", 15), jobs("in-c", "c", 99), jobs("j", "j", running=0),
    )  # fmt: skip
    order = session.ssn.ask.victim_queues([session.ssn.queues[name] for name in "abc"], session.task("j-0"))
    assert [each.name for each in order] == ["b", "a", "c"]


# -- who may take -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("held", "may"), [(0, True), (31, True), (32, False)])
def test_only_a_queue_that_stays_within_what_it_deserves_takes(held: int, may: bool) -> None:
    session = opened(tree(), jobs("has", "a2", held + 1, running=held), jobs("rich", "b", 90))
    assert may_take(session, f"has-{held}") is may


def test_tasks_together_must_stay_within_it() -> None:
    session = opened(tree(), jobs("j", "a2", 40, running=0))
    names = [f"j-{number}" for number in range(33)]
    assert may_take(session, *names[:32])
    assert not may_take(session, *names)


def test_one_resource_that_is_asked_for_is_enough() -> None:
    session = opened(
        tree(a2={"deserved": {"cpu": "1", GPU: "4"}}),
        jobs("has", "a2", 5),
        jobs("gpu", "a2", running=0, devices={GPU: "1"}),
        jobs("cpu", "a2", running=0),
        devices={GPU: "8"},
    )
    assert may_take(session, "gpu-0")
    assert not may_take(session, "cpu-0")


def test_a_queue_at_its_capability_takes_nothing() -> None:
    session = opened(tree(a2={"capability": 3}), jobs("has", "a2", 4, running=3))
    assert not may_take(session, "has-3")


def test_pods_that_ask_for_nothing_take_nothing() -> None:
    session = opened(tree(), jobs("rich", "b", 90), jobs("light", "a2", running=0, cpu=""))
    assert not may_take(session, "light-0")
    assert victims(session, "light-0", "rich") == {}


# -- ancestors ----------------------------------------------------------------------------------------------------


def deep(level: int, *more: Objects) -> Opened:
    """b is below what it deserves although b1 is beyond; a has room although a2 has none."""
    return opened(
        queue("a", deserved=64), queue("a1", "a", deserved=64), queue("a2", "a"),
        queue("b", deserved=64), queue("b1", "b", deserved=4), queue("b2", "b", deserved=60),
        queue("c", deserved=1), jobs("in-b1", "b1", 20), jobs("in-c", "c", 9), *more, level=level,
    )  # fmt: skip


@pytest.mark.parametrize(("level", "given"), [(0, {"in-b1": 16, "in-c": 8}), (1, {"in-c": 8})])
def test_with_a_level_queues_above_the_victim_must_exceed_what_they_deserve_too(
    level: int, given: dict[str, int]
) -> None:
    session = deep(level, jobs("j", "a1", running=0))
    assert victims(session, "j-0", "in-b1", "in-c") == given


@pytest.mark.parametrize(("level", "may"), [(0, False), (1, True), (7, True)])
def test_with_a_level_a_queue_may_take_by_the_right_of_one_above_it(level: int, may: bool) -> None:
    assert may_take(deep(level, jobs("j", "a2", running=0)), "j-0") is may


def test_reclaiming_for_a_queue_above_takes_from_outside_of_it() -> None:
    """Siblings with the same right would take from each other in turn."""
    session = deep(1, jobs("in-a1", "a1", 70), jobs("j", "a2", running=0))
    assert not may_take(session, "j-0"), "a is beyond what it deserves"
    session = deep(1, jobs("in-a1", "a1", 3), queue("a3", "a"), jobs("in-a3", "a3", 5), jobs("j", "a2", running=0))
    assert may_take(session, "j-0")
    assert victims(session, "j-0", "in-a1", "in-a3", "in-c") == {"in-c": 8}


def test_kin_that_deserve_nothing_are_spared_by_kin_that_deserve_nothing() -> None:
    session = opened(
        queue("p", deserved=40), queue("x", "p", deserved=20), queue("x1", "x"), queue("y", "p"), queue("y1", "y"),
        jobs("held", "y1", 30), jobs("j", "x1", running=0), level=2,
    )  # fmt: skip
    assert may_take(session, "j-0")
    assert victims(session, "j-0", "held") == {}


def test_a_common_queue_is_not_judged_at_whatever_depth_it_is_met() -> None:
    """What p loses it gets back."""
    session = opened(
        queue("p", deserved=90), queue("x", "p", deserved=1), queue("x1", "x", deserved=1), queue("q", "p", deserved=9),
        jobs("held", "x1", 5), jobs("j", "q", running=0), level=2,
    )  # fmt: skip
    assert victims(session, "j-0", "held") == {"held": 4}


# -- it comes to an end -------------------------------------------------------------------------------------------


def test_two_queues_that_each_lack_what_the_other_has_too_much_of_do_not_take_the_same_places_in_turn() -> None:
    """Both are beyond their cpus and below their GPUs: what one could take of these, the other could have back."""
    both = {"deserved": {"cpu": "2", GPU: "4"}}
    session = opened(
        tree(a={"deserved": 128}, a1=both, a2=both),
        jobs("cpus1", "a1", 9), jobs("gpu1", "a1", 3, running=2, devices={GPU: "1"}),
        jobs("cpus2", "a2", 9), jobs("gpu2", "a2", 3, running=2, devices={GPU: "1"}), devices={GPU: "4"},
    )  # fmt: skip
    assert may_take(session, "gpu1-2")
    assert victims(session, "gpu1-2", "gpu2", "cpus2") == {"cpus2": 9}
    assert victims(session, "gpu2-2", "gpu1", "cpus1") == {"cpus1": 9}


def test_nor_do_two_branches_by_whose_right_queues_take() -> None:
    both: dict[str, Any] = {"deserved": {"cpu": "0", GPU: "1"}}
    session = opened(
        queue("a", **both), queue("a1", "a"), queue("b", **both), queue("b1", "b"),
        jobs("in-a1", "a1", devices={GPU: "1"}), jobs("j", "b1", running=0, devices={GPU: "1"}), level=1,
        devices={GPU: "1"},
    )  # fmt: skip
    assert may_take(session, "j-0")
    assert victims(session, "j-0", "in-a1") == {}


QUEUES = {"a": "", "a1": "a", "a2": "a", "b": "", "b1": "b", "b2": "b"}
LEAVES = ("a1", "a2", "b1", "b2")
SMALL = st.one_of(st.none(), st.integers(0, 6))
PODS = st.tuples(st.sampled_from(LEAVES), st.integers(0, 2), st.integers(0, 2), st.integers(1, 3))
"""Queue, cpus, GPUs, priority."""


@st.composite
def standings(draw: st.DrawFn, least: int = 1) -> tuple[list[Queue], list[tuple[str, int, int, int]], int]:
    """Queues, running pods, and the ancestorReclaimLevel."""

    def amounts() -> dict[str, str]:
        chosen = {"cpu": draw(SMALL), GPU: draw(SMALL)}
        return {name: str(value) for name, value in chosen.items() if value is not None}

    made = [
        queue(name, parent, deserved=amounts(), guarantee=amounts() if draw(st.integers(0, 3)) == 0 else {})
        for name, parent in QUEUES.items()
    ]
    return made, draw(st.lists(PODS, min_size=least, max_size=14)), draw(st.integers(0, 2))


def standing(
    queues: list[Queue], pods: list[tuple[str, int, int, int]], level: int, *waiting: tuple[str, int, int]
) -> Opened:
    def pod_of(number: int, cpu: int, gpu: int, **more: Any) -> list[Any]:
        devices = {GPU: str(gpu)} if gpu else {}
        group = more.pop("group")
        return [pod(f"{group}-{number}", group=group, cpu=str(cpu) if cpu else "", devices=devices, **more)]

    running = [
        each
        for number, (name, cpu, gpu, priority) in enumerate(pods)
        for each in pod_of(number, cpu, gpu, group=f"in-{name}", on="n1", priority=priority)
    ]
    pending = [
        each
        for number, (name, cpu, gpu) in enumerate(waiting)
        for each in (pod_group(f"want{number}", queue=name), *pod_of(0, cpu, gpu, group=f"want{number}"))
    ]
    groups = [pod_group(f"in-{name}", queue=name, phase="Running") for name in LEAVES]
    return opened(queues, groups, running, pending, level=level, devices={GPU: "64"})


@given(standings(least=2), st.sampled_from(LEAVES), st.integers(0, 2), st.integers(0, 2))
def test_the_outcome_is_that_of_looking_at_one_candidate_after_the_other(
    cluster: tuple[list[Queue], list[tuple[str, int, int, int]], int], claimant: str, cpu: int, gpu: int
) -> None:
    """Asked about one at a time, with those taken before evicted."""
    queues, pods, level = cluster
    session = standing(queues, pods, level, (claimant, cpu, gpu))
    assume(may_take(session, "want0-0"))
    ssn, task = session.ssn, session.task("want0-0")
    candidates = session.running(*(f"in-{name}" for name in LEAVES))
    candidates = candidates[ssn.ledger.jobs.queue[ssn.ledger.tasks.job[candidates]] != task.job.queue.slot]
    together = set(session.names(ssn.ask.victims("reclaimable", task, candidates)))
    possible = set(session.names(ssn.ask.possible_victims("reclaimable", task, candidates)))
    one_by_one = []
    for row in expendable_first(ssn.ledger.tasks, candidates).tolist():
        if len(ssn.ask.victims("reclaimable", task, np.array([row], dtype=np.intp))):
            one_by_one.extend(session.names(np.array([row])))
            session.evict(*one_by_one[-1:])
    assert together == set(one_by_one)
    assert together <= possible
    assert not ssn.dispatch.failures.counts


@given(standings(), st.tuples(st.sampled_from(LEAVES), st.integers(0, 2), st.integers(0, 2)))
def test_no_victim_could_evict_its_evictor(
    cluster: tuple[list[Queue], list[tuple[str, int, int, int]], int], wanted: tuple[str, int, int]
) -> None:
    """One pod for one pod: after the exchange the same rules do not allow it back."""
    queues, pods, level = cluster
    session = standing(queues, pods, level, wanted)
    assume(may_take(session, "want0-0"))
    candidates = session.running(*(f"in-{name}" for name in LEAVES if name != wanted[0]))
    found = session.victims("reclaimable", "want0-0", candidates)
    for victim in found:
        lost = pods[int(victim.rpartition("-")[2])]
        kept = [each for number, each in enumerate(pods) if number != int(victim.rpartition("-")[2])]
        after = standing(queues, [*kept, (*wanted, 1)], level, lost[:3])
        evictor = after.rows(f"in-{wanted[0]}-{len(kept)}")
        assert not (may_take(after, "want0-0") and after.victims("reclaimable", "want0-0", evictor)), victim
