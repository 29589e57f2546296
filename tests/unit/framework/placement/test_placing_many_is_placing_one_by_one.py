"""The placer against a reference that places one task at a time and evaluates every node again each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.placement.placing import placed
from tests.support.sessions import Opened, gang, node, open_session
from volcano_py.framework.plugin import Plugin, Reach
from volcano_py.framework.session import Session
from volcano_py.framework.views import Codes, NodeView, Scores
from volcano_py.state.table.axis import CPU
from volcano_py.state.task_class import TaskClass

Score = Callable[[int, int], float]
"""(millicores used with the task, millicores allocatable) → score"""

ROW_SCORES: dict[str, Score] = {
    "spread": lambda used, allocatable: (allocatable - used) / allocatable * 100,
    "binpack": lambda used, allocatable: used / allocatable * 100,
    "ties": lambda used, allocatable: 7.0,
    "steps": lambda used, allocatable: float(used // 2000),
    "zigzag": lambda used, allocatable: (used % 3000) / 7,
    "tenths": lambda used, allocatable: 0.1 * (used // 1000),
}


class RowScore(Plugin):
    """Scores by one of `ROW_SCORES`."""

    name = "row-score"
    formula = "spread"

    def node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        used = view.used[:, CPU] + task_class.request[CPU]
        formula = ROW_SCORES[self.formula]
        return np.array([formula(u, a) for u, a in zip(used.tolist(), view.allocatable[:, CPU].tolist(), strict=True)])


def preference(name: str) -> float:
    """A fixed liking for a node, from the number in its name."""
    return float(int(name[1:]) * 37 % 11)


class Normalised(Plugin):
    """A liking for nodes, as a part of the largest among the feasible ones."""

    name = "normalised"

    def on_session_open(self, ssn: Session) -> None:
        self._liking = np.array([preference(name) for name in ssn.nodes.names])

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        liking = self._liking[view.rows]
        found: Scores = liking / max(liking.max(), 1.0) * 0.3
        return found


class Zones(Plugin):
    """The fewer pods in a node's zone the better: a placement moves the score of every node there."""

    name = "zones"

    def on_session_open(self, ssn: Session) -> None:
        self._nodes = ssn.ledger.nodes
        self._zone = np.array([int(name[1:]) % 2 for name in ssn.nodes.names])

    def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
        pods = np.bincount(self._zone, weights=self._nodes.tasks, minlength=2)
        found: Scores = -pods[self._zone[view.rows]]
        return found

    def batch_node_order_reach(self, task_class: TaskClass) -> Reach:
        return Reach.DOMAIN


class AtMostTwo(Plugin):
    """A node takes no third pod: what it says changes with every placement on it."""

    name = "at-most-two"

    def on_session_open(self, ssn: Session) -> None:
        self._nodes = ssn.ledger.nodes

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        return np.where(self._nodes.tasks[view.rows] >= 2, 1, 0).astype(np.int32)

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.ROW


class Balanced(Plugin):
    """A zone takes no pod while it has more than the other: what all nodes say changes with every placement."""

    name = "balanced"

    def on_session_open(self, ssn: Session) -> None:
        self._nodes = ssn.ledger.nodes
        self._zone = np.array([int(name[1:]) % 2 for name in ssn.nodes.names])

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        pods = np.bincount(self._zone, weights=self._nodes.tasks, minlength=2)
        fuller: Codes = (pods[self._zone] > pods.min()).astype(np.int32)
        return fuller[view.rows]

    def predicate_reach(self, task_class: TaskClass) -> Reach:
        return Reach.DOMAIN


class Even(Plugin):
    """Only nodes with an even number, whatever happens."""

    name = "even"

    def on_session_open(self, ssn: Session) -> None:
        self._odd = np.array([int(name[1:]) % 2 for name in ssn.nodes.names], dtype=np.int32)

    def predicate(self, task_class: TaskClass, view: NodeView) -> Codes:
        return self._odd[view.rows]


@dataclass
class Slot:
    """A node to the reference."""

    name: str
    allocatable: int
    used: int = 0
    pods: int = 0


def reference(slots: list[Slot], count: int, request: int, formula: str, plugins: list[type[Plugin]]) -> list[str]:
    """Where `count` tasks go when all nodes are evaluated again for each; the first by name among equals."""
    placed = []
    for _ in range(count):
        zone = {parity: sum(slot.pods for slot in slots if int(slot.name[1:]) % 2 == parity) for parity in (0, 1)}

        def feasible(slot: Slot, zone: dict[int, int] = zone) -> bool:
            parity = int(slot.name[1:]) % 2
            return (
                slot.allocatable - slot.used >= request
                and not (AtMostTwo in plugins and slot.pods >= 2)
                and not (Balanced in plugins and zone[parity] > min(zone.values()))
                and not (Even in plugins and parity)
            )

        open_slots = [slot for slot in slots if feasible(slot)]
        if not open_slots:
            break
        most = max(1.0, *(preference(slot.name) for slot in open_slots))

        def score(slot: Slot, zone: dict[int, int] = zone, most: float = most) -> float:
            # Added in the placer's order, to the last bit: what depends on other nodes makes a sum of its own.
            over_nodes = preference(slot.name) / most * 0.3 if Normalised in plugins else 0.0
            if Zones in plugins:
                over_nodes = over_nodes - float(zone[int(slot.name[1:]) % 2])
            return ROW_SCORES[formula](slot.used + request, slot.allocatable) + over_nodes

        best = min(open_slots, key=lambda slot: (-score(slot), slot.name))
        best.used += request
        best.pods += 1
        placed.append(best.name)
    return placed


def opened_with(sizes: list[int], count: int, request: int, formula: str, plugins: list[type[Plugin]]) -> Opened:
    scorer: Any = type("RowScore", (RowScore,), {"formula": formula})
    return open_session(
        *[node(f"n{index:02}", cpu=str(size)) for index, size in enumerate(sizes)],
        gang("g", pods=count, cpu=str(request)),
        tiers=[[scorer, *plugins]],
    )


POLICIES: list[list[type[Plugin]]] = [
    [],
    [Normalised],
    [Zones],
    [AtMostTwo],
    [Balanced],
    [Even],
    [Normalised, Zones],
    [Normalised, AtMostTwo, Even],
    [Zones, Balanced],
]


@pytest.mark.parametrize("plugins", POLICIES, ids=lambda plugins: "+".join(p.name for p in plugins) or "row scores")
@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    count=st.integers(1, 24),
    request=st.integers(1, 3),
    formula=st.sampled_from(sorted(ROW_SCORES)),
    batches=st.lists(st.integers(1, 24), min_size=1, max_size=4),
)
def test_any_number_at_a_time_goes_where_one_at_a_time_would(
    plugins: list[type[Plugin]], sizes: list[int], count: int, request: int, formula: str, batches: list[int]
) -> None:
    slots = [Slot(f"n{index:02}", size * 1000) for index, size in enumerate(sizes)]
    expected = reference(slots, count, request * 1000, formula, plugins)
    opened = opened_with(sizes, count, request, formula, plugins)
    assert placed(opened, *batches)[0] == expected
    assert not opened.ssn.dispatch.failures.counts


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(2, 9), min_size=1, max_size=6),
    requests=st.lists(st.integers(1, 3), min_size=1, max_size=12),
    formula=st.sampled_from(sorted(ROW_SCORES)),
    undo=st.sets(st.integers(0, 11)),
)
def test_what_is_kept_of_a_class_stays_true_while_others_come_and_go(
    sizes: list[int], requests: list[int], formula: str, undo: set[int]
) -> None:
    """Single tasks of three classes in turn, some of them taken back at once."""
    scorer: Any = type("RowScore", (RowScore,), {"formula": formula})
    opened = open_session(
        *[node(f"n{index:02}", cpu=str(size)) for index, size in enumerate(sizes)],
        *[gang(f"g{index}", cpu=str(request)) for index, request in enumerate(requests)],
        tiers=[[scorer]],
    )
    slots = [Slot(f"n{index:02}", size * 1000) for index, size in enumerate(sizes)]
    for index, request in enumerate(requests):
        row = opened.rows(f"g{index}-0")
        task_class = opened.ssn.task_class(int(row[0]))
        choice = opened.ssn.placer.choose(task_class, 1)
        before = [(slot.used, slot.pods) for slot in slots]
        expected = reference(slots, 1, request * 1000, formula, [])
        assert [opened.ssn.snapshot.nodes[node_row].name for node_row in choice.nodes.tolist()] == expected
        if len(choice.nodes):
            statement = opened.ssn.statement()
            statement.allocate(opened.job(f"g{index}"), task_class, row, choice.nodes)
            if index in undo:
                statement.discard()
                for slot, (used, pods) in zip(slots, before, strict=True):
                    slot.used, slot.pods = used, pods


@pytest.mark.parametrize("liking", [[0.1, 0.1, 0.1], [0.7, 1.1, 1.1], [1.1, 0.3, 1.1]])
def test_floats_add_up_the_same_way_in_a_batch(liking: list[float]) -> None:
    """0.1 + 0.2 - 0.1 is not 0.2: a score kept as an offset would break ties otherwise than one by one."""

    class Liking(Plugin):
        name = "liking"

        def batch_node_order(self, task_class: TaskClass, view: NodeView) -> Scores:
            found: Scores = np.array(liking)[view.rows]
            return found

    one, many = (opened_with([9, 9, 9], 12, 1, "zigzag", [Liking]) for _ in range(2))
    assert placed(many, 12)[0] == placed(one, 1)[0]
    assert not many.ssn.dispatch.failures.counts
    assert not one.ssn.dispatch.failures.counts
