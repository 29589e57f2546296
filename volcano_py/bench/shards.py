"""`bench --mode decide --shards N`: each shard in a process of its own, one after the other.

Every process holds the whole cluster, as a daemon with a shard does: it follows all nodes and pods, and decides its
own. That they run one after the other gives each a core to itself on any machine, as on machines of their own.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

from volcano_py.api.shards.sharding import Sharding
from volcano_py.bench.decide import run_decide
from volcano_py.bench.figures import Run
from volcano_py.bench.loads.shard_load import ShardedWorkload
from volcano_py.config.parse import parse_configuration
from volcano_py.daemon.garbage import collect_seldom
from volcano_py.scheduler import builtin_registry


def run_shards(workload: ShardedWorkload, configuration: str) -> Iterator[Run]:
    """A line for each shard, then what they do together. `configuration` is a valid text."""
    runs: list[Run] = []
    for name in workload.names:
        with ProcessPoolExecutor(max_workers=1, mp_context=multiprocessing.get_context("spawn")) as process:
            runs.append(process.submit(_of_shard, workload, name, configuration).result())
        yield runs[-1]
    yield _together(runs)


def _of_shard(workload: ShardedWorkload, name: str, text: str) -> Run:
    """In a process of its own."""
    collect_seldom()  # as the daemon does
    registry = builtin_registry()
    configuration = parse_configuration(text, registry.catalogue()).config
    assert configuration is not None, "the configuration was valid in the parent"
    return run_decide(workload.items(), configuration, registry, name=name, sharding=Sharding(name))


def _together(runs: list[Run]) -> Run:
    """All shards at once, each on a core of its own: as many pods in the time of the slowest. Memory is the sum."""
    pods, seconds = sum(run.pods for run in runs), max(run.seconds for run in runs)
    return Run(
        scheduler="all at once",
        pods=pods,
        seconds=seconds,
        pods_per_second=pods / seconds,
        p50_seconds=max(run.p50_seconds for run in runs),
        p99_seconds=max(run.p99_seconds for run in runs),
        cpu_seconds=sum(run.cpu_seconds for run in runs),
        peak_rss_bytes=sum(run.peak_rss_bytes for run in runs),
    )
