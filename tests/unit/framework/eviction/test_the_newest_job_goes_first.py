"""Which of several jobs of one priority goes first: the newest; of one second, the last by number, then by name."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sessions import node, open_session, pod, pod_group
from volcano_py.api.objects import OwnerReference, PodGroup
from volcano_py.framework.eviction.candidates import Candidates
from volcano_py.framework.eviction.units import UnitRules


@dataclass(frozen=True)
class Running:
    """A PodGroup with one running pod, made for an owner or by a user."""

    name: str
    owner: str = ""
    age: float = 0.0

    def group(self) -> PodGroup:
        group = pod_group(self.name, phase="Running", age=self.age)
        if not self.owner:
            return group
        owner = OwnerReference(api_version="v1", kind="Pod", name=self.owner, uid=self.owner, controller=True)
        return msgspec.structs.replace(
            group, metadata=msgspec.structs.replace(group.metadata, owner_references=(owner,))
        )


def order(*jobs: Running) -> list[str]:
    """PodGroups in the order in which they go."""
    session = open_session(
        node("n1", cpu="64"),
        [job.group() for job in jobs],
        [pod(f"{job.name}-0", group=job.name, cpu="1", on="n1") for job in jobs],
    )
    turn, rows = Candidates(session.ssn, UnitRules()).turn, session.running(*(job.name for job in jobs))
    return [each.removesuffix("-0") for each in session.names(rows[np.argsort(turn[rows])])]


def test_the_newest_goes_first_whatever_its_number() -> None:
    assert order(Running("a-9", age=10), Running("a-1", age=1), Running("a-5", age=5)) == ["a-1", "a-5", "a-9"]


def test_of_one_second_the_last_by_number_goes_first() -> None:
    assert order(Running("train-9"), Running("train-10"), Running("other-2")) == ["train-10", "train-9", "other-2"]


def test_of_one_number_the_last_by_name_goes_first() -> None:
    assert order(Running("a"), Running("c"), Running("b")) == ["c", "b", "a"]


def test_a_group_that_a_controller_made_goes_by_its_owners_name() -> None:
    made = [
        Running("podgroup-9f3", owner="web-1"),
        Running("podgroup-001", owner="web-12"),
        Running("web-3-77a1", "web-3"),
    ]
    assert order(*made) == ["podgroup-001", "web-3-77a1", "podgroup-9f3"]


@given(
    st.lists(
        st.builds(
            Running,
            name=st.from_regex(r"[ab]{1,2}(-[0-3]{1,2})?", fullmatch=True),
            owner=st.sampled_from(("", "", "x-1", "x-2", "y")),
            age=st.sampled_from((0.0, 1.0)),
        ),
        min_size=1,
        max_size=8,
        unique_by=lambda job: job.name,
    )
)
def test_all_of_it_together_is_one_order(jobs: list[Running]) -> None:
    def key(job: Running) -> tuple[float, int, str, str]:
        shown = job.owner or job.name
        digits = shown.rpartition("-")[2]
        return -job.age, int(digits) if digits.isdigit() else 0, shown, job.name

    assert order(*jobs) == [job.name for job in sorted(jobs, key=key, reverse=True)]
