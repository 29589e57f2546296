"""What is reported of PodGroups that run, or have ended, when their queue is deleted."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from tests.support.cycles import Cycles
from tests.support.sessions import NOW, node, pod, pod_group, queue
from volcano_py.api.effects import PodGroupStatusUpdate
from volcano_py.api.objects import Condition, Pod, PodGroup
from volcano_py.api.reasons import Reason

READY = Condition(type="Scheduled", status="True", reason="tasks in gang are ready to be scheduled")
MISSING = "QueueNotFound: queue q does not exist: create it, or name an existing one in spec.queue of the PodGroup"


def member(phase: str) -> Pod:
    return pod("g-0", group="g", cpu="1", on="" if phase == "Pending" else "n1", phase=phase)


def updates(cycles: Cycles) -> list[PodGroupStatusUpdate]:
    """What was written of PodGroups since this was asked for last."""
    found = [each for each in cycles.effects if isinstance(each, PodGroupStatusUpdate)]
    cycles.effects.clear()
    return found


def latest(cycles: Cycles) -> tuple[str, str, str]:
    """Phase of the PodGroup, type and message of its newest condition, as the last cycle writes them; the API server
    has them afterwards."""
    (update,) = updates(cycles)
    cycles.state.upsert("PodGroup", running(*update.conditions))
    newest = max(update.conditions, key=lambda each: each.last_transition_time or NOW)
    return update.phase, newest.type, newest.message


def running(*conditions: Condition) -> PodGroup:
    group = pod_group("g", min_member=1, queue="q", phase="Running")
    return replace(group, status=replace(group.status, running=1, conditions=list(conditions)))


def test_a_group_that_runs_says_so_until_the_queue_exists_again() -> None:
    ready = replace(READY, last_transition_time=NOW - timedelta(minutes=9))
    cycles = Cycles(node("n1"), queue("q"), running(ready), member("Running"))
    cycles.run()
    assert updates(cycles) == []
    cycles.state.delete("Queue", queue("q"))
    cycles.run(after=5)
    assert latest(cycles) == ("Running", "Unschedulable", MISSING)
    cycles.run(after=10)
    assert updates(cycles) == []
    cycles.state.upsert("Queue", queue("q"))
    cycles.run(after=15)
    assert latest(cycles) == ("Running", "Scheduled", "")
    cycles.run(after=20)
    assert updates(cycles) == []


def test_so_does_one_that_started_and_whose_queue_went_and_came_in_one_second() -> None:
    """Times of conditions are whole seconds: the later one is behind."""
    cycles = Cycles(node("n1"), queue("q"), running(replace(READY, last_transition_time=NOW)), member("Running"))
    cycles.run()
    cycles.state.delete("Queue", queue("q"))
    assert _newest_behind(cycles, after=0.2) == "Unschedulable"
    cycles.state.upsert("Queue", queue("q"))
    assert _newest_behind(cycles, after=0.4) == "Scheduled"
    cycles.run(after=0.6)
    assert updates(cycles) == []


def _newest_behind(cycles: Cycles, after: float) -> str:
    """The last condition that a cycle writes; the API server has all afterwards, with whole seconds."""
    updates(cycles)
    cycles.run(after=after)
    (update,) = updates(cycles)
    cycles.state.upsert("PodGroup", running(*(replace(each, last_transition_time=NOW) for each in update.conditions)))
    return update.conditions[-1].type


def test_a_group_that_is_done_waits_for_no_queue() -> None:
    """A queue may be deleted once all its work is done."""
    done = pod_group("g", min_member=1, queue="q", phase="Completed")
    cycles = Cycles(node("n1"), done, member("Succeeded"))
    assert (cycles.run().pending, updates(cycles)) == ((), [])
    again = Cycles(node("n1"), done, member("Pending"))
    assert [job.reason for job in again.run().pending] == [Reason.QUEUE_NOT_FOUND]
