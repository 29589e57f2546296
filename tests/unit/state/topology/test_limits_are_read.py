"""`networkTopology` and `subGroupPolicy` of PodGroups, also under another CRD than ours, or none."""

from __future__ import annotations

from typing import Any

import pytest

from volcano_py.api.objects import PodGroupSpec
from volcano_py.state.topology.limits import Limit, membership, read_sub_group, read_topology


def read(**fields: Any) -> Any:
    topology, faults = read_topology(PodGroupSpec(**fields))
    assert faults == []
    return topology


def test_a_group_that_says_nothing_has_none() -> None:
    assert read() is None


@pytest.mark.parametrize(
    ("given", "limit", "is_hard"),
    [
        ({"highestTierAllowed": 1}, Limit("hard", 1), True),
        ({"mode": "", "highestTierAllowed": 0}, Limit("hard", 0), True),
        ({"highestTierName": "rack"}, Limit("hard", None, "rack"), True),
        ({"highestTierAllowed": 2, "highestTierName": ""}, Limit("hard", 2), True),
        ({"mode": "hard"}, Limit("hard"), False),
        ({"mode": "soft", "highestTierAllowed": 1}, Limit("soft", 1), False),
        ({}, Limit("hard"), False),
    ],
)
def test_a_missing_mode_is_hard_and_hard_without_a_tier_limits_nothing(
    given: dict[str, Any], limit: Limit, is_hard: bool
) -> None:
    topology = read(network_topology=given)
    assert (topology.limit, topology.is_hard) == (limit, is_hard)


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({"mode": "firm"}, "spec.networkTopology.mode is 'firm': use hard or soft"),
        ({"mode": 3}, "spec.networkTopology.mode is 3: use hard or soft"),
        (
            {"highestTierAllowed": True},
            "spec.networkTopology.highestTierAllowed is True: write a whole number from 0 to 2147483647",
        ),
        (
            {"highestTierAllowed": "1"},
            "spec.networkTopology.highestTierAllowed is '1': write a whole number from 0 to 2147483647",
        ),
        ({"highestTierName": 7}, "spec.networkTopology.highestTierName is 7: write the name of a tier"),
        (
            {"highestTierAllowed": 1, "highestTierName": "rack"},
            "spec.networkTopology.highestTierName is 'rack': highestTierAllowed is set, too: keep one",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_its_fix(given: dict[str, Any], fault: str) -> None:
    _, faults = read_topology(PodGroupSpec(network_topology=given))
    assert faults == [fault]


@pytest.mark.parametrize("tier", [-1, True, "1", 1.5])
def test_a_tier_is_a_whole_number(tier: object) -> None:
    _, faults = read_topology(PodGroupSpec(network_topology={"highestTierAllowed": tier}))
    assert faults == [f"spec.networkTopology.highestTierAllowed is {tier!r}: write a whole number from 0 to 2147483647"]


def test_a_policy_has_volcanos_defaults() -> None:
    (policy,) = read(sub_group_policy=[{"name": "p"}]).policies
    assert (policy.name, policy.limit, policy.size, policy.minimum, policy.selector, policy.keys) == (
        "p", None, 1, 0, None, (),
    )  # fmt: skip


def test_a_pod_belongs_to_the_first_policy_that_selects_it_and_whose_keys_it_has() -> None:
    policies = read(
        sub_group_policy=[
            {"name": "keyless", "labelSelector": {"matchLabels": {"app": "a"}}},
            {"name": "first", "labelSelector": {"matchLabels": {"app": "a"}}, "matchLabelKeys": ["part", "row"]},
            {"name": "second", "matchLabelKeys": ["part"]},
        ]
    ).policies
    assert read_sub_group(membership(policies, {"app": "a", "part": "1", "row": "x"})) == (1, ("1", "x"))
    assert read_sub_group(membership(policies, {"app": "a", "part": "1"})) == (2, ("1",))
    assert membership(policies, {"app": "a", "part": ""}) == ""


@pytest.mark.parametrize(
    ("policy", "fault"),
    [
        ({"subGroupSize": 0}, "spec.subGroupPolicy[0].subGroupSize is 0: write a whole number from 1 to 2147483647"),
        ({"minSubGroups": -1}, "spec.subGroupPolicy[0].minSubGroups is -1: write a whole number from 0 to 2147483647"),
        (
            {"matchLabelKeys": "part"},
            "spec.subGroupPolicy[0].matchLabelKeys is 'part': write a list of label keys, such as app",
        ),
        ({"networkTopology": {"mode": "x"}}, "spec.subGroupPolicy[0].networkTopology.mode is 'x': use hard or soft"),
    ],
)
def test_a_policy_that_cannot_be_used_is_named(policy: dict[str, Any], fault: str) -> None:
    _, faults = read_topology(PodGroupSpec(sub_group_policy=[{"name": "p", **policy}]))
    assert faults == [fault]


def test_two_policies_of_one_name_are_refused() -> None:
    _, faults = read_topology(PodGroupSpec(sub_group_policy=[{"name": "p"}, {"name": "p"}]))
    assert faults == ["spec.subGroupPolicy is 'p': give each policy a name of its own"]
