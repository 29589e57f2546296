"""CPUs of pods that have left are awaited for a minute: pods that wait for them would keep their places without end."""

from typing import Any

from tests.support.placement.numa import places, topology
from volcano_py.api.numa.topologies import NUMATOPOLOGY
from volcano_py.plugins.numa_aware.departures import Departures, departures
from volcano_py.state.cluster_state import ClusterState

SILENT = Departures(frozenset({"n1"}))


def test_a_node_whose_object_does_not_follow_for_a_minute_is_silent() -> None:
    state, memory = ClusterState(), dict[str, Any]()
    state.upsert(NUMATOPOLOGY, topology("n1", places(4), "0-1", shown={"gone": "2-3"}))

    def at(now: float) -> Departures:
        return departures(memory, state.snapshot(now).numa, now)

    assert at(100.0) == Departures(awaited_until=160.0)
    assert at(159.0) == Departures(awaited_until=160.0)
    assert at(160.0) == SILENT
    state.upsert(NUMATOPOLOGY, topology("n1", places(4), "0-2", shown={"other": "3"}))
    assert at(170.0) == Departures(awaited_until=230.0)
    assert at(90.0) == Departures(awaited_until=150.0), "the clock was set back"
    memory.clear()
    assert at(200.0) == Departures(awaited_until=260.0), "as after a restart"
    state.upsert(NUMATOPOLOGY, topology("n1", places(4)))
    assert at(300.0) == Departures()
    assert memory == {"left": {}}
