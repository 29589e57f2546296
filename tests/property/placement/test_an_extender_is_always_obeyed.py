"""No pod goes where an extender refuses it, and places that it was told of are balanced at the end of each cycle."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.extender import Scripted, configuration, simulation
from tests.support.sessions import gang, node, priority_class
from volcano_py.api.objects import ApiObject, PodGroup

NODES = ("a", "b", "c", "d")
SIZES = ("1", "1500m", "2")
ACTIONS = ("enqueue, allocate, backfill", "enqueue, allocate, backfill, preempt", "allocate, gangpreempt, backfill")


class Moody(Scripted):
    """Refuses pods of some sizes on some nodes, and places of some pods afterwards; it remembers who has a place."""

    def __init__(self, refused: set[tuple[str, float]], unwanted: set[str]) -> None:
        super().__init__({"predicate": self.judge, "allocate": self.gained, "deallocate": self.lost})
        self.refused, self.unwanted = refused, unwanted
        self.held: Counter[str] = Counter()

    def judge(self, body: dict[str, Any]) -> dict[str, Any]:
        is_refused = (body["node"]["Name"], body["task"]["Resreq"]["MilliCPU"]) in self.refused
        return {"status": "no" if is_refused else "", "code": 2}

    def gained(self, body: dict[str, Any]) -> dict[str, Any]:
        self.held[body["task"]["Name"]] += 1
        return {"errorMessage": "no" if body["task"]["Name"] in self.unwanted else ""}

    def lost(self, body: dict[str, Any]) -> dict[str, Any]:
        self.held[body["task"]["Name"]] -= 1
        return {}


@st.composite
def clusters(draw: st.DrawFn) -> tuple[list[ApiObject], dict[str, str]]:
    """Nodes of 4 CPUs with some pods that run, and gangs that wait; and the size of each pod."""
    objects: list[ApiObject] = [priority_class("high", 10), *(node(name, cpu="4") for name in NODES)]
    sizes: dict[str, str] = {}
    for number in range(draw(st.integers(0, 4))):
        objects += gang(f"low-{number}", min_member=0, running_on=[draw(st.sampled_from(NODES))], cpu="2")
        sizes[f"low-{number}-0"] = "2"
    for number in range(draw(st.integers(1, 5))):
        pods, size = draw(st.integers(1, 5)), draw(st.sampled_from(SIZES))
        least, high = draw(st.integers(1, pods)), draw(st.sampled_from(("", "high")))
        objects += gang(f"job-{number}", pods=pods, min_member=least, cpu=size, priority_class=high)
        sizes |= {f"job-{number}-{pod}": size for pod in range(pods)}
    return objects, sizes


@given(
    clusters(),
    st.sets(st.tuples(st.sampled_from(NODES), st.sampled_from((1000.0, 1500.0, 2000.0)))),
    st.sets(st.sampled_from([f"job-{job}-{pod}" for job in range(5) for pod in range(5)]), max_size=3),
    st.sampled_from(ACTIONS),
    st.sampled_from(([], ["{name: nodeorder}"], ["{name: binpack}"])),
)
def test_in_any_cluster(
    cluster: tuple[list[ApiObject], dict[str, str]],
    refused: set[tuple[str, float]],
    unwanted: set[str],
    actions: str,
    more: list[str],
) -> None:
    objects, sizes = cluster
    client = Moody(refused, unwanted)
    text = configuration(["predicate", "allocate", "deallocate"], actions=actions, more=more)
    running = simulation(objects, text, client)
    milli = {"1": 1000.0, "1500m": 1500.0, "2": 2000.0}
    before: dict[str, str] = {}
    for _ in range(6):
        client.held.clear()
        going = set(running.cluster.evictions)
        running.step()
        result = running.result(settled=False)
        assert not any(report.plugin_errors or report.action_errors for report in result.reports)
        bound = {key.partition("/")[2] for key in result.binds.keys() - before.keys()}
        evicted = {each.split(" ")[0].partition("/")[2] for each in set(result.evictions) - going}
        assert {name for name, count in client.held.items() if count == 1} == bound
        assert {name for name, count in client.held.items() if count == -1} == evicted
        assert set(client.held.values()) <= {-1, 0, 1}
        assert not bound & unwanted
        before = dict(result.binds)
    for key, where in before.items():
        assert (where, milli[sizes[key.partition("/")[2]]]) not in refused
    for group in objects:
        if isinstance(group, PodGroup) and group.metadata.name.startswith("job-"):
            placed = sum(key.startswith(f"{group.metadata.key}-") for key in before)
            assert placed == 0 or placed >= group.spec.min_member
