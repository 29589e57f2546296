"""`explain` on a cluster with shards: each scheduler speaks of its own nodes and queues, and names the others'."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tests.unit.docs.pages import PROJECT
from volcano_py.cli.main import main

FILES = ("--from", str(PROJECT / "examples" / "shards"))


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("job", "serve", "--shard-name", "b"), "0 cpu allocated + 18 asked > 16 in shard b"),
        (
            ("job", "serve", "--shard-name", "a"),
            "job default/serve is in queue product, which shard b decides: explain it with --scheduler-sharding-name b",
        ),
        (("job", "serve", "--shard-name", "b"), "-> cluster nodes of shard b 0 18 16 cpu"),
        (("node", "n1", "--shard-name", "a"), "Node n1 still takes 2 cpu"),
        (("node", "n1", "--shard-name", "b"), "node n1 is in shard a, and the scheduler of shard b does not use it"),
        (("node", "n1", "--shard-name", "c"), "node n1 is in shard a"),
        (("node", "n9", "--shard-name", "a"), "node n9 does not exist"),
    ],
)
def test_the_shard_is_named(arguments: tuple[str, ...], answer: str) -> None:
    result = CliRunner().invoke(main, ["explain", *arguments, *FILES])
    assert answer in " ".join(result.output.split())
