"""`bench --shards`: the load is divided among the shards, and each decides all of its part."""

from __future__ import annotations

from collections import Counter

from volcano_py.api.objects import PodGroup
from volcano_py.api.shards.node_shards import NodeShard
from volcano_py.bench.loads.shard_load import ShardedWorkload
from volcano_py.bench.loads.workload import Workload
from volcano_py.bench.shards import run_shards
from volcano_py.config import default_configuration_text

DIVIDED = ShardedWorkload(whole=Workload(nodes=6, pods=60, gang=10), shards=2)


def test_nodes_and_gangs_go_to_the_shards_in_turn() -> None:
    items = [obj for _, obj in DIVIDED.items()]
    shards = {obj.metadata.name: obj for obj in items if isinstance(obj, NodeShard)}
    assert [len(shard.status.nodes_in_use) for shard in shards.values()] == [3, 3]
    assert len({node for shard in shards.values() for node in shard.status.nodes_in_use}) == 6
    queues = Counter(obj.spec.queue for obj in items if isinstance(obj, PodGroup))
    assert queues == dict.fromkeys(DIVIDED.names, 3)


def test_each_shard_decides_its_pods_in_a_process_of_its_own() -> None:
    *each, together = run_shards(DIVIDED, default_configuration_text())
    assert [(run.scheduler, run.pods) for run in each] == [("shard-0", 30), ("shard-1", 30)]
    assert together.pods == 60
    assert together.peak_rss_bytes == sum(run.peak_rss_bytes for run in each)
    assert together.seconds == max(run.seconds for run in each)
