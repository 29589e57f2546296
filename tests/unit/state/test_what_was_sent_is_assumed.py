"""Bindings and evictions count from the moment they are handed over, until the API server says otherwise."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.sessions import NAMESPACE, NOW, node, pod, pod_group
from tests.unit.state.watched import Watched, deleted, on, with_meta
from volcano_py.api.effects import Bind, ObjectRef, PodCondition, PodGroupStatusUpdate
from volcano_py.api.objects import Condition, Pod, PodGroupStatus
from volcano_py.api.reasons import Reason
from volcano_py.state.pods import LONGEST_PAUSE
from volcano_py.state.snapshot import Phase
from volcano_py.state.status import TaskStatus
from volcano_py.state.table.change import Change

WAITS = pod("a", group="g", cpu="1")
RUNS = pod("a", group="g", cpu="1", on="n1")
UID = WAITS.metadata.uid


@pytest.fixture
def watched() -> Watched:
    """A waiting pod and two nodes of 4 cpu."""
    return Watched(node("n1", cpu="4"), node("n2", cpu="4"), pod_group("g"), WAITS)


# -- bindings -----------------------------------------------------------------------------------------------------


def test_an_assumed_binding_takes_room_and_counts_to_the_job(watched: Watched) -> None:
    assert watched.state.assume_bound(UID, "n1")
    assert (watched.status("a"), watched.place("a")) == (TaskStatus.BINDING, "n1")
    assert watched.on_node("n1") == {"cpu": 1000}
    assert watched.counts("g") == {TaskStatus.BINDING: 1}


def test_an_older_picture_of_the_pod_does_not_undo_the_assumption(watched: Watched) -> None:
    watched.state.assume_bound(UID, "n1")
    watched.put(with_meta(WAITS, labels={"touched": "meanwhile"}))
    assert (watched.status("a"), watched.place("a")) == (TaskStatus.BINDING, "n1")


def test_the_watch_confirms_the_binding_without_need_for_a_decision(watched: Watched) -> None:
    watched.state.assume_bound(UID, "n1")
    watched.quiet()
    watched.put(on(WAITS, "n1"))
    assert watched.status("a") is TaskStatus.BOUND
    assert watched.reported() == [Change.STATUS]


def test_the_watch_is_right_when_another_scheduler_bound_the_pod(watched: Watched) -> None:
    watched.state.assume_bound(UID, "n1")
    watched.put(on(WAITS, "n2"))
    assert (watched.status("a"), watched.place("a")) == (TaskStatus.BOUND, "n2")
    assert watched.on_node("n1") == {}


def test_a_failed_binding_gives_the_place_back_and_waits_its_time(watched: Watched) -> None:
    now = watched.snapshot().now
    watched.state.assume_bound(UID, "n1")
    watched.quiet()
    watched.state.bind_failed(UID, retry_at=now + 5)
    assert (watched.status("a"), watched.place("a")) == (TaskStatus.PENDING, "")
    assert watched.on_node("n1") == {}
    assert watched.reported() == [Change.DECISION]
    assert watched.state.next_retry(now) == now + 5
    assert watched.state.next_retry(now + 5) is None


def test_a_clock_that_was_set_back_keeps_no_pod_waiting(watched: Watched) -> None:
    now = watched.snapshot().now
    watched.state.assume_bound(UID, "n1")
    watched.state.bind_failed(UID, retry_at=now + 5)
    back = now - 3600
    watched.state.snapshot(back)
    assert watched.state.next_retry(back) == back + LONGEST_PAUSE


def test_a_binding_that_failed_as_far_as_we_know_but_happened_stays(watched: Watched) -> None:
    now = watched.snapshot().now
    watched.state.assume_bound(UID, "n1")
    watched.put(on(WAITS, "n1"))
    watched.state.bind_failed(UID, retry_at=now + 5)
    assert watched.status("a") is TaskStatus.BOUND
    assert watched.state.next_retry(now) is None


def test_a_pod_that_got_bound_after_all_is_no_longer_waited_for(watched: Watched) -> None:
    now = watched.snapshot().now
    watched.state.assume_bound(UID, "n1")
    watched.state.bind_failed(UID, retry_at=now + 5)
    watched.put(on(WAITS, "n1"))
    assert watched.state.next_retry(now) is None


def test_what_is_gone_or_placed_already_is_not_bound(watched: Watched) -> None:
    assert not watched.state.assume_bound("unknown", "n1")
    watched.put(on(WAITS, "n2"))
    assert not watched.state.assume_bound(UID, "n1")


def test_nothing_is_bound_to_a_node_that_has_gone(watched: Watched) -> None:
    watched.delete(node("n1"))
    assert not watched.state.assume_bound(UID, "n1")
    assert not watched.state.assume_bound(UID, "never-heard-of")
    assert watched.status("a") is TaskStatus.PENDING
    assert watched.nodes() == {"n2"}


def test_nothing_is_bound_where_another_scheduler_was_faster(watched: Watched) -> None:
    watched.put(pod("daemon", cpu="3.5", on="n1", scheduler="default-scheduler"))
    assert not watched.state.assume_bound(UID, "n1")
    assert watched.status("a") is TaskStatus.PENDING


def test_a_shortage_of_what_the_pod_does_not_ask_for_is_no_obstacle(watched: Watched) -> None:
    watched.put(pod("daemon", memory="65Gi", on="n1", scheduler="default-scheduler"))
    assert watched.state.assume_bound(UID, "n1")


@pytest.mark.parametrize("others", [0, 20])
@pytest.mark.parametrize(
    ("places", "held"),
    [
        pytest.param(["a n1", "b n1", "c n2", "d n2", "e n2"], "yyyyy", id="room for all"),
        pytest.param(["a n1", "b n1", "f n2"], "yyy", id="one that asks for nothing"),
        pytest.param(["a n1", "b n1", "c n1", "d n1", "e n1"], "yyyyn", id="room for four"),
        pytest.param(["a n1", "unknown n1", "b n1"], "yny", id="one is gone"),
        pytest.param(["a n1", "b nowhere", "c n1"], "yny", id="a node is gone"),
        pytest.param(["a n1", "a n1", "b n1"], "yny", id="one comes twice"),
        pytest.param(["a n1", "runs n2", "b n1"], "yny", id="one is placed already"),
        pytest.param(["a full", "f full", "b n1"], "nyy", id="a node is full for who asks"),
        pytest.param([], "", id="none"),
    ],
)
def test_many_bindings_are_assumed_as_one_by_one(places: list[str], held: str, others: int) -> None:
    """Every pod asks for 1 cpu, except f; n1 and n2 have 4, and `full` has more in use than it has. Few go singly, so
    that there are `others` next to them, on a node with room for all."""
    crowd = [f"other-{index}" for index in range(others)]
    places, held = [f"{name} roomy" for name in crowd] + places, others * "y" + held
    waiting = [pod(name, group="g", cpu="1") for name in (*"abcde", *crowd)]
    placed = [pod("runs", group="g", cpu="1", on="n2"), pod("grew", cpu="3", on="full")]
    nodes = [node("n1", cpu="4"), node("n2", cpu="4"), node("full", cpu="2"), node("roomy", cpu="100")]
    pods = {each.metadata.name: each for each in (*waiting, *placed, pod("f", group="g"))}
    together, singly = (Watched(*nodes, pod_group("g"), *pods.values()) for _ in range(2))
    binds = [
        Bind(ObjectRef("Pod", NAMESPACE, name, pods[name].metadata.uid if name in pods else name), on_node, "team/g")
        for name, on_node in (place.split() for place in places)
    ]

    answers = together.state.assume_all_bound(binds)

    assert "".join("y" if answer else "n" for answer in answers) == held
    assert answers == [singly.state.assume_bound(bind.pod.uid, bind.node) for bind in binds]
    for name in pods:
        assert (together.status(name), together.place(name)) == (singly.status(name), singly.place(name))
    for each in ("n1", "n2", "full", "roomy"):
        assert together.on_node(each) == singly.on_node(each)
    assert together.counts("g") == singly.counts("g")
    assert together.state.drift() == 0


def test_a_pod_that_is_deleted_while_it_is_bound_keeps_no_place(watched: Watched) -> None:
    watched.state.assume_bound(UID, "n1")
    watched.put(deleted(WAITS))
    assert (watched.status("a"), watched.place("a")) == (TaskStatus.RELEASING, "")
    watched.state.bind_failed(UID, retry_at=0)
    assert watched.status("a") is TaskStatus.RELEASING
    watched.delete(WAITS)
    watched.state.bind_failed(UID, retry_at=0)
    assert watched.pods() == set()


# -- evictions ----------------------------------------------------------------------------------------------------


@pytest.fixture(params=["Running", "Pending"], ids=["running", "bound"])
def holder(request: pytest.FixtureRequest) -> Watched:
    """A pod that holds a place on n1."""
    return Watched(node("n1", cpu="4"), pod_group("g"), on(WAITS, "n1", request.param))


def test_an_assumed_eviction_counts_as_releasing(holder: Watched) -> None:
    assert holder.state.assume_evicted(UID)
    assert holder.status("a") is TaskStatus.RELEASING
    assert holder.on_node("n1", "used") == holder.on_node("n1", "releasing") == {"cpu": 1000}


def test_a_victim_leaves_the_sums_of_its_job(holder: Watched) -> None:
    holder.state.assume_evicted(UID)
    snapshot = holder.snapshot()
    assert not snapshot.ledger.jobs.allocated[holder.job("g")].any()


def test_an_older_picture_does_not_undo_the_eviction(holder: Watched) -> None:
    holder.state.assume_evicted(UID)
    holder.put(RUNS)
    assert holder.status("a") is TaskStatus.RELEASING


def test_a_failed_eviction_puts_the_pod_back_as_the_api_server_has_it(holder: Watched) -> None:
    before = holder.status("a")
    holder.state.assume_evicted(UID)
    holder.quiet()
    holder.state.evict_failed(UID, retry_at=0.0)
    assert holder.status("a") is before
    assert holder.on_node("n1", "releasing") == {}
    assert holder.reported() == [Change.DECISION]


def test_a_failed_eviction_puts_back_what_was_seen_last() -> None:
    watched = Watched(node("n1"), pod_group("g"), on(WAITS, "n1", "Pending"))
    watched.state.assume_evicted(UID)
    watched.put(RUNS)
    watched.state.evict_failed(UID, retry_at=0.0)
    assert watched.status("a") is TaskStatus.RUNNING


def test_after_a_failed_eviction_the_api_server_has_the_last_word() -> None:
    watched = Watched(node("n1"), pod_group("g"), on(WAITS, "n1", "Pending"))
    watched.state.assume_evicted(UID)
    watched.state.evict_failed(UID, retry_at=0.0)
    watched.put(RUNS)
    assert watched.status("a") is TaskStatus.RUNNING


def test_an_eviction_that_failed_as_far_as_we_know_but_happened_stays(holder: Watched) -> None:
    holder.state.assume_evicted(UID)
    holder.put(deleted(RUNS))
    holder.state.evict_failed(UID, retry_at=0.0)
    assert holder.status("a") is TaskStatus.RELEASING


def test_what_is_gone_or_waits_is_not_evicted(watched: Watched) -> None:
    assert not watched.state.assume_evicted("unknown")
    assert not watched.state.assume_evicted(UID)
    watched.state.evict_failed(UID, retry_at=0.0)
    assert watched.status("a") is TaskStatus.PENDING


def test_a_finished_pod_ends_the_assumption(holder: Watched) -> None:
    holder.state.assume_evicted(UID)
    holder.put(on(WAITS, "n1", "Failed"))
    holder.state.evict_failed(UID, retry_at=0.0)
    assert holder.status("a") is TaskStatus.FAILED
    assert holder.state.drift() == 0


# -- phases -------------------------------------------------------------------------------------------------------


def test_an_assumed_phase_holds_until_the_stored_one_moves(watched: Watched) -> None:
    watched.put(pod_group("h", phase="Pending"))
    watched.state.assume_status(status_of("h", "Inqueue"), now=NOW.timestamp())
    watched.quiet()
    older = with_meta(pod_group("h", phase="Pending"), labels={"touched": "meanwhile"})
    watched.put(older)
    assert watched.job_column("h", "phase") == Phase.INQUEUE
    watched.put(pod_group("h", phase="Inqueue"))
    assert watched.job_column("h", "phase") == Phase.INQUEUE
    assert watched.reported() == [], "the echo of what was written needs no cycle"
    watched.put(pod_group("h", phase="Unknown"))
    assert watched.job_column("h", "phase") == Phase.UNKNOWN
    assert watched.reported() == [Change.DECISION], "another client wrote this"


def test_a_status_on_its_way_counts_as_stored_until_its_echo_is_overdue(watched: Watched) -> None:
    """Cycles in between must not write it again, nor take back what it said."""
    watched.put(pod_group("h", phase="Pending"))
    messages = Condition(type="Scheduled", status="True", reason="ready")
    watched.state.assume_status(status_of("h", "Running", messages), now=100.0)
    watched.put(with_meta(pod_group("h", phase="Pending"), labels={"touched": "meanwhile"}))
    assert stored_status(watched, 105.0) == ("Running", (messages,))
    assert stored_status(watched, 120.0) == ("Pending", ())


def test_a_status_that_waits_to_be_written_is_not_overdue(watched: Watched) -> None:
    """A tenant with thousands of PodGroups keeps the writer busy for longer than any echo takes. Were they pending
    again meanwhile, every cycle would admit all of them again."""
    watched.put(pod_group("h", phase="Pending"))
    queued = {status_of("h", "Inqueue").group.uid}
    watched.state.status_waits = queued.__contains__
    watched.state.assume_status(status_of("h", "Inqueue"), now=100.0)
    watched.quiet()
    assert stored_status(watched, 120.0) == ("Inqueue", ())
    assert stored_status(watched, 140.0) == ("Inqueue", ())
    queued.clear()
    assert stored_status(watched, 149.0) == ("Inqueue", ()), "it may just have been written"
    assert stored_status(watched, 151.0) == ("Pending", ()), "it was not written after all"


def test_nor_is_an_echo_waited_for_longer_because_the_clock_was_set_back(watched: Watched) -> None:
    watched.put(pod_group("h", phase="Pending"))
    watched.state.assume_status(status_of("h", "Running"), now=4000.0)
    assert stored_status(watched, 400.0) == ("Running", ())
    assert stored_status(watched, 405.0) == ("Running", ())
    assert stored_status(watched, 411.0) == ("Pending", ())


def test_an_older_message_is_no_echo(watched: Watched) -> None:
    """The same phase for the same reason with other numbers was written before."""

    def waits(missing: int) -> Condition:
        return Condition(type="Unschedulable", status="True", reason="NotEnoughResources", message=f"{missing} missing")

    watched.put(pod_group("h", phase="Pending"))
    watched.state.assume_status(status_of("h", "Pending", waits(2)), now=100.0)
    stored = pod_group("h", phase="Pending")
    watched.put(msgspec.structs.replace(stored, status=PodGroupStatus(phase="Pending", conditions=[waits(3)])))
    assert stored_status(watched, 105.0) == ("Pending", (waits(2),))


def test_a_status_on_its_way_is_not_that_of_a_namesake(watched: Watched) -> None:
    successor = with_meta(pod_group("h", phase="Pending"), uid="new")
    watched.put(pod_group("h", phase="Pending"))
    watched.state.assume_status(status_of("h", "Running"), now=100.0)
    watched.put(successor)
    assert stored_status(watched, 105.0) == ("Pending", ())
    watched.state.assume_status(status_of("h", "Running"), now=100.0)
    assert stored_status(watched, 105.0) == ("Pending", ()), "the update is about the predecessor"


def test_a_written_condition_of_a_pod_is_known_before_its_echo(watched: Watched) -> None:
    info = next(each for each in watched.snapshot().tasks if each is not None)
    watched.state.assume_reported(PodCondition(info.ref, "Unschedulable", "full", Reason.NODES_REFUSE))
    again = next(each for each in watched.snapshot().tasks if each is not None)
    assert again.reported == ("Unschedulable", "full")
    assert watched.state.pod_condition(UID, "PodScheduled") is None, "it is not stored yet"


def test_a_promise_of_another_node_outlives_what_was_on_its_way_before_it(watched: Watched) -> None:
    """An event that still shows the node promised first; then the echo; then what another client wrote."""
    info = next(each for each in watched.snapshot().tasks if each is not None)
    watched.put(promised("n1"))
    messages = PodCondition(info.ref, "Unschedulable", "full", Reason.NODES_REFUSE, "n2")
    watched.state.assume_reported(messages)
    watched.put(with_meta(promised("n1"), labels={"changed": "yes"}))
    assert promised_node(watched) == "n2"
    watched.put(promised("n2"))
    watched.put(promised("n1"))
    assert promised_node(watched) == "n1"
    watched.state.assume_reported(messages)
    watched.put(promised("n3"))
    assert promised_node(watched) == "n3"


def promised(name: str) -> Pod:
    waits = pod("a", group="g", cpu="1")
    return msgspec.structs.replace(waits, status=msgspec.structs.replace(waits.status, nominated_node_name=name))


def promised_node(watched: Watched) -> str:
    return next(each.nominated_node for each in watched.snapshot().tasks if each is not None)


def status_of(name: str, phase: str, *conditions: Condition) -> PodGroupStatusUpdate:
    ref = ObjectRef("PodGroup", NAMESPACE, name, pod_group(name).metadata.uid)
    return PodGroupStatusUpdate(ref, phase, conditions, 0, 0, 0)


def stored_status(watched: Watched, now: float) -> tuple[str, tuple[Condition, ...]]:
    """Phase and conditions of PodGroup h as a cycle at `now` takes them to be stored."""
    snapshot = watched.state.snapshot(now)
    row = snapshot.job_keys.index(f"{NAMESPACE}/h")
    info = snapshot.jobs[row]
    assert info is not None
    assert Phase.of(info.phase) == snapshot.ledger.jobs.phase[row], "the phase that it goes by"
    return info.phase, info.conditions


def test_a_phase_is_assumed_for_existing_groups_only(watched: Watched) -> None:
    watched.state.assume_status(status_of("gone", "Running"), now=0.0)
    assert [key for key in watched.snapshot().job_keys if key] == ["team/g"]
