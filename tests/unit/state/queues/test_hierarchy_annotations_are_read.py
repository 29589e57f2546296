"""The place of a queue in a tree, as its annotations have it."""

from __future__ import annotations

import pytest

from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.state.queues.hierarchy import MOST_LEVELS, Hierarchy, read_hierarchy


def read(path: str | None, weights: str | None) -> tuple[object, list[str]]:
    given = {HIERARCHY: path, HIERARCHY_WEIGHTS: weights}
    return read_hierarchy({name: text for name, text in given.items() if text is not None})


def test_each_element_below_the_root_is_a_node_with_its_weight() -> None:
    assert read("root/eng/prod", "1/2/8") == ((("eng", 2.0), ("prod", 8.0)), [])


def test_without_annotations_there_is_no_hierarchy_and_nothing_to_say() -> None:
    assert read(None, None) == ((), [])


def test_a_path_that_does_not_begin_with_the_root_is_below_it() -> None:
    assert read("sci/dev", "2/3") == ((("sci", 2.0), ("dev", 3.0)), [])


def test_weights_below_one_are_taken_as_written() -> None:
    assert read("root/half", "1/0.5") == ((("half", 0.5),), [])


@pytest.mark.parametrize("text", ["abc", "0", "-2", "inf", "nan", "1e300", "1e-300", ""])
def test_a_weight_that_cannot_be_used_counts_as_one_and_is_reported(text: str) -> None:
    place, (problem,) = read("root/a", f"1/{text}")
    assert place == (("a", 1.0),)
    assert problem == (
        f"metadata.annotations.volcano.sh/hierarchy-weights: {text!r} is not a positive number of a usable size; "
        "it counts as 1"
    )


def test_the_weight_of_the_root_means_nothing() -> None:
    assert read("root/a", "nonsense/2") == ((("a", 2.0),), [])


@pytest.mark.parametrize(
    ("path", "weights"), [("root/a", "1"), ("root/a", "1/2/3"), ("root/a", None), (None, "1/2"), ("root", "1/2")]
)
def test_with_unequal_lengths_the_queue_counts_as_without_hierarchy(path: str | None, weights: str | None) -> None:
    place, (problem,) = read(path, weights)
    assert place == ()
    assert problem == (
        f"metadata.annotations.volcano.sh/hierarchy and volcano.sh/hierarchy-weights: {path or ''!r} and "
        f"{weights or ''!r} have different numbers of elements; the queue counts as without hierarchy"
    )


@pytest.mark.parametrize(
    ("path", "weights"), [("root", "1"), ("root//a", "1/1/1"), ("root/a/", "1/1/1"), ("/a", "1/1")]
)
def test_a_path_must_name_nodes_below_the_root(path: str, weights: str) -> None:
    place, (problem,) = read(path, weights)
    assert place == ()
    assert problem.startswith(f"metadata.annotations.volcano.sh/hierarchy: {path!r} names no node below the root")


def test_a_path_has_a_bounded_number_of_levels() -> None:
    def place(levels: int) -> tuple[Hierarchy, list[str]]:
        path, weights = "/".join(["root", *["a"] * levels]), "/".join(["1"] * (levels + 1))
        return read_hierarchy({HIERARCHY: path, HIERARCHY_WEIGHTS: weights})

    assert len(place(MOST_LEVELS)[0]) == MOST_LEVELS
    hierarchy, (problem,) = place(MOST_LEVELS + 1)
    assert hierarchy == ()
    assert problem.startswith("metadata.annotations.volcano.sh/hierarchy: a path of 101 levels has more than 100; ")
