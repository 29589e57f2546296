"""Whose turn it is where a plugin lays queues in a tree: the descent against a comparison of whole paths.

root ── a ── a1, a2 ── (a2) deep
     └─ b ── b
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sessions import Opened, open_session, queue
from volcano_py.framework.ordering.heaps import Heap
from volcano_py.framework.ordering.queue_order import Path, QueueOrder, TreeOrder, queue_order
from volcano_py.framework.plugin import Key, Plugin
from volcano_py.framework.session import Session
from volcano_py.state.infos import QueueInfo


@dataclass
class World:
    """What the plugin goes by; a test may change it at any time."""

    paths: Mapping[str, Path]
    keys: Counter[Path] = field(default_factory=Counter)
    epoch: int = 0
    asked: int = 0
    fails: bool = False
    session: Session | None = None

    def serve(self, path: Path, amount: int = 1) -> None:
        """Something is placed for a queue: its node and all above it move."""
        for depth in range(len(path)):
            self.keys[path[: depth + 1]] += amount
        if self.session is not None:
            self.session.moves.count += 1


def owner(world: World) -> type[Plugin]:
    """A plugin that owns this tree of queues."""

    class Owner(Plugin):
        name = "owner"

        def on_session_open(self, ssn: Session) -> None:
            world.session = ssn

        def queue_order(self, queue: QueueInfo) -> Key:
            return -queue.priority

        def queue_paths(self) -> Mapping[str, Path]:
            return world.paths

        def branch_order(self, path: Path) -> Key:
            world.asked += 1
            if world.fails:
                raise ValueError
            return world.keys[path]

        def branch_epoch(self) -> int:
            return world.epoch

    return Owner


def opened(world: World, **priorities: int) -> Opened:
    queues = [queue(name, priority=priorities.get(name, 0), age=-index) for index, name in enumerate(world.paths)]
    return open_session(*queues, tiers=[[owner(world)]], default_queue=False)


def order_of(session: Opened, *names: str) -> QueueOrder:
    return queue_order(session.ssn, [session.ssn.queues[name] for name in names])


def popped(order: QueueOrder) -> list[str]:
    """All that wait, in order, with no queue served in between."""
    return [order.pop().name for _ in range(len(order))]


def full_key(session: Opened, world: World, info: QueueInfo) -> tuple[Any, ...]:
    """The slow comparison: rank, then the keys of all nodes on the path, then age and name."""
    path = world.paths.get(info.name, (info.name,))
    keys = tuple(world.keys[path[: depth + 1]] for depth in range(len(path)))
    return -info.priority, keys, info.created, info.name


TREE: dict[str, Path] = {"a1": ("a", "a1"), "a2": ("a", "a2"), "deep": ("a", "a2", "deep"), "b": ("b", "b")}


def test_at_each_node_the_child_with_the_smallest_key_is_next() -> None:
    world = World(TREE, Counter({("a",): 2, ("a", "a1"): 1, ("a", "a2"): 0, ("b",): 3}))
    assert popped(order_of(opened(world), "a1", "a2", "deep", "b")) == ["a2", "deep", "a1", "b"]


def test_of_equal_nodes_the_one_with_the_best_below_it_is_next() -> None:
    world = World({"a1": ("a", "1"), "b1": ("b", "1"), "b2": ("b", "2")}, Counter({("a", "1"): 2, ("b", "1"): 3}))
    assert popped(order_of(opened(world), "a1", "b1", "b2")) == ["b2", "a1", "b1"]


def test_only_waiting_pods_name_a_node() -> None:
    world = World({"a1": ("a", "1"), "b1": ("b", "1"), "b2": ("b", "2")}, Counter({("a", "1"): 2, ("b", "1"): 3}))
    assert popped(order_of(opened(world), "a1", "b1")) == ["a1", "b1"]


def test_where_all_levels_tie_queues_go_by_age_and_name() -> None:
    paths = {"z": ("z",), "y2": ("y", "2"), "y1": ("y", "1")}
    session = open_session(queue("z"), queue("y2", age=5), queue("y1"), tiers=[[owner(World(paths))]])
    assert popped(order_of(session, "z", "y2", "y1")) == ["z", "y2", "y1"], (
        "nothing below z is compared with y's queues"
    )
    level = {name: (*path, name) for name, path in paths.items() if name != "z"}
    session = open_session(queue("y2", age=5), queue("y1"), tiers=[[owner(World(level))]])
    assert popped(order_of(session, "y2", "y1")) == ["y2", "y1"]


def test_queues_of_one_node_go_by_age() -> None:
    world = World({"young": ("n",), "old": ("n",)})
    session = open_session(queue("young"), queue("old", age=5), tiers=[[owner(world)]])
    assert popped(order_of(session, "young", "old")) == ["old", "young"]


def test_a_queue_that_the_tree_leaves_out_stands_below_the_root_under_its_own_name() -> None:
    world = World({"a1": ("a", "a1")}, Counter({("a",): 1, ("lost",): 0}))
    session = open_session(queue("a1"), queue("lost"), tiers=[[owner(world)]])
    assert popped(order_of(session, "a1", "lost")) == ["lost", "a1"]
    world.keys[("lost",)] = 2
    assert popped(order_of(session, "a1", "lost")) == ["a1", "lost"]


def test_what_a_queue_is_served_counts_for_all_nodes_above_it_at_once() -> None:
    """a1 and a2 together get as much as b, not each of them."""
    world = World(TREE)
    order = order_of(opened(world), "a1", "a2", "b")
    turns = []
    for _ in range(8):
        info = order.pop()
        turns.append(info.name)
        world.serve(world.paths[info.name])
        order.push(info)
    assert turns == ["a1", "b", "a2", "b", "a1", "b", "a2", "b"]


def test_a_queue_that_has_nothing_more_to_do_leaves_its_turns_to_the_others() -> None:
    world = World(TREE)
    order = order_of(opened(world), "a1", "a2", "b")
    for expected in ("a1", "b", "a2"):
        assert order.pop().name == expected
        world.serve(world.paths[expected])
    assert not len(order)


def test_a_queue_that_had_left_may_wait_again() -> None:
    world = World(TREE, Counter({("b",): 1}))
    session = opened(world)
    order = order_of(session, "a1", "b")
    assert [order.pop().name for _ in range(2)] == ["a1", "b"]
    order.push(session.ssn.queues["b"])
    order.push(session.ssn.queues["a1"])
    assert popped(order) == ["a1", "b"]


def test_keys_are_those_after_what_was_taken_back() -> None:
    """A turn that comes to nothing leaves everything as it was."""
    world = World(TREE)
    order = order_of(opened(world), "a1", "a2", "b")
    first = order.pop()
    world.serve(TREE[first.name])
    world.serve(TREE[first.name], -1)
    order.push(first)
    assert popped(order) == ["a1", "a2", "b"]


def test_higher_ranks_go_before_the_tree_is_asked() -> None:
    world = World(TREE, Counter({("a",): 9, ("a", "a2"): 9}))
    session = opened(world, a2=5)
    order = order_of(session, "a1", "a2", "b")
    assert order.pop().name == "a2"
    order.push(session.ssn.queues["a2"])
    assert popped(order) == ["a2", "b", "a1"]


def test_what_a_queue_of_a_higher_rank_was_served_is_known_to_the_lower_ones() -> None:
    """They stand in the same tree, though each rank is gone through on its own."""
    world = World(TREE)
    session = opened(world, a2=5)
    order = order_of(session, "a1", "b", "a2")
    assert order.pop().name == "a2"
    world.serve(TREE["a2"])
    assert popped(order) == ["b", "a1"]


def test_ranks_may_alternate() -> None:
    world = World(TREE)
    session = opened(world, a2=5)
    order = order_of(session, "a1", "b")
    assert order.pop().name == "a1"
    world.serve(TREE["a1"])
    order.push(session.ssn.queues["a1"])
    order.push(session.ssn.queues["a2"])
    assert order.pop().name == "a2"
    world.serve(TREE["a2"])
    world.serve(TREE["b"], 3)
    world.epoch += 1
    assert popped(order) == ["a1", "b"]


def test_keys_that_move_off_the_path_are_seen_when_the_plugin_says_so() -> None:
    world = World(TREE)
    session = opened(world)
    order = order_of(session, "a1", "a2", "b")
    order.push(order.pop())
    world.keys[("a",)] = 7
    world.epoch += 1
    assert popped(order) == ["b", "a1", "a2"]


def test_without_a_tree_queues_stand_side_by_side() -> None:
    class Plain(Plugin):
        name = "plain"

        def queue_order(self, queue: QueueInfo) -> Key:
            return -queue.weight

    session = open_session(queue("light"), queue("heavy", weight=3), tiers=[[Plain]])
    order = order_of(session, "light", "heavy")
    assert isinstance(order, Heap)
    assert popped(order) == ["heavy", "light"]


@pytest.mark.parametrize("queues", [10, 100])
def test_a_turn_asks_for_as_many_keys_as_the_path_is_long(queues: int) -> None:
    """However many queues there are."""
    paths: dict[str, Path] = {f"q{number}": ("x", f"y{number % 5}", f"q{number}") for number in range(queues)}
    world = World(paths)
    order = order_of(opened(world), *paths)
    order.push(order.pop())
    world.asked = 0
    for _ in range(20):
        info = order.pop()
        world.serve(paths[info.name])
        order.push(info)
    assert world.asked == 20 * 3


def test_a_chain_of_thousands_is_no_deeper_than_it_is_long() -> None:
    path = tuple(f"n{depth}" for depth in range(3000))
    world = World({"deep": path, "top": ("top",)})
    order = order_of(opened(world), "deep", "top")
    world.epoch += 1
    assert popped(order) == ["top", "deep"]


NAMES = ("a", "b", "c")
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(tuple)
TREES = st.lists(PATHS, min_size=1, max_size=12).map(
    lambda paths: {f"q{number}": path for number, path in enumerate(paths)}
)


@given(TREES, st.data())
def test_the_descent_equals_a_full_comparison_whatever_is_served(paths: dict[str, Path], data: st.DataObject) -> None:
    """Each pop is the least of all that wait, by the keys of that moment."""
    world = World(paths)
    ranks = {name: data.draw(st.integers(0, 2)) for name in paths}
    session = opened(world, **ranks)
    infos = session.ssn.queues
    waiting = set(paths)
    order = order_of(session, *data.draw(st.permutations(sorted(paths))))
    assert isinstance(order, TreeOrder)
    while waiting:
        expected = min(waiting, key=lambda name: full_key(session, world, infos[name]))
        found = order.pop()
        assert found.name == expected
        assert len(order) == len(waiting) - 1
        world.serve(paths[found.name], data.draw(st.integers(0, 2)))
        if data.draw(st.integers(0, 3)):
            order.push(found)
        else:
            waiting.remove(found.name)


@given(TREES, st.data())
def test_keys_that_a_plugin_fails_to_give_lose_no_queue(paths: dict[str, Path], data: st.DataObject) -> None:
    """What takes the place of such a key equals every other, so that nothing is in order any more."""
    world = World(paths)
    session = opened(world)
    order = order_of(session, *paths)
    waiting = set(paths)
    while waiting:
        found = order.pop()
        world.fails = data.draw(st.booleans())
        world.serve(paths[found.name], data.draw(st.integers(-2, 2)))
        world.epoch += data.draw(st.integers(0, 1))
        if data.draw(st.booleans()):
            order.push(found)
        else:
            waiting.remove(found.name)
    assert not order


@given(TREES, st.data())
def test_the_order_is_total_and_does_not_depend_on_arrival(paths: dict[str, Path], data: st.DataObject) -> None:
    """So it is transitive: whoever goes before another goes before all that the other goes before."""
    keys = Counter({path[: depth + 1]: data.draw(st.integers(0, 2)) for path in paths.values() for depth in range(4)})
    world = World(paths, keys)
    session = opened(world)
    expected = sorted(paths, key=lambda name: full_key(session, world, session.ssn.queues[name]))
    assert popped(order_of(session, *data.draw(st.permutations(sorted(paths))))) == expected
    for subset in (expected[::2], expected[1:]):
        assert popped(order_of(session, *subset)) == subset


def test_while_nothing_is_placed_no_key_is_asked_for_again() -> None:
    """As when enqueue lets jobs in."""
    world = World(TREE)
    session = opened(world)
    order = order_of(session, "a1", "a2", "b")
    world.asked = 0
    for _ in range(10):
        order.push(order.pop())
    assert world.asked == 0
