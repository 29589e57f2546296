"""How much a queue may take: its own ceiling, those of the queues above, and what is kept for others' guarantees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.queues.queue_trees import HIERARCHICAL, allocate, cpus, jobs, opened, queue, reported, room
from tests.support.sessions import Opened, node, open_session, pod, pod_group
from volcano_py.api.objects import ApiObject
from volcano_py.api.reasons import Reason
from volcano_py.framework.votes import PLENTY, Room
from volcano_py.state.task_class import Refusal

GPU = "nvidia.com/gpu"


def refusal(session: Opened, pod: str) -> str:
    """What stops one more pod like this one."""
    found = room(session, pod).refusal
    assert found is not None
    return f"{found.reason.value}: {found.message}"


# -- ceilings -----------------------------------------------------------------------------------------------------


def test_room_is_the_least_that_the_queue_or_any_above_has_left() -> None:
    session = opened(
        queue("a", capability=100),
        queue("a1", "a", capability=70),
        queue("a2", "a"),
        jobs("one", "a1", 60),
        jobs("two", "a2", 35),
        jobs("more1", "a1", running=0),
        jobs("more2", "a2", 2, running=0, cpu="2"),
    )
    assert room(session, "more1-0") == Room(5), "a has less left than a1"
    assert room(session, "more2-0") == Room(2), "five cpus, two at a time"
    session.place("more2", {"more2-0": "n1", "more2-1": "n1"})
    assert room(session, "more1-0") == Room(1)


def test_a_pod_that_its_parent_has_no_room_for_is_refused_in_its_parents_name() -> None:
    """The leaf could have it: 43 <= 90."""
    session = opened(
        queue("child-queue-a", guarantee=32, capability=100),
        queue("child-queue-b", guarantee=16),
        queue("a1", "child-queue-a", guarantee=10),
        queue("a2", "child-queue-a", guarantee=6),
        jobs("one", "a1", 60),
        jobs("two", "a2", 35),
        jobs("eight", "a2", running=0, cpu="8"),
    )
    assert refusal(session, "eight-0") == (
        "OverCapability: queue child-queue-a, above a2: 95 cpu allocated + 8 asked > 100 capability; "
        "wait until jobs of the queue finish, or raise its spec.capability"
    )
    assert allocate(session)["a2"] == 35


def test_an_inherited_ceiling_is_reported_as_that_of_the_queue_that_has_it() -> None:
    session = opened(queue("a", capability=3), queue("a1", "a"), jobs("j", "a1", 4, running=3))
    assert refusal(session, "j-3").startswith("OverCapability: queue a, above a1: 3 cpu allocated + 1 asked > 3 cap")


def test_a_queues_own_ceiling_is_reported_as_its_own() -> None:
    session = opened(queue("a", capability=9), queue("a1", "a", capability=3), jobs("j", "a1", 4, running=3))
    assert refusal(session, "j-3").startswith("OverCapability: queue a1: 3 cpu allocated + 1 asked > 3 capability;")


def test_a_queue_may_borrow_past_what_it_and_its_parent_deserve() -> None:
    session = opened(
        queue("a", deserved=64, capability=100),
        queue("a1", "a", deserved=32),
        queue("b", deserved=64),
        jobs("job-a", "a1", 110, running=0),
    )
    assert allocate(session) == {"root": 100, "a": 100, "a1": 100}


def test_what_only_the_cluster_bounds_is_refused_by_the_nodes() -> None:
    session = opened(queue("a"), jobs("j", "a", 5, running=4), cpu=4)
    assert room(session, "j-4") == PLENTY
    allocate(session)
    (error,) = session.ssn.findings.fit_errors[session.job("j").row].values()
    assert error.refusal.reason is Reason.NODES_REFUSE


def test_a_pod_larger_than_every_node_is_refused_by_the_nodes() -> None:
    session = opened(queue("a", capability=2), jobs("huge", "a", running=0, cpu="99"), cpu=4)
    allocate(session)
    (error,) = session.ssn.findings.fit_errors[session.job("huge").row].values()
    assert error.refusal.reason is Reason.NEVER_FITS


def test_devices_are_bounded_like_everything_else() -> None:
    session = opened(
        queue("a", capability={GPU: "2"}), queue("a1", "a"), jobs("j", "a1", 4, running=0, devices={GPU: "1"}),
        devices={GPU: "8"},
    )  # fmt: skip
    assert room(session, "j-0") == Room(2)


def test_places_for_pods_are_not_held_against_a_queue() -> None:
    session = opened(queue("a", capability={"pods": "1"}), jobs("j", "a", 3, running=0))
    assert allocate(session)["a"] == 3


def test_smaller_pods_behind_one_that_exceeds_the_ceiling_are_still_tried() -> None:
    session = opened(
        queue("a", capability=4),
        pod_group("j", queue="a"),
        pod("j-0", group="j", cpu="5"),
        pod("j-1", group="j", cpu="3"),
    )
    assert allocate(session)["a"] == 3


# -- guarantees ---------------------------------------------------------------------------------------------------


def test_what_a_queue_is_guaranteed_is_not_lent_to_several_others_together() -> None:
    """Each of them alone could have 80."""
    session = opened(
        queue("kept", guarantee=20), queue("y"), queue("z"), jobs("yj", "y", 50), jobs("zj", "z", 31, running=30),
        cpu=100,
    )  # fmt: skip
    assert refusal(session, "zj-30") == (
        "OverCapability: queue z: 30 cpu allocated (queue root: 80 of 100) + 1 asked > 30 left by other "
        "queues' guarantees (kept: 20 cpu); "
        "wait until jobs of the queue finish, or lower the guarantees of other queues"
    )


def test_the_queues_with_the_largest_guarantees_are_named_without_what_they_hold_already() -> None:
    """Those within a queue above say who holds what it reserves; what others hold is held, not kept."""
    guaranteed = {"small": 5, "large": 20, "tiny": 2, "last": 1}
    session = opened(
        queue("a", guarantee=12), queue("a1", "a", guarantee=10), queue("y"), jobs("k", "large", 12),
        *(queue(name, guarantee=amount) for name, amount in guaranteed.items()),
        jobs("yj", "y", 60, running=59),
        cpu=99,
    )  # fmt: skip
    assert "> 59 left by other queues' guarantees (a1: 10 cpu, large: 8 cpu, small: 5 cpu, and 3 more queues);" in (
        refusal(session, "yj-59")
    )


def test_what_is_kept_is_reported_as_it_is_at_that_moment() -> None:
    session = opened(
        queue("kept", guarantee=20), queue("y"), jobs("k", "kept", 15, running=5), jobs("yj", "y", 81, running=80),
        cpu=100,
    )  # fmt: skip
    assert "(kept: 15 cpu)" in refusal(session, "yj-80")
    session.place("k", {"k-5": "n1", "k-6": "n1"})
    assert "(kept: 13 cpu)" in refusal(session, "yj-80")


def test_what_is_kept_for_the_queue_itself_and_those_above_it_is_not_reported() -> None:
    session = opened(
        queue("a", guarantee=30), queue("a1", "a", guarantee=5), queue("a2", "a", guarantee=6),
        jobs("j", "a1", 95, running=94), cpu=100,
    )  # fmt: skip
    assert "> 94 left by other queues' guarantees (a2: 6 cpu);" in refusal(session, "j-94")


def test_what_is_held_within_the_guarantee_counts_once() -> None:
    session = opened(
        queue("kept", guarantee=20), queue("y"), jobs("k", "kept", 15), jobs("yj", "y", 90, running=70), cpu=100
    )
    assert room(session, "yj-70") == Room(10)
    session.place("yj", {f"yj-{number}": "n1" for number in range(70, 80)})
    assert room(session, "yj-80").count == 0


def test_a_guarantee_is_available_when_everything_else_is_taken() -> None:
    session = opened(
        queue("root", capability=100),
        queue("kept", guarantee=20),
        queue("y"),
        jobs("k", "kept", 30, running=0),
        jobs("yj", "y", 91, running=90),
    )
    assert room(session, "k-0") == Room(10), "up to the last cpu, although y holds some of what was kept for it"
    assert room(session, "yj-90").count == 0


def test_guarantees_are_kept_on_every_level() -> None:
    """a is full of a1, which took what b might have had, but not what a2 is guaranteed inside of a."""
    session = opened(
        queue("a", guarantee=16, capability=60),
        queue("a1", "a"),
        queue("a2", "a", guarantee=10),
        queue("b"),
        jobs("one", "a1", 60, running=49),
        jobs("two", "a2", 12, running=0),
        jobs("other", "b", 100, running=30),
        cpu=100,
    )
    assert room(session, "one-49") == Room(1), "60 - 49 - 10 kept for a2"
    assert room(session, "other-30") == Room(11), "100 - 30 - 49 - 10 kept for a2: a holds its own guarantee already"
    assert room(session, "two-0") == Room(11), "60 - 49"


def test_what_is_kept_for_a_grandchild_is_reported_to_the_branch_that_competes_with_it() -> None:
    session = opened(
        queue("a"), queue("a1", "a", guarantee=10), queue("b"), queue("b1", "b"), jobs("j", "b1", 91, running=90),
        cpu=100,
    )  # fmt: skip
    assert refusal(session, "j-90").startswith(
        "OverCapability: queue b, above b1: 90 cpu allocated (queue root: 90 of 100) + 1 asked > 90 left by other"
    )


def test_side_by_side_guarantees_are_kept_too() -> None:
    session = opened(
        queue("kept", guarantee=20), queue("y"), queue("z"), jobs("yj", "y", 50), jobs("zj", "z", 31, running=30),
        cpu=100, hierarchy=False,
    )  # fmt: skip
    assert refusal(session, "zj-30").startswith(
        "OverCapability: queue z: 30 cpu allocated (all queues: 80 of 100) + 1 asked > 30 left by other queues'"
    )


def test_side_by_side_a_queue_is_bound_by_its_own_ceiling_only() -> None:
    session = opened(
        queue("a", capability=1), queue("a1", "a", capability=3), jobs("j", "a1", 5, running=0), hierarchy=False
    )
    assert allocate(session) == {"a1": 3}


# -- states -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("own", "above", "shut"), [("Closed", "Open", "a1"), ("Open", "Closing", "a")])
def test_a_queue_that_is_closed_or_below_a_closed_one_starts_nothing(own: str, above: str, shut: str) -> None:
    session = opened(queue("a", state=above), queue("a1", "a", state=own), jobs("j", "a1", running=0))
    state = "Closed" if own == "Closed" else "Closing"
    remedy = f"open it (volcano-py queue open --name {shut}) or choose another queue"
    text = f"queue {shut} is {state} and starts no jobs: {remedy}"
    assert room(session, "j-0") == Room(0, Refusal(Reason.QUEUE_CLOSED, text))
    assert allocate(session) == {}


@pytest.mark.parametrize("above", ["", "Unknown"])
def test_a_queue_above_of_which_nothing_is_known_closes_nothing(above: str) -> None:
    session = opened(queue("a", state=above), queue("a1", "a", state=""), jobs("j", "a1", running=0))
    assert allocate(session)["a1"] == 1


# -- mistakes stop only the jobs they touch -------------------------------------------------------------------------


def notes(session: Opened) -> dict[str, str]:
    """Job → why it was passed over."""
    allocate(session)
    keys = session.ssn.snapshot.job_keys
    return {
        keys[row].removeprefix("team/"): f"{no.reason.value}: {no.message}"
        for row, no in session.ssn.findings.notes.items()
    }


def test_a_job_in_a_queue_with_queues_below_it_waits_and_the_jobs_below_go_on() -> None:
    session = opened(
        queue("a"), queue("a2", "a"), queue("a1", "a"), jobs("stray", "a", running=0), jobs("fine", "a1", running=0)
    )
    assert notes(session) == {
        "stray": "InvalidQueue: queue a: has queues below it (a1, a2), and jobs run only in leaf queues; name one in "
        "spec.queue of the PodGroup"
    }
    assert cpus(session, "allocated") == {"root": 1, "a": 1, "a1": 1}


def test_of_many_queues_below_three_are_named() -> None:
    session = opened(queue("a"), *(queue(f"a{n}", "a") for n in range(5)), jobs("stray", "a", running=0))
    assert "has queues below it (a0, a1, a2 and 2 more), and" in notes(session)["stray"]


def test_root_runs_no_jobs() -> None:
    session = opened(jobs("stray", "root", running=0), jobs("fine", "default", running=0))
    assert notes(session)["stray"].startswith("InvalidQueue: queue root: has queues below it (default)")
    assert cpus(session, "allocated") == {"root": 1, "default": 1}


def test_jobs_of_queues_without_a_place_in_the_tree_wait_and_others_go_on() -> None:
    session = opened(
        queue("lost", "gone"),
        queue("below", "lost"),
        queue("x", "y"),
        queue("y", "x"),
        queue("fine"),
        *(jobs(f"in-{name}", name, running=0) for name in ("lost", "below", "x", "fine")),
    )
    missing = "spec.parent is gone, which does not exist; create it or name another queue"
    assert notes(session) == {
        "in-lost": f"InvalidQueue: queue lost: {missing}",
        "in-below": f"InvalidQueue: queue below: is below queue lost, which is invalid: {missing}",
        "in-x": "InvalidQueue: queue x: spec.parent leads back to this queue (x → y → x); name another queue in one "
        "of them",
    }
    assert cpus(session, "allocated") == {"root": 1, "fine": 1}


def test_what_runs_in_such_queues_counts_for_root_and_is_not_lent_twice() -> None:
    session = opened(
        queue("lost", "gone"), queue("kept", guarantee=20), queue("y"), jobs("l", "lost", 30),
        jobs("yj", "y", 60, running=0), cpu=100,
    )  # fmt: skip
    assert cpus(session, "allocated") == {"root": 30, "lost": 30}
    assert room(session, "yj-0") == Room(50)


def test_what_strays_hold_counts_for_the_inner_queue() -> None:
    session = opened(queue("a", capability=5), queue("a1", "a"), jobs("stray", "a", 3), jobs("j", "a1", 4, running=0))
    assert room(session, "j-0") == Room(2)


def test_side_by_side_there_is_no_tree_to_break() -> None:
    session = opened(
        queue("lost", "gone"), queue("a"), queue("a1", "a"), jobs("l", "lost", running=0), jobs("i", "a", running=0),
        hierarchy=False,
    )  # fmt: skip
    assert allocate(session) == {"lost": 1, "a": 1}


def test_without_a_root_queue_there_is_a_root_all_the_same() -> None:
    session = open_session(node("n1"), queue("a"), jobs("j", "a", 9, running=0), tiers=[[HIERARCHICAL]])
    assert "root" not in reported(session)
    assert allocate(session) == {"a": 8}


# -- whatever is asked for ----------------------------------------------------------------------------------------

AMOUNT = st.one_of(st.none(), st.integers(0, 20))


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[tuple[str, str, dict[str, Any]]], list[tuple[str, int, int]]]:
    """Queues (name, parent, limits), and jobs (queue, pods, cpus a pod)."""
    queues: list[tuple[str, str, dict[str, Any]]] = []
    for number in range(draw(st.integers(1, 7))):
        parent = draw(st.sampled_from(["", *(name for name, _, _ in queues)]))
        limits = {field: draw(AMOUNT) for field in ("capability", "deserved", "guarantee")}
        queues.append((f"q{number}", parent, {field: value for field, value in limits.items() if value is not None}))
    wanted = st.tuples(st.sampled_from([name for name, _, _ in queues]), st.integers(1, 8), st.integers(1, 3))
    return queues, draw(st.lists(wanted, min_size=1, max_size=6))


def parts(
    queues: list[tuple[str, str, dict[str, Any]]], wanted: list[tuple[str, int, int]]
) -> tuple[list[ApiObject], list[ApiObject]]:
    made: list[ApiObject] = [queue(name, parent, **limits) for name, parent, limits in queues]
    work = [
        each
        for number, (name, pods, cpu) in enumerate(wanted)
        for each in jobs(f"j{number}", name, pods, running=0, cpu=str(cpu), age=float(number))
    ]
    return made, work


@given(clusters(), st.integers(5, 40), st.data())
def test_no_queue_exceeds_its_capability_and_no_guarantee_is_lent(
    cluster: tuple[list[tuple[str, str, dict[str, Any]]], list[tuple[str, int, int]]], cpu: int, data: st.DataObject
) -> None:
    queues, wanted = cluster
    made, work = parts(queues, wanted)
    session = opened(*made, *work, cpu=cpu)
    before = reported(session)
    held = allocate(session)
    parents = {name: parent or "root" for name, parent, _ in queues}
    needed = _needed(parents, before, held)
    for name, facts in before.items():
        assert held.get(name, 0) * 1000 <= facts["real_capability"].get("cpu", 0)
    if needed_at_rest(parents, before)["root"] <= cpu * 1000:
        assert needed["root"] <= cpu * 1000, "what is guaranteed is still there to be had"
    again = opened(*data.draw(st.permutations(made)), *work, cpu=cpu)
    assert allocate(again) == held, "in whatever order queues come"


def needed_at_rest(parents: dict[str, str], facts: dict[str, dict[str, Any]]) -> dict[str, int]:
    return _needed(parents, facts, {})


def _needed(parents: dict[str, str], facts: dict[str, dict[str, Any]], held: dict[str, float]) -> dict[str, int]:
    """Queue → millicores that it and the queues below hold or are guaranteed, worked out from the leaves up."""

    def of(name: str) -> int:
        below = [child for child, parent in parents.items() if parent == name]
        own = sum(map(of, below)) if below else round(held.get(name, 0) * 1000)
        return max(own, int(facts[name]["guarantee"].get("cpu", 0))) if name != "root" else own

    return {name: of(name) for name in (*parents, "root")}
