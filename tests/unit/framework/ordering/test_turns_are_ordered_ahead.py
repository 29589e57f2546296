"""Which queues have the next turns, if each turn places one task: all at once, as if they were asked for one by one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.sessions import gang, node, open_session, queue
from volcano_py.framework.ordering.outlook import Level, Outlook
from volcano_py.framework.ordering.queue_order import Path, queue_order
from volcano_py.framework.ordering.turns_ahead import Front, TurnsAhead
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.state.infos import QueueInfo
from volcano_py.state.task_class import TaskClass

PATHS: Final[dict[str, Path]] = {
    "a1": ("a", "a1"),
    "a2": ("a", "a2"),
    "deep": ("b", "c", "deep"),
    "deeper": ("b", "c", "d", "deeper"),
    "top": ("top",),
}


class Owner(Plugin):
    """Nodes go by what was placed in them, divided by their weight, and then by whether that is odd."""

    name = "owner"
    allows_series = True
    paths: Mapping[str, Path] = PATHS
    weights: Mapping[Path, int] = {}
    most: Mapping[Path, int] = {}
    falls: bool = False
    """Whether keys may become less with more tasks."""

    def on_session_open(self, ssn: Session) -> None:
        self.placed: Counter[Path] = Counter()
        self.ssn = ssn

    def place(self, name: str) -> None:
        path = self.paths[name]
        for depth in range(1, len(path) + 1):
            self.placed[path[:depth]] += 1
        self.ssn.moves.count += 1

    def queue_order(self, queue: QueueInfo) -> Key:
        return -queue.priority

    def queue_paths(self) -> Mapping[str, Path]:
        return self.paths

    def branch_order(self, path: Path) -> Key:
        return self.key(path, self.placed[path])

    def key(self, path: Path, placed: int) -> tuple[float, int]:
        """With so many tasks."""
        weight = self.weights.get(path, 1)
        return placed // weight - (placed % weight if self.falls else 0), placed

    def look_ahead(self, task_class: TaskClass) -> Outlook | None:
        return Ahead(self)


class Ahead:
    """What the owner will answer."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    def keys(self, level: Level) -> Sequence[NDArray[Any]]:
        keys = [
            self.owner.key(level.nodes[of], self.owner.placed[level.nodes[of]] + placed)
            for of, placed in zip(level.of.tolist(), level.placed.tolist(), strict=True)
        ]
        return list(np.array(keys, dtype=np.float64).reshape(-1, 2).T)

    def most(self, path: Path) -> int:
        return self.owner.most.get(path, 1000)


class Another(Plugin):
    """Has a say about what queues may take."""

    name = "another"

    def overused(self, queue: QueueInfo) -> bool:
        return False


class Silent(Owner):
    name = "silent"
    look_ahead = Plugin.look_ahead


class Unsure(Owner):
    name = "unsure"

    def look_ahead(self, task_class: TaskClass) -> Outlook | None:
        return None


class Failing(Owner):
    name = "failing"

    def look_ahead(self, task_class: TaskClass) -> Outlook | None:
        raise RuntimeError("no idea")


class Confused(Owner):
    name = "confused"

    def key(self, path: Path, placed: int) -> tuple[float, int]:
        return math.nan, placed


class WithNamespaces(Plugin):
    name = "with-namespaces"

    def namespace_order(self, queue: QueueInfo, namespace: str) -> Key:
        return 0


def opened(*plugins: Any, priorities: Mapping[str, int] | None = None) -> Session:
    made = [queue(name, priority=(priorities or {}).get(name, 0), age=age) for age, name in enumerate(sorted(PATHS))]
    return open_session(node("n1"), *made, *gang("j", queue="top"), tiers=[[*plugins]]).ssn


def ahead(ssn: Session, waiting: Mapping[str, int], more: Sequence[str] = ()) -> list[str]:
    """The names of the queues that have the next turns; in those in `more`, something else waits behind the jobs."""
    names = list(waiting)
    fronts = [Front(ssn.queues[name], waiting[name], name not in more) for name in names]
    (_, rows), *_ = ssn.jobs_with_pending_tasks()
    return [names[at] for at in TurnsAhead(ssn).of(ssn.task_class(int(rows[0])), fronts).tolist()]


def one_by_one(ssn: Session, waiting: Mapping[str, int]) -> list[str]:
    """The same, by asking for the first queue and placing a task in it, again and again."""
    (owner,) = [plugin for plugin in ssn.dispatch.plugins if isinstance(plugin, Owner)]
    left, turns = Counter(waiting), []
    order = queue_order(ssn, [ssn.queues[name] for name, jobs in waiting.items() if jobs])
    while order:
        first = order.pop()
        owner.place(first.name)
        turns.append(first.name)
        left[first.name] -= 1
        if left[first.name]:
            order.push(first)
    return turns


@given(
    waiting=st.dictionaries(st.sampled_from(sorted(PATHS)), st.integers(0, 9), min_size=1),
    weights=st.dictionaries(
        st.sampled_from([("a",), ("b",), ("b", "c"), ("b", "c", "d"), ("top",), ("a", "a1")]), st.integers(1, 4)
    ),
    placed=st.lists(st.sampled_from(sorted(PATHS)), max_size=5),
    priorities=st.dictionaries(st.sampled_from(sorted(PATHS)), st.integers(0, 1)),
    falls=st.booleans(),
)
def test_turns_are_those_that_would_come_one_by_one(
    waiting: Mapping[str, int],
    weights: Mapping[Path, int],
    placed: Sequence[str],
    priorities: Mapping[str, int],
    falls: bool,
) -> None:
    ssn = opened(type("Weighing", (Owner,), {"weights": weights, "falls": falls}), priorities=priorities)
    (owner,) = ssn.dispatch.plugins
    assert isinstance(owner, Owner)
    for name in placed:
        owner.place(name)
    assert ahead(ssn, waiting) == one_by_one(ssn, waiting)


def test_the_last_turn_is_the_one_before_something_else_in_a_queue() -> None:
    assert ahead(opened(Owner), {"top": 3, "a1": 1}, more=["a1"]) == ["top", "a1", "top"]


def test_a_queue_with_nothing_but_other_jobs_stops_all_turns_after_its_own() -> None:
    assert ahead(opened(Owner), {"top": 3, "a1": 0}, more=["a1"]) == ["top"]


@pytest.mark.parametrize(
    ("most", "turns"),
    [
        pytest.param({("top",): 1}, ["top", "a1"], id="in its own queue"),
        pytest.param({("a",): 1}, ["top", "a1", "top"], id="in a queue above it"),
        pytest.param({(): 3}, ["top", "a1", "top"], id="above all queues"),
        pytest.param({("a",): 0}, ["top"], id="at once"),
    ],
)
def test_the_last_turn_is_the_one_before_a_task_may_find_no_room(
    most: Mapping[Path, int], turns: Sequence[str]
) -> None:
    ssn = opened(type("Bounded", (Owner,), {"most": most}))
    assert ahead(ssn, {"top": 3, "a1": 3}) == turns


@pytest.mark.parametrize(
    "plugins",
    [
        pytest.param([Owner, Another], id="two plugins decide"),
        pytest.param([Silent], id="the plugin does not look ahead"),
        pytest.param([Owner, (WithNamespaces, {"enableNamespaceOrder": True})], id="namespaces have turns"),
        pytest.param([], id="no plugin decides"),
    ],
)
def test_nothing_is_known_ahead_if(plugins: list[Any]) -> None:
    ssn = opened(*plugins)
    assert not TurnsAhead(ssn).are_known
    assert ahead(ssn, {"top": 3}) == []


def test_nothing_is_known_ahead_if_the_plugin_cannot_say() -> None:
    ssn = opened(Unsure)
    assert ahead(ssn, {"top": 3}) == []
    assert not ssn.dispatch.failures.counts


@pytest.mark.parametrize("plugin", [Failing, Confused])
def test_nothing_is_known_ahead_if_the_plugin_fails(plugin: type[Plugin]) -> None:
    ssn = opened(plugin)
    assert ahead(ssn, {"top": 3}) == []
    assert set(ssn.dispatch.failures.counts) == {plugin.name}


@pytest.mark.parametrize(
    "path", [pytest.param(("a",), id="a node above another"), pytest.param(("a", "a1"), id="the same node")]
)
def test_nothing_is_known_ahead_if_a_queue_stands_at(path: Path) -> None:
    ssn = opened(type("Crowded", (Owner,), {"paths": {**PATHS, "top": path}}))
    assert ahead(ssn, {"a1": 1, "top": 1}) == []


def test_nothing_comes_of_no_queues() -> None:
    assert ahead(opened(Owner), {}) == []
