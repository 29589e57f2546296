"""Which pod of a gang goes first when its pods are equal: the last by number, whatever their UIDs are."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from tests.support.sessions import Opened, gang, node, open_session, pod, pod_group
from volcano_py.api.objects import Pod
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.units import UnitRules
from volcano_py.plugins.priority import Priority

NAMES = ("train-0", "train-1", "train-2", "train-9", "train-10")


def opened(members: list[Any], *, salt: str = "", tiers: Any = ((Priority,),)) -> Opened:
    """A running gang of these pods, whose UIDs depend on `salt`, and one pod that wants a place."""
    salted = [
        msgspec.structs.replace(
            each, metadata=msgspec.structs.replace(each.metadata, uid=f"{salt}{each.metadata.name}")
        )
        for each in members
        if isinstance(each, Pod)
    ]
    return open_session(node("n1", cpu="16"), pod_group("train"), salted, gang("urgent", cpu="1"), tiers=tiers)


def order(session: Opened) -> list[str]:
    turn, rows = Candidates(session.ssn, UnitRules()).turn, session.running("train")
    return session.names(rows[np.argsort(turn[rows])])


@pytest.mark.parametrize("salt", ["", "a", "b", "c"])
def test_the_first_of_a_gang_goes_last(salt: str) -> None:
    session = opened([pod(name, group="train", cpu="1", on="n1") for name in NAMES], salt=salt)
    assert order(session) == list(reversed(NAMES))


def test_the_lowest_priority_goes_first_then_the_youngest_then_the_last_by_number() -> None:
    members = [
        pod("train-9", group="train", cpu="1", on="n1", priority=5, age=10),
        pod("train-8", group="train", cpu="1", on="n1", age=10),
        pod("train-7", group="train", cpu="1", on="n1", age=10),
        pod("train-0", group="train", cpu="1", on="n1", age=1),
    ]
    assert order(opened(members)) == ["train-0", "train-8", "train-7", "train-9"]
    assert order(opened(members, tiers=[[]])) == ["train-0", "train-8", "train-7", "train-9"], "without priority, too"


def test_pods_of_equal_number_go_in_one_order_whatever_their_uids() -> None:
    members = [pod(f"train-{role}-0", group="train", cpu="1", on="n1") for role in ("ps", "worker", "chief")]
    orders = [order(opened(members, salt=salt)) for salt in "abcdef"]
    assert all(each == orders[0] for each in orders)


@pytest.mark.parametrize("salt", ["", "a", "b", "c"])
def test_pods_of_a_gang_are_placed_in_order_of_their_numbers(salt: str) -> None:
    session = opened([pod(name, group="train", cpu="1") for name in NAMES], salt=salt)
    rows = session.rows(*reversed(NAMES))
    assert session.names(session.ssn.ask.ordered_tasks(rows)) == list(NAMES)
