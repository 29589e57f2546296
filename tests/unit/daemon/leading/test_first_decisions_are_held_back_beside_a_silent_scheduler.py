"""A scheduler that has bound nothing for long may only be full: it shows itself when there is room."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.sessions import node, pod
from tests.unit.cluster.fakes import FakeClock, settle
from volcano_py.api.effects import Bind, Effect, Event, Evict, ObjectRef
from volcano_py.daemon.leading.held_decisions import HELD_FOR, HeldDecisions
from volcano_py.daemon.leading.other_scheduler import OtherScheduler
from volcano_py.observe.metrics import Metrics
from volcano_py.state.cluster_state import ClusterState
from volcano_py.state.table.table import NOWHERE

SILENCE = 30.0
NOTE = Event(ObjectRef("Pod", "team", "a", "1"), "Normal", "Noted", "a status or an event")


class Bench:
    """A state with three waiting pods and one on the node, and what is sent."""

    def __init__(self) -> None:
        self.clock, self.state = FakeClock(), ClusterState()
        self.sent: list[Effect] = []
        self.announced: list[str] = []
        self.leads = True
        self.other = OtherScheduler(
            self.state,
            Metrics(),
            silence=SILENCE,
            record=lambda _event: None,
            resumed=lambda: None,
            clock=self.clock,
        )
        self.held = HeldDecisions(
            self.state,
            self.other,
            self,
            may_send=lambda: self.leads and not self.other.is_present(),
            on_binds=lambda binds: self.announced.extend(bind.pod.name for bind in binds),
            clock=self.clock,
        )
        self.other.lead(after_ours=False)
        self.state.upsert("Node", node("n1", cpu="8"))
        for name in ("a", "b", "c"):
            self.show(name)
        self.show("old", "n1")

    def apply(self, effects: Sequence[Effect]) -> None:
        self.sent.extend(effects)

    def show(self, name: str, on: str = "") -> None:
        """The API server shows this pod waiting, or on a node."""
        shown = pod(name, on=on)
        self.other.upsert("Pod", shown)
        self.state.upsert("Pod", shown)

    def bind(self, name: str) -> Bind:
        """We decide so, and assume it."""
        bind = Bind(ObjectRef("Pod", "team", name, pod(name).metadata.uid), "n1", "")
        assert self.state.assume_all_bound([bind]) == [True]
        return bind

    def waits(self, name: str) -> bool:
        """Whether the pod may be decided about."""
        snapshot = self.state.copy(0.0)
        row = next(row for row, info in enumerate(snapshot.tasks) if info is not None and info.ref.name == name)
        return int(snapshot.ledger.tasks.node[row]) == NOWHERE


@pytest.fixture
def bench() -> Bench:
    return Bench()


async def test_without_suspicion_all_is_sent_at_once(bench: Bench) -> None:
    effects: list[Effect] = [bench.bind("a"), NOTE]
    bench.held.apply(effects)
    assert bench.sent == effects
    assert bench.announced == ["a"]


async def test_what_is_left_to_us_is_sent_after_a_while(bench: Bench) -> None:
    bench.other.suspect()
    first, second = bench.bind("a"), bench.bind("b")
    bench.held.apply([first, NOTE])
    await bench.clock.advance(HELD_FOR / 2)
    bench.held.apply([second])
    assert bench.sent == [NOTE], "statuses and events are not held"
    assert bench.announced == []
    await bench.clock.advance(HELD_FOR / 2)
    await settle()
    assert bench.sent == [NOTE, first, second]
    assert bench.announced == ["a", "b"]
    third = bench.bind("c")
    bench.held.apply([third])
    assert bench.sent[-1] == third, "the suspicion is over"


@pytest.mark.parametrize("taken", ["a", "b"])
async def test_they_are_given_up_when_another_scheduler_takes_a_pod(bench: Bench, taken: str) -> None:
    """Of the two that have come, we chose a place for "a"."""
    bench.show("c", "n1")
    bench.show("d")
    bench.show("d", "n1")
    assert bench.other.is_present()
    await bench.clock.advance(2 * SILENCE)
    assert not bench.other.is_present(), "it was silent, for lack of room perhaps"
    bench.held.apply([bench.bind("a"), NOTE])
    bench.show(taken, "n1")
    assert bench.other.is_present(), "one pod is enough, on the very node that we chose, too"
    await bench.clock.advance(HELD_FOR)
    await settle()
    assert bench.sent == [NOTE]
    assert bench.announced == []
    assert bench.waits("a") == (taken != "a")


async def test_evictions_are_held_too(bench: Bench) -> None:
    bench.other.suspect()
    old = ObjectRef("Pod", "team", "old", pod("old").metadata.uid)
    assert bench.state.assume_evicted(old.uid)
    bench.held.apply([Evict(old, None, "preempt", "for a")])
    bench.show("a", "n1")
    await bench.clock.advance(HELD_FOR)
    await settle()
    assert bench.sent == []
    assert bench.state.assume_evicted(old.uid), "the pod stays where it is"


async def test_it_is_given_up_when_the_lease_is_lost(bench: Bench) -> None:
    bench.other.suspect()
    bench.held.apply([bench.bind("a")])
    bench.leads = False
    await bench.clock.advance(HELD_FOR)
    await settle()
    assert bench.sent == []
    assert bench.waits("a")
