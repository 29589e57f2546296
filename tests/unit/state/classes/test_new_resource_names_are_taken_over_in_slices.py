"""A new resource name makes every request a column wider: in slices, however many classes and PodGroups there are."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.measuring.counted_work import work_of
from tests.support.sessions import node, pod, pod_group
from tests.unit.state.watched import Watched, with_spec
from volcano_py.api.bounds import RESOURCES_ASKED
from volcano_py.api.objects import Pod
from volcano_py.state import groups
from volcano_py.state.classes import class_book


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_book, "_SLICE", 10)
    monkeypatch.setattr(groups, "_SLICE", 10)


def slices(watched: Watched) -> list[int]:
    work: list[int] = []
    while not watched.state.is_settled:
        work.append(work_of(watched.state.settle_some))
    return work


def asking(resource: str) -> Pod:
    return pod(resource, group="g", cpu="1", devices={f"x/{resource}": "1"})


def test_classes_become_wider_in_slices() -> None:
    """A pod with a new name took 20 ms when there were 5,000 classes."""

    def longest(classes: int) -> int:
        watched = Watched(*(pod(f"p{number}", group="g", cpu=f"{number}m") for number in range(1, classes + 1)))
        slices(watched)
        watched.put(asking("a"))
        work = slices(watched)
        assert len(work) > classes / 10
        return max(work)

    assert longest(200) < 1.5 * longest(50)


def test_in_the_end_all_are_as_wide_as_the_axis_even_if_it_grows_meanwhile() -> None:
    watched = Watched(*(pod(f"p{number}", group="g", cpu=f"{number}m") for number in range(1, 51)))
    watched.put(asking("a"))
    watched.state.settle_some()
    watched.put(asking("b"))
    while not watched.state.is_settled:
        watched.state.settle_some()
    snapshot = watched.state.copy(0.0)
    axis = snapshot.ledger.axis
    assert {"x/a", "x/b"} <= set(axis.names)
    for known in snapshot.classes:
        assert known is not None
        assert np.array_equal(known.request, axis.vector(dict(known.signature.units)))


def test_pod_groups_that_named_one_resource_too_many_are_read_again_in_slices() -> None:
    names = {f"x/r{number}": "1" for number in range(RESOURCES_ASKED.most)}
    many = [with_spec(pod_group(f"g{number}"), min_resources={"x/late": "1", "cpu": "1"}) for number in range(60)]
    watched = Watched(
        with_spec(pod_group("first"), min_resources=dict(list(names.items())[: RESOURCES_ASKED.most - 3])), *many
    )
    slices(watched)
    info = watched.state.copy(0.0).jobs[watched.job("g0")]
    assert info is not None
    assert info.problem is not None
    watched.put(node("n", devices={"x/late": "4"}))
    work = slices(watched)
    assert len(work) >= 60 / 4
    assert all(info is not None and info.problem is None for info in watched.state.copy(0.0).jobs)
