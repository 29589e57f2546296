"""Where running pods could go instead: by all predicates, as if they were created again. Trying changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.sessions import Opened, gang, node, open_session, queue
from volcano_py.api.objects import Queue
from volcano_py.framework.eviction import elsewhere as module
from volcano_py.framework.eviction.elsewhere import elsewhere
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, NodeView
from volcano_py.plugins.capacity.plugin import Capacity
from volcano_py.plugins.gang import Gang
from volcano_py.plugins.nodegroup import NodeGroup
from volcano_py.plugins.predicates.plugin import Predicates
from volcano_py.plugins.proportion import Proportion
from volcano_py.state.task_class import TaskClass


def tried(opened: Opened, *pods: str, to: tuple[str, ...]) -> list[str | None]:
    """Where each of the pods would go, one after the other."""
    ssn = opened.ssn
    allowed = np.zeros(ssn.ledger.nodes.size, dtype=np.bool_)
    allowed[[opened.node_row(name) for name in to]] = True
    tasks, nodes, jobs = ssn.ledger.tasks, ssn.ledger.nodes, ssn.ledger.jobs
    before: tuple[Any, ...] = tasks.status.copy(), nodes.used.copy(), jobs.counts.copy()
    found: list[str | None] = []
    with elsewhere(ssn, allowed) as places:
        for name in pods:
            at = places.move(opened.task(name).job, opened.task(name).row)
            found.append(None if at is None else ssn.snapshot.nodes[at].name)
    after: tuple[Any, ...] = tasks.status, nodes.used, jobs.counts
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)
    assert ssn.ledger.drift() == 0
    assert not ssn.findings.tentative
    assert not opened.effects
    assert not ssn.dispatch.failures.counts
    return found


def test_each_pod_finds_what_those_before_it_have_left() -> None:
    opened = open_session(
        *(node(name, cpu="2") for name in ("a", "b", "c")),
        gang("g", pods=5, cpu="1", running_on=["c", "c"]),
        gang("other", cpu="1", running_on=["a"]),
        tiers=[[Predicates, Gang, Proportion]],
    )
    assert tried(opened, "g-0", "g-1", to=("a",)) == ["a", None]
    assert tried(opened, "g-0", "g-1", to=("a", "b")) == ["a", "b"]
    assert tried(opened, "g-0", to=()) == [None]


def with_group(name: str, group: str) -> Any:
    return node(name, cpu="2", labels={"volcano.sh/nodegroup-name": group})


def test_classes_are_the_same_whenever_pods_are_tried() -> None:
    """Small pods fit where large ones do not, in whatever order they are asked about."""
    jobs = [gang(f"g{size}", cpu=str(size), running_on=["b"]) for size in (1, 3)]
    others = [node(f"n{number}", cpu="2") for number in range(20)]  # (so that answers about most nodes are kept)
    opened = open_session(node("a", cpu="2"), node("b"), *others, *jobs, tiers=[[Predicates]])
    for _ in range(2):
        assert tried(opened, "g1-0", to=("a",)) == ["a"]
        assert tried(opened, "g3-0", to=("a",)) == [None]


def test_rules_of_the_queue_hold_though_running_pods_are_not_told_apart_by_them() -> None:
    affinity = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["own"]}}
    made = queue("research")
    research = Queue(metadata=made.metadata, spec=type(made.spec)(affinity=affinity), status=made.status)
    opened = open_session(
        with_group("a", "own"),
        with_group("b", "foreign"),
        with_group("c", "own"),
        research,
        gang("g", pods=2, queue="research", cpu="1", running_on=["c", "c"]),
        tiers=[[Predicates, NodeGroup]],
    )
    assert tried(opened, "g-0", "g-1", to=("b",)) == [None, None]
    assert tried(opened, "g-0", "g-1", to=("a", "b")) == ["a", "a"]


class Counting(Plugin):
    """Refuses all nodes, and counts how often it is asked."""

    name = "counting"
    asked = 0

    def on_session_open(self, ssn: Session) -> None:
        self._ssn = ssn

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        Counting.asked += 1
        return np.full(len(view), self._ssn.absent_node, dtype=np.int32)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.STATIC


def test_pods_that_are_alike_are_tried_once_and_different_ones_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [gang(f"g{size}", pods=2, cpu=str(size), running_on=["b", "b"]) for size in (1, 2, 3)]
    opened = open_session(node("a", cpu="20"), node("b", cpu="20"), *jobs, tiers=[[Counting]])
    Counting.asked = 0
    assert tried(opened, *(f"g{size}-{at}" for size in (1, 2, 3) for at in (0, 1)), to=("a",)) == [None] * 6
    assert Counting.asked == 3
    monkeypatch.setattr(module, "_MOST_FAILURES", 2)
    assert tried(opened, "g1-0", "g2-0", "g3-0", to=("a",)) == [None] * 3
    assert Counting.asked == 5


@pytest.mark.parametrize("plugin", [Capacity, Proportion])
@pytest.mark.parametrize(
    ("limit", "state", "waiting", "is_taken_back"),
    [
        pytest.param("4", "Open", 0, True, id="room to spare"),
        pytest.param("3", "Open", 0, True, id="full"),
        pytest.param("3", "Open", 1, False, id="full, and another pod waits"),
        pytest.param("2", "Open", 0, False, id="over its limit"),
        pytest.param("9", "Closed", 0, False, id="closed"),
    ],
)
def test_a_queue_takes_a_pod_back_where_it_has_room_for_it(
    plugin: type[Plugin], limit: str, state: str, waiting: int, is_taken_back: bool
) -> None:
    opened = open_session(
        *(node(name, cpu="4") for name in ("a", "b")),
        queue("q", capability={"cpu": limit}, state=state),
        gang("g", pods=3, cpu="1", running_on=["a"] * 3, queue="q", min_member=1),
        *(gang(f"late-{number}", cpu="1", queue="q") for number in range(waiting)),
        tiers=[[Predicates, Gang, plugin]],
    )
    allowed = np.ones(opened.ssn.ledger.nodes.size, dtype=np.bool_)
    with elsewhere(opened.ssn, allowed) as places:
        assert places.takes_back(opened.task("g-0").job, opened.task("g-0").row) is is_taken_back
    assert opened.ssn.ledger.drift() == 0
    assert not opened.ssn.dispatch.failures.counts
