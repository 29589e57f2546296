"""The term book against a look at every pod for every term."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from volcano_py.api.objects import LabelSelector, SelectorRequirement
from volcano_py.state.terms.pod_terms import PodTerm, Requirement, matches, meets, requirements_of
from volcano_py.state.terms.term_book import TermBook

NAMES = ("team", "other", "third")
KEYS = ("app", "tier")
VALUES = ("x", "y", "z")

labels = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), max_size=2)
requirements = st.builds(
    lambda key, operator, values: Requirement(
        key, operator, () if operator in ("Exists", "DoesNotExist") else tuple(sorted(values))
    ),
    st.sampled_from(KEYS),
    st.sampled_from(("In", "NotIn", "Exists", "DoesNotExist", "Like")),
    st.sets(st.sampled_from(VALUES), min_size=1, max_size=2),
)
selectors = st.none() | st.lists(requirements, max_size=2).map(lambda found: tuple(sorted(set(found))))
terms = st.builds(PodTerm, st.lists(st.sampled_from(NAMES), unique=True, max_size=2).map(tuple), selectors, selectors)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), st.sampled_from(NAMES), labels),
        st.tuples(st.just("pod gone"), st.integers(0, 99), st.none()),
        st.tuples(st.just("term"), terms, st.none()),
        st.tuples(st.just("term gone"), st.integers(0, 99), st.none()),
        st.tuples(st.just("namespace"), st.sampled_from(NAMES), st.none() | labels),
    ),
    max_size=40,
)


@given(steps)
def test_a_pods_profile_is_the_terms_that_match_it(happened: list[tuple]) -> None:  # type: ignore[type-arg]
    book = TermBook()
    pods: list[tuple[int, str, dict[str, str]]] = []
    held: list[PodTerm] = []
    namespaces = {name: {"kubernetes.io/metadata.name": name} for name in NAMES}
    for what, one, other in happened:
        if what == "pod":
            pods.append((book.take_labels(one, other), one, other))
        elif what == "pod gone" and pods:
            book.leave_labels(pods.pop(one % len(pods))[0])
        elif what == "term":
            book.take(one)
            held.append(one)
        elif what == "term gone" and held:
            book.leave(held.pop(one % len(held)))
        elif what == "namespace":
            changed = book.namespace(one, other)
            before, namespaces[one] = namespaces[one], {"kubernetes.io/metadata.name": one, **(other or {})}
            assert changed == any(
                matches(term, one, pod[2], before) != matches(term, one, pod[2], namespaces[one])
                for term in held
                for pod in pods
                if pod[1] == one
            )
        picture = book.picture()
        for slot, namespace, its in pods:
            found = {picture.terms[term] for term in picture.profiles[picture.profile_of[slot]]}
            assert found == {term for term in held if matches(term, namespace, its, namespaces[namespace])}
            assert (book.profile(slot) != 0) == bool(found)


def test_a_book_without_pods_keeps_nothing() -> None:
    book = TermBook()
    term = PodTerm(("team",), (Requirement("app", "In", ("x",)),))
    for _ in range(3):
        slots = [book.take_labels("team", {"app": "x", "index": str(index)}) for index in range(5)]
        book.take(term)
        book.take(term)
        book.leave(term)
        book.settle()
        assert all(book.profile(slot) for slot in slots)
        for slot in slots:
            book.leave_labels(slot)
        book.leave(term)
    picture = book.picture()
    assert picture.terms == [None]
    assert Counter(picture.profiles) == {(): 2}
    assert len(picture.profile_of) == 6


def test_a_term_is_the_same_however_it_is_written() -> None:
    short = LabelSelector(match_labels={"app": "x", "tier": "y"})
    long = LabelSelector(
        match_expressions=[
            SelectorRequirement(key="tier", operator="In", values=["y", "y"]),
            SelectorRequirement(key="app", operator="In", values=["x"]),
        ]
    )
    assert requirements_of(short) == requirements_of(long)


@pytest.mark.parametrize(
    ("operator", "values", "met_by_x", "met_by_none"),
    [
        ("In", ("x", "y"), True, False),
        ("In", ("y",), False, False),
        ("NotIn", ("x",), False, True),
        ("NotIn", ("y",), True, True),
        ("Exists", (), True, False),
        ("DoesNotExist", (), False, True),
        ("Like", ("x",), False, False),
    ],
)
def test_operators_mean_what_kubernetes_means_by_them(
    operator: str, values: tuple[str, ...], met_by_x: bool, met_by_none: bool
) -> None:
    asked = (Requirement("app", operator, values),)
    assert meets(asked, {"app": "x"}) is met_by_x
    assert meets(asked, {"tier": "x"}) is met_by_none


def test_a_missing_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert requirements_of(None) is None
    assert requirements_of(LabelSelector()) == ()
    assert not matches(PodTerm(("team",), None), "team", {}, {})
    assert matches(PodTerm(("team",), ()), "team", {}, {})
    assert not matches(PodTerm(("team",), ()), "other", {}, {})
    assert matches(PodTerm((), (), ()), "other", {}, {})
    assert not matches(PodTerm((), (), None), "other", {}, {})
