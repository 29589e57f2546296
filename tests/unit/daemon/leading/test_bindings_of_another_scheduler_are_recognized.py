"""Which bindings are foreign, and for how long they show another scheduler."""

from __future__ import annotations

import pytest

from volcano_py.daemon.leading.foreign_bindings import ENOUGH, WITHIN, ForeignBindings

SILENCE = 30.0


@pytest.fixture
def bindings() -> ForeignBindings:
    """Of a leader: all counts from second 0 on."""
    bindings = ForeignBindings(silence=SILENCE)
    bindings.count_from(0.0)
    return bindings


def show(bindings: ForeignBindings, *pods: str, node: str = "n1", at: float = 1.0) -> list[bool]:
    """Each pod is shown on the node; whether it made another scheduler apparent."""
    return [bindings.bound(name, f"team/{name}", node, at) for name in pods]


def test_two_pods_that_we_did_not_bind_show_another_scheduler(bindings: ForeignBindings) -> None:
    assert show(bindings, "a", "b", "c") == [False, True, False], "it appears once"
    assert bindings.is_present(1.0)
    assert bindings.total == 3
    last = bindings.last
    assert last is not None
    assert (last.pod, last.node, last.at) == ("team/c", "n1", 1.0)


def test_a_single_pod_may_have_been_bound_by_hand(bindings: ForeignBindings) -> None:
    assert show(bindings, "a") == [False]
    assert not bindings.is_present(1.0)
    assert show(bindings, "b", at=1.0 + WITHIN + 1) == [False], "and another one much later"
    assert not bindings.is_present(1.0 + WITHIN + 1)


def test_our_own_bindings_are_not_foreign(bindings: ForeignBindings) -> None:
    for name in ("a", "b", "c"):
        bindings.sent(name, "n1")
    assert not any(show(bindings, "a", "b", "c"))
    assert bindings.total == 0


def test_a_request_that_failed_for_us_may_have_been_carried_out(bindings: ForeignBindings) -> None:
    """The answer was lost, and the pod is sent elsewhere: the API server accepts one of the two."""
    for name in ("a", "b"):
        bindings.sent(name, "n1")
        bindings.sent(name, "n2")
    show(bindings, "a", node="n1")
    show(bindings, "b", node="n2")
    assert bindings.total == 0


def test_a_pod_that_is_shown_elsewhere_than_we_sent_it_is_foreign(bindings: ForeignBindings) -> None:
    """Both schedulers wanted it, and the other one was first."""
    for name in ("a", "b"):
        bindings.sent(name, "n1")
    assert show(bindings, "a", "b", node="n2") == [False, True]


def test_what_a_predecessor_of_ours_did_is_not_foreign() -> None:
    bindings = ForeignBindings(silence=SILENCE)
    assert not any(show(bindings, "a", "b", "c")), "a standby sees what its leader binds"
    bindings.count_from(10.0)
    assert not any(show(bindings, "d", "e", at=9.9))
    assert bindings.total == 0
    assert show(bindings, "f", "g", at=10.0) == [False, True]


def test_it_counts_as_gone_after_a_silence(bindings: ForeignBindings) -> None:
    show(bindings, "a", "b", at=1.0)
    show(bindings, "c", at=21.0)
    assert bindings.silent_in(22.0) == SILENCE - 1, "each binding begins the silence again"
    assert bindings.is_present(50.9)
    assert not bindings.is_present(51.0)
    assert bindings.silent_in(51.0) == 0.0


def test_it_may_come_back(bindings: ForeignBindings) -> None:
    show(bindings, "a", "b", at=1.0)
    assert show(bindings, "c", at=100.0) == [True], "the ones before are not long ago"
    assert ENOUGH == 2
    assert bindings.is_present(100.0)


def test_one_binding_is_enough_of_a_scheduler_that_is_suspected(bindings: ForeignBindings) -> None:
    bindings.suspect()
    assert show(bindings, "a") == [True]
    bindings.trust()
    assert show(bindings, "b", at=100.0) == [True], "two in five minutes"
    assert bindings.is_suspected, "its silence will not show whether it has ended"


def test_a_pod_that_is_gone_is_forgotten(bindings: ForeignBindings) -> None:
    bindings.sent("a", "n1")
    bindings.forget("a")
    show(bindings, "a")
    assert bindings.total == 1
