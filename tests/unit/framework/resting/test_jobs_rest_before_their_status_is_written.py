"""What was handed to the status writer counts as written: jobs rest from the first cycle that has looked at them on."""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec.structs import replace

from tests.support.sessions import gang, node
from tests.unit.framework.resting.watched_scheduler import Cluster, Watcher
from tests.unit.state.watched import with_status
from volcano_py.api.effects import Effect, PodCondition, PodGroupStatusUpdate
from volcano_py.api.objects import Condition, PodGroup


class UnwrittenCluster(Cluster):
    """What is reported is only assumed until `write` is called."""

    def _write(self, effect: Effect) -> None:
        match effect:
            case PodCondition():
                self.state.assume_reported(effect)
            case PodGroupStatusUpdate():
                self.state.assume_status(effect, self.now)
            case _:
                super()._write(effect)

    def write(self, effect: Effect) -> None:
        """With whole seconds, as the API server stores them."""
        if isinstance(effect, PodGroupStatusUpdate):
            group = self.objects["PodGroup", effect.group.name]
            assert isinstance(group, PodGroup)
            conditions = [replace(each, last_transition_time=_whole(each)) for each in effect.conditions]
            self.put(with_status(group, phase=effect.phase, conditions=conditions))
        else:
            super()._write(effect)


def _whole(condition: Condition) -> datetime:
    assert condition.last_transition_time is not None
    return condition.last_transition_time.replace(microsecond=0, tzinfo=UTC)


def waiting() -> tuple[UnwrittenCluster, list[Effect]]:
    """A job that fits nowhere after one cycle, and what that cycle has reported."""
    cluster = UnwrittenCluster(node("n1", cpu="4"), *gang("large", pods=2, cpu="5", group_phase="Pending"))
    cluster.now += 0.5
    cluster.cycle()
    assert Watcher.jobs == {"large"}
    reported: list[Effect] = [each for each in cluster.sent if isinstance(each, PodCondition | PodGroupStatusUpdate)]
    assert len(reported) == 3
    return cluster, reported


def test_the_second_cycle_looks_at_nothing_and_writes_nothing() -> None:
    cluster, _ = waiting()
    assert cluster.looked_at() == set()
    assert cluster.sent == []


def test_what_shows_as_it_was_written_wakes_nothing() -> None:
    cluster, reported = waiting()
    for effect in reported:
        cluster.write(effect)
        assert cluster.looked_at() == set()


def test_a_condition_that_was_not_written_after_all_is_reported_again() -> None:
    cluster, reported = waiting()
    lost = next(effect for effect in reported if isinstance(effect, PodCondition))
    cluster.state.condition_write_failed(lost)
    assert cluster.looked_at() == {"large"}
    assert [effect for effect in cluster.sent if isinstance(effect, PodCondition)] == [lost]


def test_a_status_that_does_not_show_for_long_is_reported_again() -> None:
    cluster, reported = waiting()
    cluster.now += 3600.0
    assert cluster.looked_at() == {"large"}
    again = [effect for effect in cluster.sent if isinstance(effect, PodGroupStatusUpdate)]
    assert [effect.group for effect in again] == [
        each.group for each in reported if isinstance(each, PodGroupStatusUpdate)
    ]


def test_a_status_that_others_overwrite_is_written_again() -> None:
    cluster, reported = waiting()
    for effect in reported:
        cluster.write(effect)
    group = cluster.objects["PodGroup", "large"]
    assert isinstance(group, PodGroup)
    cluster.put(with_status(group, phase="Inqueue", conditions=[]))
    assert cluster.looked_at() == {"large"}
    assert any(isinstance(effect, PodGroupStatusUpdate) for effect in cluster.sent)
