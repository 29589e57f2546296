"""Malformed `networkTopology`, `subGroupPolicy` and `partitionPolicy`: users read what is wrong, and all others run.

This is what gets past the API server: without the CustomResourceDefinition's schema, or before it is updated.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.support.placement.networks import simulation_of
from volcano_py.cluster.manifests import ManifestError
from volcano_py.state.topology.limits import MOST_POLICIES

Object = dict[str, Any]

NUMBER: Final = "write a whole number from 0 to 2147483647"
SIZE: Final = "write a whole number from 1 to 2147483647"
NETWORK: Final[list[Object]] = [
    {"kind": "Node", "metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "8", "pods": "20"}}},
    {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": "r"},
        "spec": {
            "tier": 1,
            "tierName": "rack",
            "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n1"}}}],
        },
    },
    {"kind": "Queue", "metadata": {"name": "default"}, "spec": {}},
]
TIERS: Final[list[Any]] = [-1, 2**31, "1", 1.5, True, [], {}, "rack"]
MODES: Final[list[Any]] = ["Hard", "firm", 3, True, [], {}, ["hard"]]
NAMES: Final[list[Any]] = [3, ["a"], {}]
TOPOLOGIES: Final[list[tuple[Any, str]]] = [
    *(({"highestTierAllowed": tier}, f"highestTierAllowed is {tier!r}: {NUMBER}") for tier in TIERS),
    *(({"mode": mode}, f"mode is {mode!r}: use hard or soft") for mode in MODES),
    *(({"highestTierName": name}, f"highestTierName is {name!r}: write the name of a tier") for name in NAMES),
    (
        {"highestTierName": "rack", "highestTierAllowed": 1},
        "highestTierName is 'rack': highestTierAllowed is set, too: keep one",
    ),
]
NO_TOPOLOGIES: Final[list[Any]] = ["rack", 3, [], True]
SELECTORS: Final[list[tuple[Any, str]]] = [
    ("app=a", " cannot be read: Expected `object | null`, got `str`"),
    (3, " cannot be read: Expected `object | null`, got `int`"),
    ([], " cannot be read: Expected `object | null`, got `array`"),
    ({"matchLabels": "a"}, " cannot be read: Expected `object`, got `str` - at `$.matchLabels`"),
    ({"matchLabels": {"a": 3}}, " cannot be read: Expected `str`, got `int` - at `$.matchLabels[...]`"),
    ({"matchLabels": {"a b": "c"}}, ".matchLabels is 'a b': name labels by their keys, such as app"),
    ({"matchLabels": {"a": "b c"}}, ".matchLabels[a] is 'b c': a label cannot have this value; correct it"),
    ({"matchExpressions": "a"}, " cannot be read: Expected `array`, got `str` - at `$.matchExpressions`"),
    (
        {"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]},
        ".matchExpressions[0].operator is 'Near': use In, NotIn, Exists or DoesNotExist",
    ),
    (
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
        ".matchExpressions[0].values is []: In needs at least one value",
    ),
    (
        {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        ".matchExpressions[0].values is ['b']: Exists takes none; remove them or use In",
    ),
    (
        {"matchExpressions": [{"key": "", "operator": "Exists"}]},
        ".matchExpressions[0].key is '': name a label, such as app",
    ),
]


def policy(**fields: Any) -> Object:
    return {"name": "p", "matchLabelKeys": ["part"], **fields}


def policies(**fields: Any) -> Object:
    return {"subGroupPolicy": [policy(), policy(**{"name": "q", **fields})]}


MINIMUMS: Final[list[Any]] = [-1, 2**31, "2", []]
NO_POLICIES: Final[list[Any]] = ["p", 3, {}, [3], ["p"], [None], [[]]]
KEYS: Final[list[Any]] = ["part", 3, {}, [3], [""], ["a b"], ["part", None], ["a/b/c"], ["x" * 64]]
FIRST: Final = "spec.subGroupPolicy[1]"
POLICIES: Final[list[tuple[Object, str]]] = [
    *(({"networkTopology": given}, f"spec.networkTopology.{fault}") for given, fault in TOPOLOGIES),
    *((policies(networkTopology=given), f"{FIRST}.networkTopology.{fault}") for given, fault in TOPOLOGIES),
    *(
        (
            policies(networkTopology=given),
            f"{FIRST}.networkTopology is {given!r}: write mode, and highestTierAllowed or highestTierName",
        )
        for given in NO_TOPOLOGIES
    ),
    *((policies(subGroupSize=size), f"{FIRST}.subGroupSize is {size!r}: {SIZE}") for size in (0, -1, 2**31, "2", 1.5)),
    *((policies(minSubGroups=least), f"{FIRST}.minSubGroups is {least!r}: {NUMBER}") for least in MINIMUMS),
    *((policies(labelSelector=given), f"{FIRST}.labelSelector{fault}") for given, fault in SELECTORS),
    *(
        (policies(matchLabelKeys=keys), f"{FIRST}.matchLabelKeys is {keys!r}: write a list of label keys, such as app")
        for keys in KEYS
    ),
    (
        {"subGroupPolicy": [policy(), policy()]},
        "spec.subGroupPolicy is 'p': give each policy a name of its own",
    ),
    (
        {"subGroupPolicy": [policy(name=f"p{number}") for number in range(MOST_POLICIES + 1)]},
        f"spec.subGroupPolicy is '{MOST_POLICIES + 1} entries': use at most {MOST_POLICIES}",
    ),
]
UNREADABLE: Final[list[tuple[Object, str]]] = [
    *(({"networkTopology": given}, r"\$\.spec\.networkTopology") for given in NO_TOPOLOGIES),
    *(({"subGroupPolicy": given}, r"\$\.spec\.subGroupPolicy") for given in NO_POLICIES),
]


def gang(name: str, spec: Object) -> list[Object]:
    """A PodGroup with one pod."""
    annotations = {"scheduling.k8s.io/group-name": name}
    containers = [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]
    return [
        {"kind": "PodGroup", "metadata": {"name": name}, "spec": {"minMember": 1, **spec}},
        {
            "kind": "Pod",
            "metadata": {"name": f"{name}-0", "annotations": annotations, "labels": {"part": "0"}},
            "spec": {"schedulerName": "volcano", "containers": containers},
        },
    ]


def test_there_are_sixty_and_more() -> None:
    assert len(POLICIES) + len(UNREADABLE) >= 60


@pytest.mark.parametrize(("spec", "fault"), POLICIES)
def test_a_malformed_policy_is_reported_and_others_run(spec: Object, fault: str) -> None:
    good = gang("good", {"networkTopology": {"highestTierName": "rack"}, "subGroupPolicy": [policy()]})
    simulation = simulation_of([*NETWORK, *gang("bad", spec), *good])
    seen = simulation.run().as_json()
    assert seen["unschedulable"]["default/bad-0"].startswith(f"InvalidPodGroup: {fault}")
    assert seen["binds"] == {"default/good-0": "n1"}
    assert not any(report.plugin_errors or report.action_errors for report in simulation.reports)


@pytest.mark.parametrize(("spec", "path"), UNREADABLE)
def test_what_is_no_policy_at_all_names_the_object_and_the_field(spec: Object, path: str) -> None:
    with pytest.raises(ManifestError, match=rf"PodGroup bad\): .*{path}"):
        simulation_of([*NETWORK, *gang("bad", spec)])


def job(name: str, **spec: Any) -> Object:
    template = {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}
    task = {"name": "w", "replicas": 2, "template": template, **spec.pop("task", {})}
    body = {"schedulerName": "volcano", "tasks": [task], **spec}
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": name}, "spec": body}


def partitions(**fields: Any) -> Object:
    return {"task": {"partitionPolicy": {"totalPartitions": 2, "partitionSize": 1, **fields}}}


JOBS: Final[list[tuple[Object, str]]] = [
    *(({"networkTopology": given}, f"spec.networkTopology.{fault}") for given, fault in TOPOLOGIES),
    *(
        (partitions(networkTopology=given), f"spec.subGroupPolicy[0].networkTopology.{fault}")
        for given, fault in TOPOLOGIES
    ),
    *((partitions(partitionSize=size), f"spec.subGroupPolicy[0].subGroupSize is {size}: {SIZE}") for size in (0, -1)),
    (partitions(minPartitions=-1), f"spec.subGroupPolicy[0].minSubGroups is -1: {NUMBER}"),
]


@pytest.mark.parametrize(("spec", "fault"), JOBS)
def test_a_malformed_policy_of_a_job_is_reported_and_other_jobs_run(spec: Object, fault: str) -> None:
    """In its PodGroup; or the Job is invalid and has none."""
    simulation = simulation_of([*NETWORK, job("bad", **spec), job("good", **partitions())])
    seen = simulation.run().as_json()
    conditions = [
        each.get("message", "")
        for name, group in seen["podGroups"].items()
        if name.startswith("default/bad-")
        for each in group["conditions"]
    ]
    events = [event.message for event in simulation.cluster.events if event.about.name == "bad"]
    assert any(f": {fault}" in each for each in conditions) or (
        not conditions and any("networkTopology" in each or "partitionPolicy" in each for each in events)
    ), (conditions, events)
    assert set(seen["binds"]) == {"default/good-w-0", "default/good-w-1"}
    assert not any(report.plugin_errors or report.action_errors for report in simulation.reports)
