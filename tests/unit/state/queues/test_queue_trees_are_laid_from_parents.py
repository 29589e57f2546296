"""The tree of queues by spec.parent, and those that have no place in it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.state.queues.queue_tree import lay


def faults(parents: dict[str, str]) -> dict[str, str]:
    """Queue → its events."""
    return {name: fault.problem(name) for name, fault in lay(parents).faults.items()}


def test_a_queue_without_a_parent_is_below_root() -> None:
    tree = lay({"root": "", "b": "root", "a": "", "a2": "a", "a1": "a"})
    assert tree.order == ("root", "a", "b", "a1", "a2")
    assert tree.parents == {"a": "root", "b": "root", "a1": "a", "a2": "a"}
    assert tree.children == {"root": ("a", "b"), "a": ("a1", "a2")}
    assert tree.paths() == {"a": ("a",), "b": ("b",), "a1": ("a", "a1"), "a2": ("a", "a2")}
    assert list(tree.above("a2")) == ["a", "root"]
    assert [name for name in tree.order if tree.is_leaf(name)] == ["b", "a1", "a2"]
    assert not tree.faults


@pytest.mark.parametrize("parent", ["", "root", "a", "nowhere"])
def test_root_is_above_all_whatever_its_own_parent_is(parent: str) -> None:
    tree = lay({"root": parent, "a": ""})
    assert tree.order == ("root", "a")
    assert not tree.faults


def test_root_need_not_exist() -> None:
    assert lay({"a": "root", "b": "a"}).order == ("root", "a", "b")
    assert lay({}).order == ("root",)


def test_a_missing_parent_is_reported_where_it_is_named_and_below() -> None:
    rule = "spec.parent is gone, which does not exist; create it or name another queue"
    assert faults({"a": "", "x": "gone", "y": "x", "z": "y"}) == {
        "x": rule,
        "y": f"is below queue x, which is invalid: {rule}",
        "z": f"is below queue x, which is invalid: {rule}",
    }


def test_a_cycle_is_reported_for_each_of_its_queues_and_those_below() -> None:
    rule = "spec.parent leads back to this queue (b → c → a → b); name another queue in one of them"
    assert faults({"a": "b", "b": "c", "c": "a", "below": "b", "fine": ""}) == {
        "a": "spec.parent leads back to this queue (a → b → c → a); name another queue in one of them",
        "b": rule,
        "c": "spec.parent leads back to this queue (c → a → b → c); name another queue in one of them",
        "below": f"is below queue b, which is invalid: {rule}",
    }


def test_a_queue_cannot_be_its_own_parent() -> None:
    assert faults({"a": "a"}) == {"a": "spec.parent is the queue itself; name another queue, or leave it out for root"}


def test_a_cycle_of_thousands_is_reported_in_a_few_words() -> None:
    size = 5000
    reported = faults({f"q{number}": f"q{(number + 1) % size}" for number in range(size)})
    assert len(reported) == size
    rule = "spec.parent leads back to this queue (q7 → q8 → q9 → … → q7); name another queue in one of them"
    assert reported["q7"] == rule


def test_a_chain_of_thousands_is_laid() -> None:
    chain = {f"q{number:04d}": f"q{number - 1:04d}" if number else "" for number in range(3000)}
    tree = lay(chain)
    assert len(tree.order) == 3001
    assert len(tree.paths()["q2999"]) == 3000
    assert not tree.faults


def test_a_chain_of_thousands_below_a_mistake_names_it() -> None:
    chain = {f"q{number:04d}": f"q{number - 1:04d}" if number else "gone" for number in range(3000)}
    assert {fault.source for fault in lay(chain).faults.values()} == {"q0000"}


NAMES = ("root", "a", "b", "c", "d", "e", "f")
PARENTS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(("", *NAMES, "gone")))


@given(PARENTS, st.randoms())
def test_every_queue_is_placed_or_gets_a_reason_in_any_order(parents: dict[str, str], chance: random.Random) -> None:
    tree = lay(parents)
    assert set(tree.order) | tree.faults.keys() == parents.keys() | {"root"}
    assert not set(tree.order) & tree.faults.keys()
    placed = {"root"}
    for name in tree.order[1:]:
        parent = tree.parents[name]
        assert parent == (parents[name] or "root")
        assert parent in placed, "after the one above it"
        placed.add(name)
        assert name in tree.children[parent]
    for fault in tree.faults.values():
        assert tree.faults[fault.source] == fault
    items = list(parents.items())
    chance.shuffle(items)
    assert lay(dict(items)) == tree
