"""NodeShards as the API server sends them, and the flags that name one."""

from __future__ import annotations

import click
import msgspec
import pytest

from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ObjectMeta
from volcano_py.api.shards.node_shards import NodeShard, NodeShardSpec, NodeShardStatus
from volcano_py.api.shards.sharding import Sharding, ShardingMode
from volcano_py.cli.options.sharding import sharding_of
from volcano_py.daemon.options import DaemonOptions, LeaderElectionOptions
from volcano_py.state.shards.handover import ShardInfo
from volcano_py.state.shards.shards import read_node_shard


def test_a_node_shard_has_volcanos_fields() -> None:
    text = b"""{
        "kind": "NodeShard",
        "metadata": {"name": "a", "labels": {"shard.volcano.sh/volcano-py-takes-queues": "true"}},
        "spec": {"nodesDesired": ["n1", "n2"]},
        "status": {
            "lastUpdateTime": "2026-11-24T10:00:00Z",
            "nodesInUse": ["n1"],
            "nodesToAdd": ["n2"],
            "nodesToRemove": null
        }
    }"""
    found = Reader(NodeShard).decode(text)
    assert found.spec == NodeShardSpec(nodes_desired=["n1", "n2"])
    assert found.status == NodeShardStatus("2026-11-24T10:00:00Z", ["n1"], [], ["n2"])
    assert read_node_shard(found) == ShardInfo("a", frozenset({"n1", "n2"}), frozenset({"n1"}), takes_queues=True)


@pytest.mark.parametrize(("value", "takes"), [("true", True), ("", True), ("false", False), ("False", False)])
def test_the_label_says_whether_a_shard_takes_queues(value: str, takes: bool) -> None:
    labels = {"shard.volcano.sh/volcano-py-takes-queues": value}
    assert read_node_shard(NodeShard(metadata=ObjectMeta(name="a", labels=labels))).takes_queues is takes


@pytest.mark.parametrize(
    ("mode", "name", "expected"),
    [
        (None, None, None),
        ("none", "a", None),
        (None, "a", Sharding("a")),
        ("hard", None, Sharding("volcano")),
        ("soft", "a", Sharding("a", ShardingMode.SOFT)),
    ],
)
def test_the_flags_mean_what_they_mean_in_volcano(
    mode: str | None, name: str | None, expected: Sharding | None
) -> None:
    assert sharding_of(mode, name) == expected


def test_a_name_that_no_object_can_have_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="is not the name of an object"):
        sharding_of("hard", "Rack 1")


@pytest.mark.parametrize(
    ("options", "lease"),
    [
        (DaemonOptions(), "volcano"),
        (DaemonOptions(sharding=Sharding("volcano")), "volcano"),
        (DaemonOptions(sharding=Sharding("a")), "volcano-a"),
        (DaemonOptions(sharding=Sharding("a"), scheduling=False), "vc-controller-manager"),
        (DaemonOptions(sharding=Sharding("a"), election=LeaderElectionOptions(name="own")), "own"),
    ],
)
def test_each_shard_has_a_lease_of_its_own(options: DaemonOptions, lease: str) -> None:
    assert options.lease_name == lease


def test_a_sharding_survives_a_record() -> None:
    sharding = Sharding("a", ShardingMode.SOFT)
    assert msgspec.json.decode(msgspec.json.encode(sharding), type=Sharding) == sharding
