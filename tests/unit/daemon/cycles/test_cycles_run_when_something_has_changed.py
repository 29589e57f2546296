"""The loop of cycles on a clock that stands still: what starts a cycle, what is waited for, and what never does."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from tests.support.placement.neighbours import apart, term
from tests.support.sessions import gang, node, pod, pod_group, priority_class, queue
from tests.unit.daemon.cycling import REGISTRY, Bench, phases
from tests.unit.state.watched import on, with_meta, with_status
from volcano_py.api.effects import Bind, Evict, PodCondition
from volcano_py.config.parse import parse_configuration
from volcano_py.daemon.cycles import DECISIVE_PAUSE, STATUS_PAUSE
from volcano_py.state.snapshot import Snapshot
from volcano_py.state.table.change import Change
from volcano_py.state.terms import term_book

LONG = 11.0
"""Seconds after which a status that does not show is worked out again."""


# -- what starts a cycle -----------------------------------------------------------------------------------------


async def test_with_no_change_there_is_no_cycle(bench: Bench) -> None:
    assert await bench.after(24 * 3600) == 0


async def test_what_was_listed_before_is_decided_at_once() -> None:
    bench = Bench()
    bench.put(queue("default"), node("n1", cpu="4"), *gang("g", pods=2, cpu="1"))
    task = asyncio.create_task(bench.loop.run())
    assert await bench.after(0) == 1
    assert bench.binds == {"g-0": "n1", "g-1": "n1"}
    bench.loop.stop()
    await bench.after(DECISIVE_PAUSE)
    await task


async def test_a_decisive_change_is_decided_a_moment_later(bench: Bench) -> None:
    bench.put(*gang("g", pods=2, cpu="1"))
    assert await bench.after(DECISIVE_PAUSE / 2) == 0
    assert await bench.after(DECISIVE_PAUSE / 2) == 1
    assert bench.binds == {"g-0": "n1", "g-1": "n1"}


async def test_what_comes_together_is_decided_together(bench: Bench) -> None:
    group, *members = gang("g", pods=3, cpu="1")
    bench.put(group)
    for member in members:
        await bench.after(DECISIVE_PAUSE / 4)
        bench.put(member)
    assert await bench.after(DECISIVE_PAUSE) == 1
    assert len(bench.binds) == 3


async def test_a_change_of_statuses_waits_longer_and_decides_nothing(bench: Bench) -> None:
    bench.put(*gang("g", cpu="1"))
    await bench.after(DECISIVE_PAUSE)
    waits = gang("g", cpu="1")[1]
    bench.put(on(waits, "n1", "Running"))  # type: ignore[arg-type]
    assert await bench.after(STATUS_PAUSE - DECISIVE_PAUSE) == 1
    assert await bench.after(2 * DECISIVE_PAUSE) == 2
    assert bench.decided() == [True, False]


async def test_a_decisive_change_does_not_wait_behind_one_of_statuses(bench: Bench) -> None:
    bench.wakeup.wake(Change.STATUS)
    await bench.after(DECISIVE_PAUSE)
    bench.wakeup.wake(Change.DECISION)
    await bench.after(2 * DECISIVE_PAUSE)
    assert bench.decided() == [True]


async def test_a_backlog_that_nothing_has_unblocked_is_not_tried_again(bench: Bench) -> None:
    bench.put(*gang("large", cpu="9"))
    assert await bench.after(DECISIVE_PAUSE) == 1
    assert await bench.after(3600) == 1
    bench.put(node("n2", cpu="16"))
    assert await bench.after(DECISIVE_PAUSE) == 2
    assert bench.binds == {"large-0": "n2"}


async def test_with_changes_without_end_the_event_loop_gets_half_as_long_as_a_cycle_took(bench: Bench) -> None:
    bench.took = 0.4
    bench.put(*gang("a", cpu="1"))
    assert await bench.after(DECISIVE_PAUSE) == 1
    bench.put(*gang("b", cpu="1"))
    assert await bench.after(0.15) == 1
    assert await bench.after(0.1) == 2


async def test_but_never_longer_than_the_period(bench: Bench) -> None:
    bench.took = 60.0
    bench.put(*gang("a", cpu="1"))
    assert await bench.after(DECISIVE_PAUSE) == 1
    bench.put(*gang("b", cpu="1"))
    assert await bench.after(1.05) == 2


# -- what only time brings ---------------------------------------------------------------------------------------


async def failed_binding(bench: Bench, pause: float) -> None:
    """The binding of a pod fails, to be tried again after a pause."""
    bench.put(*gang("g", cpu="1"))
    await bench.after(DECISIVE_PAUSE)
    (bind,) = bench.bound
    bench.state.bind_failed(bind.pod.uid, retry_at=bench.now + pause)
    await bench.after(DECISIVE_PAUSE)
    bench.reports.clear()
    bench.sent.clear()


async def test_a_failed_binding_is_tried_again_when_its_time_has_come(bench: Bench) -> None:
    await failed_binding(bench, 5.0)
    assert await bench.after(4.9) == 0
    await bench.after(0.2)
    assert bench.binds == {"g-0": "n1"}


async def test_a_pod_that_could_not_be_evicted_is_left_alone_for_as_long(bench: Bench) -> None:
    """Whoever refuses it will refuse it a moment later, too: to ask at once would be to ask without end."""
    text = """
actions: "allocate, preempt"
tiers:
- plugins:
  - name: priority
  - name: gang
"""
    bench.configuration = parse_configuration(text, REGISTRY.catalogue()).config
    bench.put(priority_class("high", 10), *gang("low", pods=2, min_member=1, cpu="2", running_on=["n1", "n1"]))
    await bench.after(DECISIVE_PAUSE)
    bench.put(*gang("high", cpu="2", priority_class="high"))
    evicted: list[str] = []
    for seconds in (DECISIVE_PAUSE, DECISIVE_PAUSE, 4.0, 2.0):
        await bench.after(seconds)
        for effect in [effect for effect in bench.sent if isinstance(effect, Evict)]:
            evicted.append(effect.pod.name)
            bench.state.evict_failed(effect.pod.uid, retry_at=bench.now + 5.0)
        bench.sent.clear()
    assert sorted(evicted[:2]) == ["low-0", "low-1"], "the other one is asked in its place"
    assert len(evicted) == 3, "then none for five seconds"


async def test_it_is_tried_again_even_if_statuses_keep_coming_in_at_that_moment(bench: Bench) -> None:
    await failed_binding(bench, 5.0)
    await bench.after(4.9)
    bench.wakeup.wake(Change.STATUS)
    await bench.after(STATUS_PAUSE + 0.1)
    assert bench.binds == {"g-0": "n1"}
    assert bench.decided() == [True]


async def test_it_is_tried_again_even_if_that_moment_comes_before_the_snapshot(bench: Bench) -> None:
    """A cycle for statuses has begun by then, and first does the work that was put off."""
    await failed_binding(bench, 5.0)

    async def slowly() -> None:
        bench.clock.time += 0.2

    bench.loop._settle_state = slowly  # type: ignore[method-assign]
    await bench.after(4.6)
    bench.wakeup.wake(Change.STATUS)
    await bench.after(60)
    assert bench.binds == {"g-0": "n1"}


async def test_a_pod_without_its_group_is_looked_at_again_when_it_is_late(bench: Bench) -> None:
    orphan = with_meta(pod("lost", group="nowhere", cpu="1"), creation_timestamp=bench.clock.now())
    bench.put(orphan)
    assert await bench.after(DECISIVE_PAUSE) == 1
    assert bench.sent == []
    await bench.after(2.1)
    assert [effect.code.value for effect in bench.sent if isinstance(effect, PodCondition)] == ["PodGroupNotFound"]


async def test_a_cycle_can_be_asked_for_in_advance(bench: Bench) -> None:
    bench.wakeup.wake_later(30)
    bench.wakeup.wake_later(5)
    assert await bench.after(29.9) == 0, "one alarm is enough"
    assert await bench.after(0.2) == 1
    bench.wakeup.wake_later(1)
    assert await bench.after(1.1) == 2


async def test_a_cycle_that_is_asked_for_while_another_is_due_comes_in_its_own_time_as_well(bench: Bench) -> None:
    """The first one may come too early for what was asked for last."""
    bench.wakeup.wake_later(30)
    await bench.clock.advance(10)
    bench.wakeup.wake_later(30)
    assert await bench.after(20.1) == 1
    assert await bench.after(9.8) == 1
    assert await bench.after(0.2) == 2
    assert await bench.after(60) == 2


# -- who may decide ----------------------------------------------------------------------------------------------


async def test_nothing_is_decided_by_a_replica_that_does_not_lead(bench: Bench) -> None:
    bench.active = False
    bench.put(*gang("g", cpu="1"))
    assert await bench.after(60) == 0
    bench.active = True
    bench.wakeup.wake(Change.STATUS)
    assert await bench.after(DECISIVE_PAUSE) == 1
    assert bench.binds == {"g-0": "n1"}, "what was wanted stayed wanted"


async def test_nothing_is_decided_without_a_configuration(bench: Bench) -> None:
    configuration, bench.configuration = bench.configuration, None
    bench.put(*gang("g", cpu="1"))
    assert await bench.after(60) == 0
    bench.configuration = configuration
    bench.wakeup.wake(Change.DECISION)
    assert await bench.after(DECISIVE_PAUSE) == 1


async def test_what_was_decided_before_the_lease_was_lost_is_not_sent(bench: Bench) -> None:
    taken = bench.state.copy

    def lose_the_lease(now: float, former: Snapshot | None) -> object:
        bench.active = False
        return taken(now, former)

    bench.state.copy = lose_the_lease  # type: ignore[assignment, method-assign]
    bench.put(*gang("g", cpu="1"))
    assert await bench.after(DECISIVE_PAUSE) == 1
    assert bench.sent == []
    assert bench.bound == []


# -- what comes of a cycle ---------------------------------------------------------------------------------------


async def test_what_was_decided_is_assumed_before_it_is_sent(bench: Bench) -> None:
    bench.put(*gang("g", pods=2, cpu="1", group_phase="Pending"))
    await bench.after(DECISIVE_PAUSE)
    assert [bind.pod.name for bind in bench.bound] == ["g-0", "g-1"]
    assert [type(effect).__name__ for effect in bench.sent] == ["Bind", "Bind", "Event"]
    bench.sent.clear()
    bench.wakeup.wake(Change.DECISION)
    await bench.after(DECISIVE_PAUSE)
    assert bench.sent == [], "the next cycle neither binds them again nor repeats the event"


async def test_bindings_leave_before_statuses(bench: Bench) -> None:
    bench.put(*gang("g", pods=2, cpu="1", group_phase="Pending"), pod_group("h", phase="Pending"))
    await bench.after(DECISIVE_PAUSE)
    kinds = [type(effect) for effect in bench.sent]
    assert kinds[:2] == [Bind, Bind]
    assert phases(bench) == ["Inqueue"], "of h"


async def test_a_status_that_passes_with_the_bindings_is_not_written(bench: Bench) -> None:
    members = [pod(f"g-{index}", group="g", cpu="1") for index in range(2)]
    bench.put(pod_group("g", min_member=2, phase="Pending"), *members)
    await bench.after(DECISIVE_PAUSE)
    assert len(bench.binds) == 2
    assert phases(bench) == []
    bench.put(*(on(member, "n1") for member in members))
    await bench.after(STATUS_PAUSE + DECISIVE_PAUSE)
    assert phases(bench) == ["Running"]


async def test_unless_the_bindings_take_long(bench: Bench) -> None:
    bench.put(*gang("g", pods=2, cpu="1", group_phase="Pending"))
    await bench.after(LONG)
    assert phases(bench) == []
    bench.wakeup.wake(Change.DECISION)
    await bench.after(DECISIVE_PAUSE)
    assert phases(bench) == ["Inqueue"]


async def test_or_fail(bench: Bench) -> None:
    bench.put(*gang("g", pods=2, cpu="3", group_phase="Pending"))
    bench.put(node("n2", cpu="4"))
    await bench.after(DECISIVE_PAUSE)
    assert len(bench.binds) == 2
    assert phases(bench) == []
    bench.put(with_status(node("n2", cpu="4"), allocatable={"cpu": "1"}))
    for bind in bench.bound:
        bench.state.bind_failed(bind.pod.uid, retry_at=0.0)
    await bench.after(DECISIVE_PAUSE)
    assert phases(bench) == ["Inqueue"]


async def test_a_cycle_that_fails_is_logged_and_tried_again_after_the_period(bench: Bench) -> None:
    taken = bench.state.copy

    def fail(now: float, former: Snapshot | None) -> object:
        raise RuntimeError("a defect of ours")

    bench.state.copy = fail  # type: ignore[assignment, method-assign]
    with capture_logs() as logs:
        bench.put(*gang("g", cpu="1"))
        await bench.after(DECISIVE_PAUSE)
        assert bench.loop.running_since is None, "it has ended"
        bench.state.copy = taken  # type: ignore[method-assign]
        assert await bench.after(0.9) == 0
        assert await bench.after(0.2) == 1
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == ["cycle failed; retrying"]
    assert bench.binds == {"g-0": "n1"}


async def test_a_cycle_that_did_something_is_logged_with_the_seed_that_replays_it(bench: Bench) -> None:
    with capture_logs() as logs:
        bench.put(*gang("g", cpu="1"))
        await bench.after(DECISIVE_PAUSE)
    [reported] = [entry for entry in logs if entry["event"] == "cycle"]
    assert (reported["binds"], reported["seed"]) == (1, bench.reports[0].seed)


async def test_after_the_stop_there_is_no_new_cycle(bench: Bench) -> None:
    bench.loop.stop()
    bench.put(*gang("g", cpu="1"))
    assert await bench.after(60) == 0
    assert bench.sent == []


async def test_while_a_cycle_runs_it_can_be_seen_since_when(bench: Bench) -> None:
    seen: list[float | None] = []
    taken = bench.state.copy

    def look(now: float, former: Snapshot | None) -> object:
        seen.append(bench.loop.running_since)
        return taken(now, former)

    bench.state.copy = look  # type: ignore[assignment, method-assign]
    bench.wakeup.wake(Change.DECISION)
    await bench.after(DECISIVE_PAUSE)
    assert seen == [bench.clock.time]
    assert bench.loop.running_since is None


async def test_when_the_clock_strikes_for_a_plugin_there_is_a_cycle(bench: Bench) -> None:
    """The clock stands at 09:30; at 10:00 the node is open to pods that allow it, and at 11:00 it is not."""
    text = """
actions: "enqueue, allocate, shuffle"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: tdm
    arguments: {tdm.revocable-zone.rz: 10:00-11:00, tdm.timezone: UTC}
"""
    bench.configuration = parse_configuration(text, REGISTRY.catalogue()).config
    bench.state.delete("Node", node("n1", cpu="4"))
    bench.put(node("n2", cpu="4", labels={"volcano.sh/revocable-zone": "rz"}))
    bench.put(*gang("g", cpu="1", annotations={"volcano.sh/preemptable": "true"}))
    assert await bench.after(29 * 60) == 1
    assert bench.binds == {}
    await bench.after(60)
    assert await bench.after(1) == 2
    assert bench.binds == {"g-0": "n2"}
    bench.put(on(gang("g", cpu="1", annotations={"volcano.sh/preemptable": "true"})[1], "n2", "Running"))  # type: ignore[arg-type]
    for seconds in (1, 3600, 1):
        await bench.after(seconds)
    assert [effect.pod.name for effect in bench.sent if isinstance(effect, Evict)] == ["g-0"]


async def test_work_for_a_snapshot_is_done_in_slices_before_it(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_book, "_SLICE", 1)
    slices = 0
    settle, take = bench.state.settle_some, bench.state.copy
    settled_before: list[bool] = []

    def counted() -> None:
        nonlocal slices
        slices += 1
        settle()

    def look(now: float, former: Snapshot | None) -> object:
        settled_before.append(bench.state.is_settled)
        return take(now, former)

    bench.state.settle_some = counted  # type: ignore[method-assign]
    bench.state.copy = look  # type: ignore[assignment, method-assign]
    for number in range(5):
        kept_apart = apart(term(app=f"a{number}"))
        bench.put(pod(f"p{number}", group="g", affinity=kept_apart, labels={"app": f"a{number}"}))
    await bench.after(1.0)
    assert settled_before[0]
    assert slices >= 5
