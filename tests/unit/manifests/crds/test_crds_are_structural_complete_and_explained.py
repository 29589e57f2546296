"""The custom resource definitions: every field users of Volcano know, typed, bounded where a rule reads it, explained.

What an API server makes of them (defaults, refusals and their messages) is seen in e2e/.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.unit.manifests.crds.schemas import Find, Node, nodes, rules_of, schema, version

QUANTITIES = "quantities"

# dotted path -> type; `[]` steps into a list's items, QUANTITIES is a map of resource name to quantity
QUEUE_FIELDS = {
    "spec.weight": "integer",
    "spec.capability": QUANTITIES,
    "spec.deserved": QUANTITIES,
    "spec.guarantee.resource": QUANTITIES,
    "spec.reclaimable": "boolean",
    "spec.parent": "string",
    "spec.priority": "integer",
    "spec.type": "string",
    "spec.affinity.nodeGroupAffinity.requiredDuringSchedulingIgnoredDuringExecution": "array",
    "spec.affinity.nodeGroupAffinity.preferredDuringSchedulingIgnoredDuringExecution": "array",
    "spec.affinity.nodeGroupAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution": "array",
    "spec.affinity.nodeGroupAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution": "array",
    "spec.extendClusters[].name": "string",
    "spec.extendClusters[].weight": "integer",
    "spec.extendClusters[].capacity": QUANTITIES,
    "spec.dequeueStrategy": "string",
    "status.state": "string",
    "status.unknown": "integer",
    "status.pending": "integer",
    "status.running": "integer",
    "status.inqueue": "integer",
    "status.completed": "integer",
    "status.reservation.nodes": "array",
    "status.reservation.resource": QUANTITIES,
    "status.allocated": QUANTITIES,
    # Ours: Volcano's queues have no conditions.
    "status.conditions[].type": "string",
    "status.conditions[].status": "string",
    "status.conditions[].transitionID": "string",
    "status.conditions[].lastTransitionTime": "string",
    "status.conditions[].reason": "string",
    "status.conditions[].message": "string",
}
PODGROUP_FIELDS = {
    "spec.minMember": "integer",
    "spec.minTaskMember": "object",
    "spec.queue": "string",
    "spec.priorityClassName": "string",
    "spec.minResources": QUANTITIES,
    "spec.networkTopology.mode": "string",
    "spec.networkTopology.highestTierAllowed": "integer",
    "spec.networkTopology.highestTierName": "string",
    "spec.subGroupPolicy[].name": "string",
    "spec.subGroupPolicy[].networkTopology.mode": "string",
    "spec.subGroupPolicy[].networkTopology.highestTierAllowed": "integer",
    "spec.subGroupPolicy[].networkTopology.highestTierName": "string",
    "spec.subGroupPolicy[].subGroupSize": "integer",
    "spec.subGroupPolicy[].minSubGroups": "integer",
    "spec.subGroupPolicy[].labelSelector.matchLabels": "object",
    "spec.subGroupPolicy[].labelSelector.matchExpressions[].key": "string",
    "spec.subGroupPolicy[].labelSelector.matchExpressions[].operator": "string",
    "spec.subGroupPolicy[].labelSelector.matchExpressions[].values": "array",
    "spec.subGroupPolicy[].matchLabelKeys": "array",
    "status.phase": "string",
    "status.conditions[].type": "string",
    "status.conditions[].status": "string",
    "status.conditions[].transitionID": "string",
    "status.conditions[].lastTransitionTime": "string",
    "status.conditions[].reason": "string",
    "status.conditions[].message": "string",
    "status.running": "integer",
    "status.succeeded": "integer",
    "status.failed": "integer",
}
HYPERNODE_FIELDS = {
    "spec.tier": "integer",
    "spec.tierName": "string",
    "spec.members[].type": "string",
    "spec.members[].selector.exactMatch.name": "string",
    "spec.members[].selector.regexMatch.pattern": "string",
    "spec.members[].selector.labelMatch.matchLabels": "object",
    "spec.members[].selector.labelMatch.matchExpressions[].key": "string",
    "spec.members[].selector.labelMatch.matchExpressions[].operator": "string",
    "spec.members[].selector.labelMatch.matchExpressions[].values": "array",
    "status.nodeCount": "integer",
    "status.conditions[].type": "string",
    "status.conditions[].status": "string",
    "status.conditions[].observedGeneration": "integer",
    "status.conditions[].lastTransitionTime": "string",
    "status.conditions[].reason": "string",
    "status.conditions[].message": "string",
}
NODE_SHARD_FIELDS = {
    "spec.nodesDesired": "array",
    "status.lastUpdateTime": "string",
    "status.nodesInUse": "array",
    "status.nodesToRemove": "array",
    "status.nodesToAdd": "array",
}
FIELDS = {
    "queues.scheduling.volcano.sh": QUEUE_FIELDS,
    "podgroups.scheduling.volcano.sh": PODGROUP_FIELDS,
    "hypernodes.topology.volcano.sh": HYPERNODE_FIELDS,
    "nodeshards.shard.volcano.sh": NODE_SHARD_FIELDS,
}
EACH = pytest.mark.parametrize("name", list(FIELDS))


@pytest.fixture(scope="session")
def definition(named: Find) -> Callable[[str], Node]:
    return lambda name: named("CustomResourceDefinition", name)


def at(root: Node, path: str) -> Node:
    for part in path.replace("[]", ".[]").split("."):
        root = root["items"] if part == "[]" else root["properties"][part]
    return root


@EACH
def test_every_field_of_the_api_is_declared_with_its_type(definition: Callable[[str], Node], name: str) -> None:
    root = schema(definition(name))
    for path, kind in FIELDS[name].items():
        node = at(root, path)
        if kind is QUANTITIES:
            assert node["type"] == "object", path
            assert node["additionalProperties"]["x-kubernetes-int-or-string"] is True, path
        else:
            assert node["type"] == kind, path


@EACH
def test_no_field_is_declared_that_the_api_does_not_have(definition: Callable[[str], Node], name: str) -> None:
    leaves = {
        path
        for path, node in nodes(schema(definition(name)))
        if not path.endswith(("[]", "{}")) and "properties" not in node and "properties" not in node.get("items", {})
    }
    assert leaves - {"apiVersion", "kind"} == set(FIELDS[name])


@EACH
def test_every_node_has_a_type_and_an_explanation(definition: Callable[[str], Node], name: str) -> None:
    """What the API server calls structural, and what `kubectl explain` shows."""
    for path, node in nodes(schema(definition(name))):
        assert node.get("x-kubernetes-int-or-string") is True or node["type"] in {
            "object", "array", "string", "integer", "boolean",
        }, path  # fmt: skip
        assert node["description"].endswith("."), path
        assert not {"anyOf", "oneOf", "not", "$ref", "x-kubernetes-preserve-unknown-fields"} & set(node), path
        assert (node.get("type") == "object") == bool({"properties", "additionalProperties"} & set(node)), path
        assert (node.get("type") == "array") == ("items" in node), path


@EACH
def test_defaults_are_values_the_field_accepts(definition: Callable[[str], Node], name: str) -> None:
    for path, node in nodes(schema(definition(name))):
        if "default" in node:
            default = node["default"]
            assert default in node.get("enum", [default]), path
            assert type(default) is {"string": str, "integer": int, "object": dict}[node["type"]], path
            if node["type"] == "integer":
                assert node.get("minimum", default) <= default <= node.get("maximum", default), path


@EACH
def test_quantities_that_a_rule_reads_are_bounded(definition: Callable[[str], Node], name: str) -> None:
    """The API server refuses a definition whose rules it cannot prove cheap; bounds are what it proves that with."""
    found = 0
    for path, node in nodes(schema(definition(name))):
        if any("isQuantity" in rule["rule"] for rule in rules_of(node.get("additionalProperties", {}))):
            found += 1
            assert node["maxProperties"] <= 1024, path
            assert node["additionalProperties"]["maxLength"] <= 64, path
    assert found == {"queues.scheduling.volcano.sh": 3, "podgroups.scheduling.volcano.sh": 1}.get(name, 0)


@EACH
def test_every_rule_says_in_words_what_to_do(definition: Callable[[str], Node], name: str) -> None:
    root = schema(definition(name))
    rules = [rule for node in (root, *(node for _, node in nodes(root))) for rule in rules_of(node)]
    assert rules
    for rule in rules:
        assert len(rule["message"]) > 30
        assert "\n" not in rule["message"]


def test_names_are_those_users_type(definition: Callable[[str], Node]) -> None:
    queue, podgroup, hyper_node, node_shard = specs = [definition(name)["spec"] for name in FIELDS]
    assert [each["scope"] for each in specs] == ["Cluster", "Namespaced", "Cluster", "Cluster"]
    assert queue["names"] == {
        "kind": "Queue", "listKind": "QueueList", "plural": "queues", "singular": "queue",
        "shortNames": ["q", "queue-v1beta1"],
    }  # fmt: skip
    assert podgroup["names"] == {
        "kind": "PodGroup", "listKind": "PodGroupList", "plural": "podgroups", "singular": "podgroup",
        "shortNames": ["pg", "podgroup-v1beta1"],
    }  # fmt: skip
    assert hyper_node["names"] == {
        "kind": "HyperNode", "listKind": "HyperNodeList", "plural": "hypernodes", "singular": "hypernode",
        "shortNames": ["hn"],
    }  # fmt: skip
    assert node_shard["names"] == {
        "kind": "NodeShard", "listKind": "NodeShardList", "plural": "nodeshards", "singular": "nodeshard",
        "shortNames": ["nsh"],
    }  # fmt: skip
    for spec, group, name in (
        (queue, "scheduling.volcano.sh", "v1beta1"),
        (podgroup, "scheduling.volcano.sh", "v1beta1"),
        (hyper_node, "topology.volcano.sh", "v1alpha1"),
        (node_shard, "shard.volcano.sh", "v1alpha1"),
    ):
        assert spec["group"] == group
        (only,) = spec["versions"]
        assert (only["name"], only["served"], only["storage"]) == (name, True, True)


def test_all_but_podgroups_have_a_status_subresource(definition: Callable[[str], Node]) -> None:
    """Clients of Volcano write a PodGroup's status by updating the object; with the subresource it would be dropped."""
    queue, podgroup, hyper_node, node_shard = (version(definition(name)) for name in FIELDS)
    assert queue["subresources"] == hyper_node["subresources"] == node_shard["subresources"] == {"status": {}}
    assert "status" not in podgroup.get("subresources", {})


@pytest.mark.parametrize("name", [name for name in FIELDS if not name.startswith("podgroups")])
def test_a_helm_uninstall_keeps_what_describes_the_cluster(definition: Callable[[str], Node], name: str) -> None:
    annotations = definition(name)["metadata"]["annotations"]
    assert annotations["helm.sh/resource-policy"] == "keep"


def test_columns_keep_the_names_and_order_scripts_rely_on(definition: Callable[[str], Node]) -> None:
    queue, podgroup, hyper_node, node_shard = (version(definition(name))["additionalPrinterColumns"] for name in FIELDS)
    assert [each["name"] for each in node_shard if not each.get("priority")] == ["ToAdd", "ToRemove", "Age"]
    assert [each["name"] for each in hyper_node] == ["Tier", "TierName", "NodeCount", "Age"]
    assert queue[0]["name"] == "PARENT"
    assert queue[0]["jsonPath"] == ".spec.parent"
    assert [(each["name"], each["jsonPath"], each.get("priority", 0)) for each in podgroup] == [
        ("STATUS", ".status.phase", 0),
        ("minMember", ".spec.minMember", 0),
        ("RUNNINGS", ".status.running", 0),
        ("AGE", ".metadata.creationTimestamp", 0),
        ("QUEUE", ".spec.queue", 1),
    ]


@EACH
def test_columns_show_fields_that_exist(definition: Callable[[str], Node], name: str) -> None:
    root = schema(definition(name))
    for column in version(definition(name))["additionalPrinterColumns"]:
        if column["type"] == "date":
            assert column["jsonPath"] == ".metadata.creationTimestamp"
            continue
        parent, _, last = column["jsonPath"].removeprefix(".").rpartition(".")
        holder = at(root, parent)
        field = holder["properties"][last] if "properties" in holder else holder["additionalProperties"]
        shown = {"array": "string"}.get(field.get("type"), field.get("type", "string"))  # lists are shown as JSON
        assert shown == column["type"], column["name"]


@pytest.mark.parametrize(
    ("name", "path", "constraints"),
    [
        ("queues", "spec.weight", {"default": 1, "minimum": 1, "maximum": 65535, "format": "int32"}),
        ("queues", "spec.priority", {"minimum": 0, "format": "int32"}),
        ("queues", "spec.parent", {"maxLength": 253}),
        ("queues", "spec.type", {"maxLength": 253}),
        ("queues", "spec.dequeueStrategy", {"enum": ["fifo", "traverse"], "default": "traverse"}),
        ("queues", "status.state", {"enum": ["Open", "Closed", "Closing", "Unknown"]}),
        ("queues", "status.pending", {"minimum": 0}),
        ("podgroups", "spec.minMember", {"minimum": 0, "format": "int32"}),
        ("podgroups", "spec.queue", {"default": "default", "maxLength": 253}),
        ("podgroups", "spec.priorityClassName", {"maxLength": 253}),
        ("podgroups", "spec.networkTopology.mode", {"enum": ["hard", "soft"], "default": "hard"}),
        ("podgroups", "spec.networkTopology.highestTierAllowed", {"minimum": 0}),
        ("podgroups", "spec.subGroupPolicy[].subGroupSize", {"default": 1, "minimum": 1}),
        ("podgroups", "spec.subGroupPolicy[].minSubGroups", {"default": 0}),
        ("podgroups", "spec.subGroupPolicy[].matchLabelKeys", {"x-kubernetes-list-type": "atomic"}),
        ("podgroups", "status.phase", {"enum": ["Pending", "Running", "Unknown", "Inqueue", "Completed"]}),
        ("hypernodes", "spec.tier", {"minimum": 0, "default": 0}),
        ("hypernodes", "spec.tierName", {"maxLength": 253}),
        ("hypernodes", "spec.members", {"minItems": 1}),
        ("hypernodes", "spec.members[].type", {"enum": ["Node", "HyperNode"]}),
        ("hypernodes", "spec.members[].selector.exactMatch.name", {"minLength": 1, "maxLength": 253}),
        ("hypernodes", "spec.members[].selector.regexMatch.pattern", {"minLength": 1}),
        ("hypernodes", "status.nodeCount", {"minimum": 0, "format": "int64"}),
    ],
)
def test_limits_and_defaults_are_volcanos(
    definition: Callable[[str], Node], name: str, path: str, constraints: dict[str, object]
) -> None:
    (full,) = (each for each in FIELDS if each.startswith(f"{name}."))
    node = at(schema(definition(full)), path)
    assert {key: node.get(key) for key in constraints} == constraints
