"""Terms about other pods: what entering them costs, and how many a namespace may have."""

from __future__ import annotations

import msgspec
import pytest

from tests.support.measuring.counted_work import work_of
from tests.support.placement.neighbours import apart, prefers, term
from tests.support.sessions import pod
from tests.unit.state.watched import Watched
from volcano_py.api.bounds import (
    CROWDED_TERMS,
    NODE_TERMS,
    POD_TERMS,
    SELECTOR_VALUES,
    SPREADS,
    TERMS,
    TERMS_IN_ALL,
    Bound,
)
from volcano_py.api.objects import (
    Affinity,
    LabelSelector,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    SelectorRequirement,
    TopologySpreadConstraint,
)
from volcano_py.api.reasons import Reason
from volcano_py.api.workloads import Service
from volcano_py.state.table.change import Change
from volcano_py.state.terms import term_book, term_shares
from volcano_py.state.terms.pod_terms import PodTerm, Requirement
from volcano_py.state.terms.term_book import TermBook
from volcano_py.state.terms.term_shares import TermShares

TOO_LARGE = "1001 conditions, values and names: at most 1000 are evaluated; use fewer"


def not_in(*values: str) -> SelectorRequirement:
    return SelectorRequirement(key="other", operator="NotIn", values=list(values))


def wide(value: str) -> PodAffinityTerm:
    """A term of its own that matches all pods of the namespace."""
    return PodAffinityTerm(topology_key="zone", label_selector=LabelSelector(match_expressions=[not_in(value)]))


def wants(name: str, *terms: PodAffinityTerm, namespace: str = "a") -> Pod:
    return pod(name, group="g", namespace=namespace, affinity=apart(*terms), labels={"app": "x", "pod": name})


def problem(watched: Watched, name: str, namespace: str = "a") -> str:
    """What keeps the pod from every node."""
    snapshot = watched.snapshot()
    rows = [row for row, info in enumerate(snapshot.tasks) if info is not None and info.key == f"{namespace}/{name}"]
    found = snapshot.classes[int(snapshot.ledger.tasks.task_class[rows[0]])]
    assert found is not None
    assert found.problem is None or found.problem.reason is Reason.INVALID_POD
    return found.problem.message if found.problem is not None else ""


def crowd(watched: Watched, count: int, namespace: str = "a") -> None:
    """Pods with a wide term each."""
    watched.put([wants(f"p{number}", wide(f"v{number}"), namespace=namespace) for number in range(count)])


def test_terms_that_match_alike_are_bounded_for_each_namespace() -> None:
    watched = Watched()
    crowd(watched, CROWDED_TERMS.most + 1)
    assert problem(watched, f"p{CROWDED_TERMS.most - 1}") == ""
    assert problem(watched, f"p{CROWDED_TERMS.most}") == (
        "pods of namespace a have 50 different terms that are looked up by namespace a already; select by a label with"
        " a value that fewer terms ask for (matchLabels, or matchExpressions with In)"
    )
    watched.put(wants("p", wide("v"), namespace="b"))
    assert problem(watched, "p", "b") == ""


def test_a_pod_that_was_refused_is_looked_at_again_when_others_are_gone() -> None:
    watched = Watched()
    crowd(watched, CROWDED_TERMS.most + 1)
    last = f"p{CROWDED_TERMS.most}"
    assert problem(watched, last) != ""
    watched.delete(wants("p3", wide("v3")))
    assert Change.DECISION in watched.reported()
    assert problem(watched, last) == ""
    watched.put(wants("late", wide("late")))
    assert problem(watched, "late") != ""


def test_equal_terms_of_many_pods_count_once() -> None:
    watched = Watched()
    watched.put([wants(f"p{number}", wide("v")) for number in range(CROWDED_TERMS.most * 2)])
    assert problem(watched, f"p{CROWDED_TERMS.most * 2 - 1}") == ""


def test_terms_that_ask_for_labels_of_their_own_are_not_crowded() -> None:
    """As pods of many runs of one kind of job have them: the label that distinguishes the runs is the one that
    counts.
    """
    watched = Watched()
    watched.put([wants(f"p{number}", term(app="x", run=f"r{number}")) for number in range(CROWDED_TERMS.most * 3)])
    assert problem(watched, f"p{CROWDED_TERMS.most * 3 - 1}") == ""


def shares_full_of(terms: int, namespaces: int = 1) -> TermShares:
    shares = TermShares(TermBook())
    for number in range(terms):
        mine = PodTerm(("a",), (Requirement("run", "In", (str(number),)),))
        assert shares.take(f"n{number % namespaces}", (mine,)) == ""
    return shares


def test_all_terms_of_a_namespace_are_bounded() -> None:
    shares = shares_full_of(TERMS.most)
    one_more = PodTerm(("a",), (Requirement("run", "In", ("more",)),))
    assert shares.take("n0", (one_more,)).startswith("pods of namespace n0 have 2000 different terms about other pods")
    assert shares.take("n1", (one_more,)) == ""


def test_all_terms_of_the_cluster_are_bounded() -> None:
    shares = shares_full_of(TERMS_IN_ALL.most, namespaces=TERMS_IN_ALL.most // TERMS.most + 1)
    one_more = PodTerm(("a",), (Requirement("run", "In", ("more",)),))
    assert shares.take("other", (one_more,)).startswith("pods have 50000 different terms about other pods already")


def test_a_refused_pod_leaves_nothing_behind() -> None:
    watched = Watched()
    crowd(watched, CROWDED_TERMS.most + 1)
    for number in range(CROWDED_TERMS.most, -1, -1):
        watched.delete(wants(f"p{number}", wide(f"v{number}")))
    assert [one for one in watched.snapshot().terms.terms if one is not None] == []


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        (
            {"affinity": prefers(*((1, wide(f"v{number}")) for number in range(POD_TERMS.most + 1)))},
            "spec.affinity has 33 terms about pods: at most 32 are evaluated; select more pods with one term",
        ),
        (
            {
                "affinity": apart(
                    PodAffinityTerm(
                        topology_key="zone",
                        label_selector=LabelSelector(match_expressions=[not_in(*map(str, range(1000)))]),
                    )
                )
            },
            f"spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] has {TOO_LARGE}",
        ),
        (
            {
                "spread": [
                    TopologySpreadConstraint(
                        topology_key="zone",
                        max_skew=1,
                        when_unsatisfiable="ScheduleAnyway",
                        label_selector=LabelSelector(match_labels={f"k{number}": "v" for number in range(1001)}),
                    )
                ]
            },
            f"spec.topologySpreadConstraints[0] has {TOO_LARGE}",
        ),
        (
            {
                "affinity": Affinity(
                    node_affinity=NodeAffinity(
                        required=NodeSelector(node_selector_terms=[NodeSelectorTerm()] * (NODE_TERMS.most + 1))
                    )
                )
            },
            "spec.affinity.nodeAffinity has 501 terms: at most 500 are evaluated; list more values in one term",
        ),
    ],
)
def test_one_pod_says_so_much_at_most(fields: dict, reported: str) -> None:  # type: ignore[type-arg]
    watched = Watched()
    watched.put(pod("p", group="g", namespace="a", **fields))
    assert problem(watched, "p") == reported
    assert SELECTOR_VALUES.most == 1000
    assert SPREADS.most == POD_TERMS.most


# -- what it costs ----------------------------------------------------------------------------------------------------


def full_book(terms: int, sets: int) -> TermBook:
    """Many terms that match all of many sets of labels."""
    book = TermBook()
    for number in range(sets):
        book.take_labels("a", {"pod": f"p{number}"})
    for number in range(terms):
        book.take(PodTerm(("a",), (Requirement("other", "NotIn", (f"v{number}",)),)))
    return book


def test_a_term_costs_a_constant_for_each_pod_that_it_matches() -> None:
    """However many terms match these pods already."""

    def work(terms: int) -> float:
        return work_of(full_book(terms, sets=200).settle) / terms

    assert work(80) < 1.2 * work(20)


def test_a_term_that_matches_no_pod_costs_nothing_for_each_pod() -> None:
    def work(sets: int) -> int:
        book = full_book(1, sets)
        book.settle()
        book.take(PodTerm(("a",), (Requirement("pod", "In", ("p",)),)))
        return work_of(book.settle)

    assert work(2000) == work(100)


def test_terms_are_entered_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_book, "_SLICE", 100)
    book, slices = full_book(terms=10, sets=500), list[int]()
    while not book.is_settled:
        slices.append(work_of(book.settle_some))
    assert len(slices) > 10  # the index takes five, each term one
    assert max(slices) < 0.3 * sum(slices)
    assert len(book.picture().profiles[book.profile(1)]) == 10


def test_sets_of_labels_are_indexed_in_slices_however_many_terms_may_match_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slice of 2,000 sets, each compared with 50 terms, took 70 ms."""
    monkeypatch.setattr(term_book, "_SLICE", 100)

    def longest(terms: int) -> int:
        book, slices = full_book(terms, sets=500), list[int]()
        while not book.is_settled:
            slices.append(work_of(book.settle_some))
        return max(slices)

    assert longest(terms=40) < 2 * longest(terms=4)


def test_labels_that_come_while_terms_are_entered_are_compared_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_book, "_SLICE", 3)
    book, slots = full_book(terms=5, sets=20), list[int]()
    while not book.is_settled:
        if len(slots) < 30:
            slots.append(book.take_labels("a", {"pod": f"late{len(slots)}"}))
        book.settle_some()
    picture = book.picture()
    assert {len(picture.profiles[picture.profile_of[slot]]) for slot in slots} == {5}


def test_a_term_that_is_given_up_before_it_is_entered_leaves_nothing() -> None:
    """A replica that does not lead takes no snapshots."""
    book = TermBook()
    for number in range(3):
        one = PodTerm(("a",), (Requirement("app", "In", (f"v{number}",)),))
        book.take(one)
        book.leave(one)
    assert book.is_settled
    assert book.picture().terms == [None]


def test_spreads_by_default_use_up_nothing_of_what_pods_may_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_shares, "TERMS", Bound(5, "terms", "They wait."))
    watched = Watched()
    for number in range(5):
        body = {"metadata": {"name": f"s{number}", "namespace": "a"}, "spec": {"selector": {f"k{number}": "v"}}}
        watched.put(msgspec.convert(body, Service))
        watched.put(pod(f"plain{number}", group="g", namespace="a", labels={f"k{number}": "v"}))
    crowd(watched, 5)
    assert len([one for one in watched.snapshot().terms.terms if one is not None]) == 10
    assert problem(watched, "p4") == ""
