"""Every replica reads objects and the configuration; the leader says what is wrong with them."""

from __future__ import annotations

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.daemon.leading.leaders_events import LeadersEvents


class Stage:
    """One replica, which does not lead yet."""

    def __init__(self) -> None:
        self.reported: list[Event] = []
        self.leads, self.now = False, 1000.0
        self.events = LeadersEvents(self.reported.append, leads=lambda: self.leads, now=lambda: self.now)

    def find(self, name: str, message: str = "wrong") -> None:
        self.events.record(Event(ObjectRef("Queue", "", name, f"uid-{name}"), "Warning", "Unreadable", message))

    def gain(self) -> None:
        self.leads = True
        self.events.leadership_gained()

    def names(self) -> list[str]:
        return [event.about.name for event in self.reported]


def test_the_leader_reports_at_once() -> None:
    stage = Stage()
    stage.gain()
    stage.find("team")
    assert stage.names() == ["team"]


def test_what_was_found_before_is_reported_once_the_lease_is_there() -> None:
    """A daemon that starts next to a broken ConfigMap reads that first."""
    stage = Stage()
    stage.find("team")
    stage.find("other")
    assert stage.reported == []

    stage.gain()
    assert stage.names() == ["team", "other"]

    stage.gain()
    assert stage.names() == ["team", "other"], "and only once"


def test_the_latest_about_an_object_counts() -> None:
    stage = Stage()
    stage.find("team", "broken")
    stage.find("team", "broken in another way")
    stage.gain()
    assert [event.message for event in stage.reported] == ["broken in another way"]


def test_a_standby_reports_nothing_that_its_leader_has_reported() -> None:
    """And it may have been fixed since."""
    stage = Stage()
    stage.find("early")
    stage.now += 3600
    stage.find("late")
    stage.gain()
    assert stage.names() == ["late"]


def test_no_more_wait_than_can_be_remembered() -> None:
    stage = Stage()
    for index in range(5000):
        stage.find(f"q{index}")
    stage.find("q4000", "again")
    stage.gain()
    assert len(stage.reported) == 4096
    assert stage.names()[-1] == "q4000"
    assert "q0" not in stage.names()
