"""HyperNodes and `networkTopology`: what is refused, what is warned of, and that nothing malformed stops the others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.placement.hyper_nodes import tree_of
from tests.support.queues.queue_worlds import queue, world
from volcano_py.admission import hyper_nodes, network, pod_groups
from volcano_py.api.hyper_nodes import HyperNode
from volcano_py.api.json_values import converted
from volcano_py.api.objects import PodGroup
from volcano_py.jobs.model import VolcanoJob

WORLD = world(queue("default"))


def exact(name: Any, kind: Any = "Node", **more: Any) -> dict[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}, **more}}


def regex(pattern: Any, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"regexMatch": {"pattern": pattern}}}


def label(selector: Any, kind: str = "Node") -> dict[str, Any]:
    return {"type": kind, "selector": {"labelMatch": selector}}


def raw(*members: Any, tier: Any = 1, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "rack"}, "spec": {"tier": tier, "members": list(members), **spec}}


def hyper_node(*members: Any, tier: Any = 1, **spec: Any) -> HyperNode:
    return converted(raw(*members, tier=tier, **spec), HyperNode)


FINE = exact("n1")
REFUSED: list[dict[str, Any]] = [
    raw(),
    {"metadata": {"name": "rack"}, "spec": {}},
    {"metadata": {"name": "rack"}},
    raw(FINE, tier=-1),
    *(raw(exact(name)) for name in ("", "A", "a_b", "-a", "a-", "a..b", ".", "a b", "ä", "x" * 254, "a/b", "a\r\nb")),
    *(raw(FINE, exact("n1", kind)) for kind in ("", "node", "NODE", "Hypernode", "Pod", " Node")),
    *(raw(regex(pattern)) for pattern in ("", "(", "[", "a{2,1}", "*", "(?=a)", "(?<!a)b", r"(a)\1", "a" * 1025, "\\")),
    raw({"type": "Node"}),
    raw({"type": "Node", "selector": {}}),
    raw({"type": "HyperNode", "selector": {}}),
    raw(exact("n1", regexMatch={"pattern": "a"})),
    raw(exact("n1", labelMatch={"matchLabels": {"a": "b"}})),
    raw(exact("n1", regexMatch={"pattern": "a"}, labelMatch={})),
    raw({"type": "Node", "selector": {"regexMatch": {"pattern": "a"}, "labelMatch": {}}}),
]
UNREADABLE: list[dict[str, Any]] = [
    raw(FINE, tier="1"),
    raw(FINE, tier=1.5),
    raw(FINE, tier=[]),
    raw(FINE, tier=True),
    raw(FINE, tierName=3),
    raw("n1"),
    raw(exact(3)),
    raw(exact("n1", 3)),
    raw(regex(3)),
    raw(label("a=b")),
    {"metadata": {"name": "rack"}, "spec": {"members": {"a": 1}}},
    {"metadata": {"name": "rack"}, "spec": "rack"},
]
WARNED: list[tuple[dict[str, Any], str]] = [
    (
        raw(regex("rack-.*", "HyperNode")),
        "spec.members[0].selector selects no HyperNode: only exactMatch selects HyperNodes; name them one by one",
    ),
    (
        raw(label({"matchLabels": {"a": "b"}}, "HyperNode")),
        "spec.members[0].selector selects no HyperNode: only exactMatch selects HyperNodes; name them one by one",
    ),
    (
        raw(FINE, regex("node-1")),
        (
            "spec.members[1].selector.regexMatch.pattern node-1 may be found anywhere in a name, as node-1 is in "
            "node-10; write ^ before and $ after it"
        ),
    ),
    (
        raw(regex("^node-1")),
        (
            "spec.members[0].selector.regexMatch.pattern ^node-1 may be found anywhere in a name, as node-1 is in "
            "node-10; write ^ before and $ after it"
        ),
    ),
    (raw(label({})), "spec.members[0].selector.labelMatch is empty, so it selects no node; name a label"),
    (
        raw(exact("below", "HyperNode"), tier=1),
        "spec.tier is 1, not above 1 of its member below, which is not put below it; write 2 or more",
    ),
    (
        raw(exact("above", "HyperNode"), tier=2),
        "spec.tier is 2, not above 5 of its member above, which is not put below it; write 6 or more",
    ),
]


def test_sixty_and_more_are_malformed() -> None:
    assert len(REFUSED) + len(UNREADABLE) + len(WARNED) + len(POLICIES) + len(UNWANTED) >= 60


@pytest.mark.parametrize("given", REFUSED)
def test_a_malformed_hyper_node_is_refused_with_its_field_and_what_helps(given: dict[str, Any]) -> None:
    found = hyper_nodes.validate_create(converted(given, HyperNode))
    assert found
    assert all(each.field.startswith("spec.") and each.rule and each.fix for each in found)


@pytest.mark.parametrize("given", UNREADABLE)
def test_what_is_no_hyper_node_names_the_field(given: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"\$\.spec"):
        converted(given, HyperNode)


@pytest.mark.parametrize(("given", "expected"), WARNED)
def test_a_hyper_node_that_does_not_do_what_it_seems_to_is_admitted_with_a_warning(
    given: dict[str, Any], expected: str
) -> None:
    read = converted(given, HyperNode)
    assert hyper_nodes.validate_create(read) == ()
    assert list(hyper_nodes.warnings(read, {"below": 1, "above": 5, "unrelated": 9})) == [expected]


@pytest.mark.parametrize(
    "given",
    [
        raw(FINE),
        raw(FINE, tier=0),
        raw(regex("^node-[0-9]+$"), tier=3),
        raw(label({"matchLabels": {"rack": "r1"}}), FINE),
        raw(exact("below", "HyperNode"), exact("not-there-yet", "HyperNode"), exact("n1"), tier=2),
    ],
)
def test_any_other_is_admitted_without_a_word(given: dict[str, Any]) -> None:
    read = converted(given, HyperNode)
    assert hyper_nodes.validate_create(read) == ()
    assert list(hyper_nodes.warnings(read, {"below": 1})) == []


def test_the_message_says_what_is_wrong_with_which_member() -> None:
    (found,) = hyper_nodes.validate_create(hyper_node(FINE, exact("n2", regexMatch={"pattern": "a"})))
    assert str(found) == (
        "spec.members[1].selector: exactMatch and regexMatch are set together; "
        "use exactly one of exactMatch, regexMatch and labelMatch"
    )
    (found,) = hyper_nodes.validate_create(hyper_node(regex("(")))
    assert str(found).startswith("spec.members[0].selector.regexMatch.pattern: ( cannot be used: ")


def test_what_was_wrong_already_does_not_stop_an_edit() -> None:
    old = hyper_node(regex("("))
    assert hyper_nodes.validate_update(old, hyper_node(regex("("), FINE)) == ()
    assert hyper_nodes.validate_update(hyper_node(FINE), old) != ()


# -- policies --------------------------------------------------------------------------------------------------------


def group(**spec: Any) -> PodGroup:
    return converted({"metadata": {"name": "work", "namespace": "ns"}, "spec": {"queue": "default", **spec}}, PodGroup)


def policy(**fields: Any) -> dict[str, Any]:
    return {"name": "workers", "matchLabelKeys": ["replica"], **fields}


BOTH = {"highestTierAllowed": 1, "highestTierName": "rack"}
POLICIES: list[tuple[dict[str, Any], str]] = [
    ({"networkTopology": BOTH}, "spec.networkTopology.highestTierName"),
    ({"networkTopology": {"highestTierAllowed": -1}}, "spec.networkTopology.highestTierAllowed"),
    (
        {"subGroupPolicy": [policy(), policy(networkTopology=BOTH)]},
        "spec.subGroupPolicy[1].networkTopology.highestTierName",
    ),
    ({"subGroupPolicy": [policy(subGroupSize=0)]}, "spec.subGroupPolicy[0].subGroupSize"),
    ({"subGroupPolicy": [policy(minSubGroups=-1)]}, "spec.subGroupPolicy[0].minSubGroups"),
]
UNWANTED: list[tuple[dict[str, Any], str]] = [
    (
        {"networkTopology": {"mode": "hard"}},
        (
            "spec.networkTopology is hard and names no tier, so it limits nothing; "
            "set highestTierAllowed or highestTierName"
        ),
    ),
    (
        {"networkTopology": {}},
        (
            "spec.networkTopology is hard and names no tier, so it limits nothing; "
            "set highestTierAllowed or highestTierName"
        ),
    ),
    (
        {
            "networkTopology": {"highestTierAllowed": 1},
            "subGroupPolicy": [policy(networkTopology={"highestTierAllowed": 2})],
        },
        (
            "spec.subGroupPolicy[0].networkTopology.highestTierAllowed is 2, above 1 of spec.networkTopology, "
            "which holds for all pods together; lower it to 1 or less"
        ),
    ),
    (
        {"subGroupPolicy": [{"name": "workers"}]},
        (
            "spec.subGroupPolicy[0].matchLabelKeys is empty, so the policy divides no pods; "
            "name the labels that its sub-groups differ in"
        ),
    ),
]


@pytest.mark.parametrize(("spec", "field"), POLICIES)
def test_a_policy_that_cannot_be_is_refused(spec: dict[str, Any], field: str) -> None:
    assert [each.field for each in pod_groups.validate_create(group(**spec), WORLD, "default")] == [field]


@pytest.mark.parametrize(("spec", "expected"), UNWANTED)
def test_a_policy_that_is_hardly_meant_is_admitted_with_a_warning(spec: dict[str, Any], expected: str) -> None:
    work = group(**spec)
    assert pod_groups.validate_create(work, WORLD, "default") == ()
    assert list(network.group_warnings(work.spec)) == [expected]


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"networkTopology": {"mode": "soft"}},
        {"networkTopology": {"mode": "hard", "highestTierAllowed": 0}},
        {"networkTopology": {"mode": "hard", "highestTierName": "rack"}},
        {
            "networkTopology": {"highestTierAllowed": 2},
            "subGroupPolicy": [policy(networkTopology={"highestTierAllowed": 2}), policy()],
        },
        {
            "networkTopology": {"mode": "soft", "highestTierAllowed": 1},
            "subGroupPolicy": [policy(networkTopology={"highestTierAllowed": 2})],
        },
    ],
)
def test_other_policies_are_admitted_without_a_word(spec: dict[str, Any]) -> None:
    work = group(**spec)
    assert pod_groups.validate_create(work, WORLD, "default") == ()
    assert list(network.group_warnings(work.spec)) == []


def test_partitions_of_a_job_are_compared_with_its_own_limit() -> None:
    partitions = {"totalPartitions": 2, "partitionSize": 2, "networkTopology": {"highestTierAllowed": 3}}
    spec = {
        "networkTopology": {"mode": "hard", "highestTierAllowed": 2},
        "tasks": [{"name": "ps", "replicas": 1}, {"name": "worker", "replicas": 4, "partitionPolicy": partitions}],
    }
    job = converted({"metadata": {"name": "train"}, "spec": spec}, VolcanoJob)
    assert list(network.job_warnings(job.spec)) == [
        (
            "spec.tasks[1].partitionPolicy.networkTopology.highestTierAllowed is 3, above 2 of spec.networkTopology, "
            "which holds for all pods together; lower it to 2 or less"
        )
    ]


def test_nothing_malformed_leaves_the_others_out_of_the_tree() -> None:
    """What slips in while no replica answers: it is used without what is wrong with it."""
    bad = [
        converted({**given, "metadata": {"name": f"bad-{number:02}"}}, HyperNode)
        for number, given in enumerate((*REFUSED, *(given for given, _ in WARNED)))
    ]
    good = converted({**raw(exact("n2")), "metadata": {"name": "a-good-one"}}, HyperNode)
    tree = tree_of((*bad, good), ["n1", "n2"])
    assert set(tree.names[1:]) == {each.metadata.name for each in (*bad, good)}
    assert tree.nodes(tree.names.index("a-good-one")).tolist() == [1]
