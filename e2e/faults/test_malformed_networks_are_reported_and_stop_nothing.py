"""HyperNodes, `networkTopology` and sub-group policies that no schema would admit, while jobs run: each is reported on
its object, the rest of the tree works, and jobs are placed in it.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.loosened import without_validation
from e2e.faults.injection.oddities import (
    BATCH,
    SCHEDULING,
    TOPOLOGY,
    Case,
    Store,
    all_is_well,
    each_is_reported,
    tasks,
    unreadable,
    with_spec,
)
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION
from e2e.harness.namespace import Namespace
from e2e.harness.networks import HYPER_NODES, exact, hyper_node, label, rack, regex
from e2e.harness.objects import gang, pod
from e2e.harness.waiting import WAIT_SECONDS

NETWORK = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins: [{name: priority}, {name: gang}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: network-topology-aware}]
"""


def of_type(name: str, path: str, **spec: Any) -> Case:
    """A HyperNode in which something has the wrong type."""
    return unreadable("HyperNode", TOPOLOGY, name, path, spec={"tier": 1, "members": [exact("n1")], **spec})


def member(name: str, path: str, member: Any) -> Case:
    """One with a member that has the wrong type at `path`."""
    return of_type(name, f"spec.members[0]{path}", members=[member])


def selector(name: str, path: str, **selector: Any) -> Case:
    return member(name, f".selector.{path}", {"type": "Node", "selector": selector})


def expression(name: str, reported: str, **expression: Any) -> Case:
    """One with a label expression that says nothing."""
    selector = {"labelMatch": {"matchExpressions": [{"key": "example.com/rack", **expression}]}}
    return wrong(name, reported, {"type": "Node", "selector": selector})


def wrong(name: str, reported: str, *members: Any, tier: int = 1) -> Case:
    """One that can be read, and of which something cannot be used."""
    return with_spec("HyperNode", TOPOLOGY, name, reported, tier=tier, members=list(members))


def cluster_name(name: str) -> str:
    """Replaced by the name that the HyperNode has in the test's namespace."""
    return f"NAMESPACE-{name}"


UNREADABLE = (
    unreadable("HyperNode", TOPOLOGY, "textual", "spec", spec="none"),
    unreadable("HyperNode", TOPOLOGY, "listing", "spec", spec=[1]),
    of_type("tier-text", "spec.tier", tier="one"),
    of_type("tier-half", "spec.tier", tier=1.5),
    of_type("tier-map", "spec.tier", tier={}),
    of_type("tier-true", "spec.tier", tier=True),
    of_type("named-seven", "spec.tierName", tierName=7),
    of_type("named-list", "spec.tierName", tierName=["rack"]),
    of_type("members-text", "spec.members", members="n1"),
    of_type("members-map", "spec.members", members={"n1": "Node"}),
    member("member-text", "", "n1"),
    member("member-number", "", 1),
    member("type-seven", ".type", {"type": 7}),
    member("selector-text", ".selector", {"type": "Node", "selector": "n1"}),
    selector("exact-text", "exactMatch", exactMatch="n1"),
    selector("exact-list", "exactMatch.name", exactMatch={"name": ["n1"]}),
    selector("regex-text", "regexMatch", regexMatch="^n1$"),
    selector("pattern-five", "regexMatch.pattern", regexMatch={"pattern": 5}),
    selector("label-text", "labelMatch", labelMatch="a=b"),
    selector("labels-list", "labelMatch.matchLabels", labelMatch={"matchLabels": ["a"]}),
    selector("labels-map", "labelMatch.matchExpressions", labelMatch={"matchExpressions": {"key": "a"}}),
)
UNUSABLE = (
    wrong("below-zero", "spec.tier is -1", exact("n1"), tier=-1),
    wrong("of-pods", "type is 'Pod'; use Node or HyperNode", exact("n1", "Pod")),
    wrong("of-nothing", "type is ''; use Node or HyperNode", exact("n1", "")),
    wrong("unselective", "selector has 0 of", {"type": "Node", "selector": {}}),
    wrong("twice-selected", "selector has 2 of", exact("n1", regexMatch={"pattern": "^a$"})),
    wrong("regex-of-racks", "HyperNodes are selected by exactMatch alone", regex("^r", "HyperNode")),
    wrong("labels-of-racks", "HyperNodes are selected by exactMatch alone", label("HyperNode", a="b")),
    wrong("empty-name", "exactMatch.name is empty", exact("")),
    wrong("empty-pattern", "regexMatch.pattern cannot be used", regex("")),
    wrong("open-group", "regexMatch.pattern cannot be used", regex("(")),
    wrong("open-class", "regexMatch.pattern cannot be used", regex("[a")),
    wrong("backward", "regexMatch.pattern cannot be used", regex("a{2,1}")),
    wrong("starred", "regexMatch.pattern cannot be used", regex("*")),
    wrong("ahead", "regexMatch.pattern cannot be used", regex("(?=a)")),
    wrong("endless", "regexMatch.pattern cannot be used", regex("a" * 1025)),
    expression("nearby", "labelMatch.*Near", operator="Near"),
    expression("valueless", "labelMatch.*In", operator="In"),
    wrong("nowhere", "nodes that do not exist are among its members: there-is-none", exact("there-is-none")),
    wrong("own-member", "CyclicMembers", exact(cluster_name("own-member"), "HyperNode"), tier=2),
    wrong("circle-a", "CyclicMembers|TierNotAboveMembers", exact(cluster_name("circle-b"), "HyperNode"), tier=2),
    wrong("circle-b", "CyclicMembers|TierNotAboveMembers", exact(cluster_name("circle-a"), "HyperNode"), tier=3),
    wrong("flat", "TierNotAboveMembers", exact(cluster_name("good"), "HyperNode"), tier=1),
    wrong("z-thief", "MemberHasTwoParents", exact(cluster_name("other"), "HyperNode"), tier=2),
    wrong("z-sharer", "NodeInTwoHyperNodes", exact("NODE")),
)


def group(name: str, reported: str, **spec: Any) -> Case:
    return with_spec("PodGroup", SCHEDULING, name, reported, minMember=1, **spec)


def limit(name: str, reported: str, **topology: Any) -> Case:
    return group(name, reported, networkTopology=topology)


def policy(name: str, reported: str, **policy: Any) -> Case:
    return group(name, reported, subGroupPolicy=[{"name": "p", "matchLabelKeys": ["part"], **policy}])


def partitions(name: str, reported: str, **policy: Any) -> Case:
    body = {"totalPartitions": 2, "partitionSize": 1, **policy}
    return with_spec("Job", BATCH, name, reported, tasks=tasks(replicas=2, partitionPolicy=body))


POLICIES = (
    group("near", "spec.networkTopology", networkTopology="near"),
    group("numbers", "spec.networkTopology", networkTopology=[1]),
    limit("firm", r"spec.networkTopology.mode is .firm.", mode="firm"),
    limit("seventh", r"spec.networkTopology.mode is 7", mode=7),
    limit("top", "spec.networkTopology.highestTierAllowed is .top.", highestTierAllowed="top"),
    limit("minus", "spec.networkTopology.highestTierAllowed is -1", highestTierAllowed=-1),
    limit("half", "spec.networkTopology.highestTierAllowed is 1.5", highestTierAllowed=1.5),
    limit("nameless", "spec.networkTopology.highestTierName is 7", highestTierName=7),
    limit("both", "highestTierAllowed is set, too", highestTierAllowed=1, highestTierName="rack"),
    group("policy-text", "spec.subGroupPolicy", subGroupPolicy="two"),
    group("policy-number", "spec.subGroupPolicy", subGroupPolicy=[1]),
    policy("size-none", "spec.subGroupPolicy.0..subGroupSize is 0", subGroupSize=0),
    policy("size-text", "spec.subGroupPolicy.0..subGroupSize is .two.", subGroupSize="two"),
    policy("fewer", "spec.subGroupPolicy.0..minSubGroups is -1", minSubGroups=-1),
    policy("selective", "spec.subGroupPolicy.0..labelSelector", labelSelector="a=b"),
    policy("keyed", "spec.subGroupPolicy.0..matchLabelKeys is", matchLabelKeys="part"),
    policy("firm-part", "spec.subGroupPolicy.0..networkTopology.mode is", networkTopology={"mode": "firm"}),
    unreadable(
        "Job", BATCH, "partition-text", "spec.tasks[0].partitionPolicy", spec={"tasks": tasks(partitionPolicy="two")}
    ),
    partitions("firm-partition", "networkTopology", networkTopology={"mode": "firm"}),
)
CASES = (*UNREADABLE, *UNUSABLE, *POLICIES)


async def test_each_malformed_part_of_the_network_is_reported_and_jobs_are_placed(
    cluster: Cluster,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Callable[[str], Awaitable[None]],
    store: Store,
    start_daemon: StartDaemon,
) -> None:
    """Also by a daemon that starts with them."""
    assert len({case.name for case in CASES}) == len(CASES) >= 60
    await configure(NETWORK)
    pool = await simulated_nodes(4, cpu="8")
    good, other, spine = (f"{namespace.name}-{name}" for name in ("good", "other", "a-spine"))
    try:
        await cluster.apply([rack(good, pool.names[:2]), rack(other, pool.names[2:])])
        await cluster.apply([hyper_node(spine, exact(other, "HyperNode"), tier=2)])
        daemon = await start_daemon(*QUICK_ELECTION)
        await placed_in_one_rack(namespace, "before", pool.selector, pool.names)
        probe = hyper_node("probe", exact("n1"), tier="one")
        async with without_validation(cluster, probe, HYPER_NODES):
            for case in CASES:
                await store(filled_in(case, namespace.name, pool.names[0]))
                if case.kind == "PodGroup":
                    await namespace.apply(pod(f"{case.name}-0", group=case.name, node_selector=pool.selector))
            await each_is_reported(namespace, CASES)
            await placed_in_one_rack(namespace, "meanwhile", pool.selector, pool.names)
            await all_is_well(daemon)
        await daemon.kill()
        daemon = await start_daemon(*QUICK_ELECTION)
        await placed_in_one_rack(namespace, "afterwards", pool.selector, pool.names)
        await all_is_well(daemon)
        assert len(await namespace.pods("of=before")) == 3
    finally:
        for name in (good, other, spine):
            await cluster.delete(f"{HYPER_NODES}/{name}")


def filled_in(case: Case, namespace: str, node: str) -> Case:
    """With the names of this test."""

    def named(value: Any) -> Any:
        match value:
            case str():
                return re.sub("^NODE$", node, value.replace("NAMESPACE", namespace))
            case dict():
                return {key: named(each) for key, each in value.items()}
            case list():
                return [named(each) for each in value]
        return value

    return Case(case.kind, case.api, case.name, case.reported, named(case.fields))


async def placed_in_one_rack(namespace: Namespace, name: str, selector: Any, nodes: tuple[str, ...]) -> None:
    """A gang with a hard limit comes, and runs in one of the racks."""
    podgroup, *pods = gang(name, 3, node_selector=selector, labels={"of": name})
    podgroup["spec"]["networkTopology"] = {"highestTierAllowed": 1}
    await namespace.apply([podgroup, *pods])
    running = await namespace.wait_phases(selector=f"of={name}", seconds=WAIT_SECONDS, Running=3)
    used = {each.node for each in running}
    assert used <= set(nodes[:2]) or used <= set(nodes[2:]), used
