"""The live state as one document: everything by name, and nothing that JSON cannot say."""

from __future__ import annotations

import json
from typing import Any

from tests.support.cycles import Cycles
from tests.support.placement.devices import device_class, resource_slice
from tests.support.sessions import NOW, gang, node, pod, pod_group, queue
from tests.unit.state.watched import Watched
from volcano_py.daemon.observing.dump import dump_state
from volcano_py.observe.encoding import json_chunks
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.predicates import Predicates


def dumped(watched: Watched) -> dict[str, Any]:
    return dump_state(watched.snapshot(), None, watched.state.drift())


def test_objects_are_reported_by_name() -> None:
    watched = Watched(
        node("n1", cpu="4"),
        queue("q1"),
        gang("g", pods=2, cpu="1", queue="q1", running_on=["n1"]),
        pod("foreign", cpu="1", on="ghost", scheduler="default-scheduler"),
        pod("orphan", group="nowhere", cpu="1"),
    )
    reported = dumped(watched)
    assert reported["drift"] == 0
    assert reported["time"] == NOW.timestamp()
    assert {name: found["exists"] for name, found in reported["nodes"].items()} == {"n1": True, "ghost": False}
    assert reported["nodes"]["n1"]["used"] == {"cpu": 1000, "pods": 1}
    assert {name: found["podGroup"] for name, found in reported["jobs"].items()} == {
        "team/g": True,
        "team/nowhere": False,
    }
    assert reported["jobs"]["team/g"]["tasks"] == {"PENDING": 1, "RUNNING": 1}
    assert reported["jobs"]["team/g"]["queue"] == "q1"
    assert reported["jobs"]["team/nowhere"]["queue"] is None
    assert {name: (found["status"], found["node"]) for name, found in reported["tasks"].items()} == {
        "team/g-0": ("RUNNING", "n1"),
        "team/g-1": ("PENDING", None),
        "team/foreign": ("RUNNING", "ghost"),
        "team/orphan": ("PENDING", None),
    }
    assert reported["queues"]["q1"]["state"] == "Open"
    assert reported["queues"]["q1"].keys() == {"state", "parent", "allocated", "leaving"}


def test_rows_that_are_free_are_left_out() -> None:
    watched = Watched(node("n1"), node("n2"), pod_group("g"), pod("a", group="g"), pod("b", group="g"))
    watched.delete(node("n1"), pod("a", group="g"))
    reported = dumped(watched)
    assert (set(reported["nodes"]), set(reported["tasks"])) == ({"n2"}, {"team/b"})


def test_all_of_it_is_json_with_the_last_cycle() -> None:
    cycles = Cycles(node("n1", cpu="1"), gang("large", cpu="9"))
    report = cycles.run()
    reported = dump_state(cycles.state.snapshot(NOW.timestamp()), report, cycles.state.drift())
    read = json.loads(b"".join(json_chunks(reported)))
    assert read["lastCycle"]["pending"][0]["name"] == "team/large"
    assert read["lastCycle"]["pending"][0]["reason"] == "NeverFits"
    assert read["resources"][:3] == ["cpu", "memory", "pods"]


def test_devices_count_for_the_resources_for_which_they_stand_in() -> None:
    cycles = Cycles(
        node("n1"),
        device_class(extended="example.com/gpu"),
        resource_slice("s", "d0", "d1", on="n1"),
        gang("g", cpu="1", devices={"example.com/gpu": "1"}),
        plugins=(Gang, Predicates),
    )
    report = cycles.run()
    snapshot = cycles.state.snapshot(NOW.timestamp())
    own = dump_state(snapshot, report, 0)["nodes"]["n1"]
    with_devices = dump_state(snapshot, report, 0, cycles.scheduler.stand_ins)["nodes"]["n1"]
    assert "example.com/gpu" not in own["allocatable"]
    assert with_devices["allocatable"]["example.com/gpu"] == 2
