"""`bench --bound`: how many pods are bound before the scheduler starts."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from volcano_py.bench.contenders import Contender
from volcano_py.bench.loads.workload import Workload
from volcano_py.bench.run import BOUND, run_load
from volcano_py.cli.main import main


class Asked:
    """Stands for the loads."""

    def __init__(self) -> None:
        self.bound: list[int | None] = []

    async def _note(self, *_: object, bound: int | None = None, **__: object) -> None:
        self.bound.append(bound)

    arrival = restart = rest = backlog = mixed = _note


@pytest.mark.parametrize("load", ["backlog", "mixed", "arrival", "bare", "restart", "rest"])
@pytest.mark.parametrize("asked", [None, 0, 100_000])
async def test_a_load_has_its_own_number_unless_another_is_asked_for(
    load: str, asked: int | None, tmp_path: Any
) -> None:
    loads: Any = Asked()
    contender = Contender("any", "volcano", ("true",), tmp_path)
    await run_load(loads, load, contender, Workload(nodes=1, pods=1), rate=1.0, bound=asked)
    expected = None if load not in BOUND else BOUND[load] if asked is None else asked
    assert loads.bound == [expected]


@pytest.mark.parametrize("arguments", [["--load=backlog"], ["--mode=decide", "--load=backlog"], ["--load=tenants"]])
def test_loads_without_such_pods_refuse_it(arguments: list[str]) -> None:
    refused = CliRunner().invoke(main, ["bench", *arguments, "--bound=5"])
    assert refused.exit_code == 2
    assert "--bound is for --mode api with --load arrival, restart, rest" in refused.output
