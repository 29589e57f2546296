"""status.allocated of queues that form a tree by spec.parent, whichever plugin divides the cluster."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.sessions import Opened, gang, node, open_session, queue
from volcano_py.api.effects import QueueAllocated
from volcano_py.api.objects import Queue
from volcano_py.framework.plugin import Plugin
from volcano_py.framework.status.closing import Closing
from volcano_py.plugins.proportion import Proportion


def below(name: str, parent: str) -> Queue:
    made = queue(name)
    return msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, parent=parent))


def allocated(session: Opened) -> dict[str, str]:
    """Queue → cpus that are written into its status."""
    effects = Closing(session.ssn, "cycle").effects()
    return {effect.queue: effect.allocated["cpu"] for effect in effects if isinstance(effect, QueueAllocated)}


@pytest.mark.parametrize("plugins", [[], [Proportion]], ids=["no plugin", "proportion"])
def test_what_is_held_below_counts_on_every_level(plugins: list[type[Plugin]]) -> None:
    session = open_session(
        node("n1", cpu="32"),
        below("root", ""), below("a", ""), below("a1", "a"), below("a11", "a1"), below("b", "root"),
        gang("deep", pods=3, queue="a11", cpu="1", running_on=["n1"] * 3),
        gang("stray", pods=2, queue="a", cpu="1", running_on=["n1"] * 2),
        gang("other", pods=4, queue="b", cpu="1", running_on=["n1"] * 4),
        tiers=[plugins], default_queue=False,
    )  # fmt: skip
    assert allocated(session) == {"root": "9", "a": "5", "a1": "3", "a11": "3", "b": "4"}


def test_queues_without_a_place_in_the_tree_count_for_themselves() -> None:
    session = open_session(
        node("n1", cpu="32"), below("root", ""), below("lost", "gone"), below("x", "y"), below("y", "x"),
        gang("l", pods=3, queue="lost", cpu="1", running_on=["n1"] * 3),
        gang("x", pods=2, queue="x", cpu="1", running_on=["n1"] * 2),
        tiers=[[]], default_queue=False,
    )  # fmt: skip
    assert allocated(session) == {"root": "0", "lost": "3", "x": "2", "y": "0"}


def test_a_root_that_does_not_exist_is_not_written() -> None:
    session = open_session(
        node("n1"), below("a", "root"), gang("j", queue="a", cpu="1", running_on=["n1"]), tiers=[[]],
        default_queue=False,
    )  # fmt: skip
    assert allocated(session) == {"a": "1"}


def test_queues_that_volcanos_podgroups_use_are_left_to_it() -> None:
    """And those above them: a trial under another name knows only what its own pods hold."""
    session = open_session(
        node("n1", cpu="32"), below("root", ""), below("a", ""), below("a1", "a"), below("b", ""),
        gang("j", pods=3, queue="a1", cpu="1", running_on=["n1"] * 3),
        gang("k", pods=2, queue="b", cpu="1", running_on=["n1"] * 2),
        tiers=[[]], default_queue=False,
    )  # fmt: skip
    session.ssn.snapshot = msgspec.structs.replace(session.ssn.snapshot, left_queues=frozenset({"a1"}))
    assert allocated(session) == {"b": "2"}
