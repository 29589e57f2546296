"""Turns of jobs of a single pod are recorded together where all plugins allow it, and one by one where one does not."""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.support.sessions import Opened, gang, node, open_session, queue
from tests.unit.actions.acting import act
from volcano_py.actions.allocate import Allocate
from volcano_py.framework.job import Placement
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.session import Session
from volcano_py.framework.votes import PLENTY, Room
from volcano_py.plugins.gang import Gang
from volcano_py.state.infos import QueueInfo
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass

SINGLES: Final = [gang(f"single-{number}", cpu="1") for number in range(7)]


class Watching(Plugin):
    """Looks at the tables when it hears of a placement."""

    name = "watching"
    allows_series = True

    def on_session_open(self, ssn: Session) -> None:
        self.ssn = ssn
        self.seen: list[str] = []

    def on_allocate(self, placement: Placement) -> None:
        self.seen.append(TaskStatus(int(self.ssn.ledger.tasks.status[placement.rows[0]])).name)


class Cautious(Watching):
    """Says nothing about series."""

    allows_series = False


class Questioning(Plugin):
    """Asks the tables how much queues hold, and says nothing about series."""

    name = "questioning"

    def on_session_open(self, ssn: Session) -> None:
        self.ssn = ssn

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        return PLENTY if self.ssn.ledger.queues.allocated[queue.slot, 0] < 3000 else Room(0)


class Sharing(Plugin):
    """All queues share one ceiling of five pods."""

    name = "sharing"
    allows_series = True

    def on_session_open(self, ssn: Session) -> None:
        self.left = 5
        self.asked: list[tuple[str, int]] = []

    def allocatable(self, queue: QueueInfo, task_class: TaskClass) -> Room:
        self.asked.append((queue.name, self.left))
        return Room(self.left)

    def on_allocate(self, placement: Placement) -> None:
        self.left -= placement.count


def seen(opened: Opened) -> list[str]:
    (found,) = [plugin.seen for plugin in opened.ssn.dispatch.plugins if isinstance(plugin, Watching)]
    return found


def test_a_plugin_that_allows_series_hears_of_a_placement_before_the_tables_have_it() -> None:
    opened = act(node("n1"), *SINGLES, tiers=[[Gang, Watching]])
    assert seen(opened) == ["PENDING"] * 7
    assert len(opened.binds) == 7


def test_a_plugin_that_does_not_hears_of_it_afterwards() -> None:
    opened = act(node("n1"), *SINGLES, tiers=[[Gang, Cautious]])
    assert seen(opened) == ["ALLOCATED"] * 7


def test_a_plugin_that_asks_the_tables_is_asked_turn_by_turn() -> None:
    assert len(act(node("n1"), *SINGLES, tiers=[[Gang, Questioning]]).binds) == 3


@pytest.mark.parametrize(
    "job",
    [
        pytest.param(gang("other", pods=2, cpu="1"), id="a gang"),
        pytest.param(gang("other", pods=2, min_member=1, cpu="1"), id="more pods than it needs"),
        pytest.param(gang("other", cpu="1", host_ports=[80]), id="a host port"),
    ],
)
def test_other_jobs_have_turns_of_their_own(job: Any) -> None:
    opened = act(node("n1", cpu="16"), *SINGLES, job, tiers=[[Gang, Watching]])
    assert {"PENDING", "ALLOCATED"} == set(seen(opened))


def test_a_series_goes_on_over_all_queues() -> None:
    """Bindings leave the more at a time the longer the plan is: one, two, four."""
    queues = [queue(f"q{number}") for number in range(3)]
    waiting = [gang(f"single-{number}", cpu="1", queue=f"q{number % 3}") for number in range(7)]
    opened = open_session(node("n1"), *queues, *waiting, tiers=[[Gang]], actions=[Allocate])
    sent = _sizes_of_emits(opened)
    Allocate(Allocate.arguments_type()).execute(opened.ssn)
    assert sent == [1, 2, 4]


def test_a_queue_is_asked_for_room_again_once_others_may_have_used_it_up() -> None:
    queues = [queue("a"), queue("b", age=-1)]
    waiting = [gang(f"single-{number}", cpu="1", queue="ab"[number % 2]) for number in range(8)]
    opened = act(node("n1"), *queues, *waiting, tiers=[[Gang, Sharing]])
    assert len(opened.binds) == 5
    asked = opened.plugin(Sharing).asked
    assert asked.count(("a", 0)) + asked.count(("b", 0)) == 3
    assert len(asked) == 5


def test_a_queue_is_asked_for_room_again_after_another_turn() -> None:
    """It may have used any of the room."""
    others = [gang("single-1-too", pods=3, cpu="1"), *SINGLES]
    opened = act(node("n1", cpu="16"), *others, tiers=[[Gang, Sharing]])
    assert len(opened.binds) == 5
    assert opened.plugin(Sharing).asked[:3] == [("default", 5), ("default", 3), ("default", 0)]


def test_what_had_its_turn_before_the_action_failed_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_args: object, **_options: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("volcano_py.actions.allocate.turn_of", fails)
    other = gang("zz", pods=2, cpu="1")
    opened = open_session(node("n1", cpu="16"), *SINGLES, other, tiers=[[Gang]], actions=[Allocate])
    with pytest.raises(RuntimeError):
        Allocate(Allocate.arguments_type()).execute(opened.ssn)
    assert len(opened.binds) == 7
    assert opened.ssn.ledger.drift() == 0


def _sizes_of_emits(opened: Opened) -> list[int]:
    sizes: list[int] = []
    emit = opened.ssn.statements.emit

    def counting(effects: Any) -> None:
        sizes.append(len(effects))
        emit(effects)

    opened.ssn.statements.emit = counting
    return sizes
