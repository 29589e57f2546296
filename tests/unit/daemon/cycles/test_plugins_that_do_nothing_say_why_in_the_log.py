"""What a plugin says about a cycle in which it did nothing is logged, and logged again only if it changes."""

from __future__ import annotations

from structlog.testing import capture_logs

from tests.support.sessions import gang, node, queue
from tests.unit.daemon.cycling import REGISTRY, Bench
from volcano_py.config import parse_configuration
from volcano_py.state.nodes.loads import Load

RESCHEDULING = """
actions: "enqueue, allocate, shuffle"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: usage}]
- plugins:
  - name: rescheduling
    arguments:
      interval: 1s
      strategies: [{name: lowNodeUtilization, params: {thresholds: {cpu: 20}, targetThresholds: {cpu: 60}}}]
"""


async def test_each_reason_is_logged_once(bench: Bench) -> None:
    bench.configuration = parse_configuration(RESCHEDULING, REGISTRY.catalogue()).config
    with capture_logs() as logs:
        bench.put(queue("default"), node("a", cpu="10"), *gang("web", cpu="1", running_on=["a"]))
        await bench.after(2)
        for part in (0.8, 0.81, 0.3, 0.31):
            bench.state.measured({"a": Load(part, part, bench.now)})
            await bench.after(2)
    said = [(entry["plugin"], entry["why"]) for entry in logs if entry["event"] == "plugin did nothing"]
    assert [plugin for plugin, _ in said] == ["rescheduling"] * 3
    assert [why.partition(" ")[0] for _, why in said] == ["the", "none", "no"]
