"""Whatever a cycle does and undoes: every node's rank is that of a tree that is worked out again."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.book_keeping import LOOK, Step, do_and_undo, steps
from tests.support.queues.hierarchy import placed_queue
from tests.support.sessions import Opened, gang, node, open_session, queue
from volcano_py.plugins.drf import Drf
from volcano_py.plugins.drf.siblings import Siblings

GPU = "nvidia.com/gpu"
JOBS = ("cpu", "gpu", "both", "plain", "second")


def opened() -> Opened:
    def job(name: str, queue: str, **asked: Any) -> list[Any]:
        return gang(name, pods=6, min_member=1, queue=queue, running_on=["n1", "n1"], **asked)

    return open_session(
        node("n1", cpu="17", devices={GPU: "9"}),
        placed_queue("a", "root/x/a", "1/2/1"),
        placed_queue("b", "root/x/b", "1/2/3"),
        placed_queue("c", "root/y/z/c", "1/0.7/1/1"),
        queue("plain"),
        job("cpu", "a", cpu="1"),
        job("gpu", "b", devices={GPU: "1"}),
        job("both", "c", cpu="700m", memory="3Gi", devices={GPU: "1"}),
        job("plain", "plain", cpu="1100m"),
        job("second", "a", cpu="300m", devices={GPU: "1"}),
        tiers=[[(Drf, {"enableHierarchy": True})]],
    )


def ranks(session: Opened) -> dict[tuple[str, ...], Any]:
    """The rank of every node."""
    drf = session.plugin(Drf)
    nodes = [("x",), ("x", "a"), ("x", "b"), ("y",), ("y", "z"), ("y", "z", "c"), ("plain/",)]
    return {path: drf.branch_order(path) for path in nodes}


def afresh(session: Opened) -> dict[tuple[str, ...], Any]:
    """The same of a tree that knows nothing of what has been before."""
    shares = session.plugin(Drf)._tree
    tree = shares._tree.another()
    exhausted = shares._taken >= session.ssn.total
    tree.recount(exhausted, ~exhausted, every_if_saturated=True)
    return {path: node.key for path, node in tree.nodes.items() if path not in {("default/",), ("root/",)}}


@given(steps(JOBS, most=20, whole=True))
def test_ranks_are_those_of_a_tree_worked_out_again_and_a_discard_restores_them(steps: list[Step]) -> None:
    """Between two looks the tree is not brought up to date."""
    session = opened()
    for what in do_and_undo(session, steps, ranks):
        if what == LOOK:
            assert ranks(session) == afresh(session)


def test_the_epoch_grows_when_a_resource_is_exhausted_or_ceases_to_be() -> None:
    session = opened()
    first = session.ssn.ask.branch_epoch()
    statement = session.place("gpu", {f"gpu-{number}": "n1" for number in (2, 3)})
    assert session.ssn.ask.branch_epoch() == first, "8 of 9 GPUs"
    session.place("both", {"both-2": "n1"}, statement)
    assert session.ssn.ask.branch_epoch() == first + 1
    statement.discard()
    assert session.ssn.ask.branch_epoch() == first + 2


def test_a_gang_that_is_tried_and_given_back_in_between_changes_nothing() -> None:
    session = opened()
    first = session.ssn.ask.branch_epoch()
    session.place("gpu", {f"gpu-{number}": "n1" for number in (2, 3, 4, 5)}).discard()
    assert session.ssn.ask.branch_epoch() == first, "the GPUs were exhausted, but no plugin has asked"


Child = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([0.5, 1.0, 3.0]), st.booleans())


@given(st.lists(Child, min_size=1, max_size=12), st.data())
def test_what_siblings_hold_together_depends_only_on_what_they_are(children: list[Any], data: st.DataObject) -> None:
    """Put in any order and more than once, one by one or rebuilt; and as the sum in so many words."""

    def put(siblings: Siblings, position: int, child: Any) -> None:
        held, share = [float(child[0]), float(child[1])], max(child[:2]) / 10
        siblings.put(position, held, share, child[2], saturated=child[3])

    one_by_one, rebuilt = Siblings(len(children), 2), Siblings(len(children), 2)
    order = data.draw(st.permutations(range(len(children))))
    for position in [*order, *order[:3]]:
        put(one_by_one, position, (5, 1, 1.0, False))
        one_by_one.refresh(position)
        put(one_by_one, position, children[position])
        one_by_one.refresh(position)
    for position, child in enumerate(children):
        put(rebuilt, position, child)
    rebuilt.rebuild()
    assert one_by_one.together() == rebuilt.together()
    assert one_by_one.saturated == rebuilt.saturated == all(child[3] for child in children)

    holders = [
        (np.array(child[:2], dtype=float), max(child[:2]) / 10, *child[2:]) for child in children if any(child[:2])
    ]
    least = min((share / weight for _, share, weight, blocked in holders if not blocked), default=1.0)
    total = np.zeros(2)
    for held, share, weight, blocked in holders:
        total += held if blocked else held * least * weight / share
    np.testing.assert_allclose(rebuilt.together(), total, rtol=1e-12, atol=1e-12)
