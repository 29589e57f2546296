"""Out-of-tree code that fails: a plugin that raises for some pods, one that cannot be imported, an action that leaves.

They are installed the way pip leaves them, in a folder on the daemon's Python path.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang

MODULE = '''
from volcano_py.framework.action import Action
from volcano_py.framework.plugin import Plugin


class Quarrelsome(Plugin):
    """Refuses no node, but raises for pods that select nodes by a certain label."""

    name = "quarrelsome"

    def predicate(self, task_class, nodes):
        if "quarrel" in dict(task_class.node_selector):
            raise KeyError("zone")
        return nodes.rows * 0


class Brawl(Action):
    """Would end the process in each cycle."""

    name = "brawl"

    def execute(self, ssn):
        raise SystemExit("the plugin gave up")
'''

ENTRY_POINTS = """
[volcano_py.plugins]
quarrelsome = quarrelsome:Quarrelsome
nowhere = there_is_no_such_module:Plugin

[volcano_py.actions]
brawl = quarrelsome:Brawl
"""

CONFIGURATION = """
actions: "enqueue, brawl, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: quarrelsome
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that daemons started from now on import from."""
    folder = tmp_path / "site"
    info = folder / "quarrelsome-1.dist-info"
    info.mkdir(parents=True)
    (folder / "quarrelsome.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quarrelsome\nVersion: 1\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


async def test_it_is_named_and_what_it_does_not_decide_goes_on(
    site: Path,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    configure: Callable[[str], Awaitable[None]],
    start_daemon: StartDaemon,
) -> None:
    """Nothing is bound on account of a plugin that failed, and nothing else is held up."""
    pool = await simulated_nodes(1, cpu="8", labels={"quarrel": namespace.name})
    await configure(CONFIGURATION)
    daemon = await start_daemon()
    await namespace.apply(gang("held", 2, node_selector={"quarrel": namespace.name}))
    await namespace.apply(gang("fine", 2, node_selector=pool.selector, labels={"of": "fine"}))

    await namespace.wait_phases(selector="of=fine", Running=2)
    await namespace.wait_event("FailedScheduling", "Pod/held-0", saying="a plugin failed; see the scheduler's log")

    assert not any(each.node for each in await namespace.pods("of!=fine"))
    await daemon.wait_metric("volcano_plugin_errors_total", 1, or_more=True, plugin="quarrelsome")
    await daemon.wait_metric("volcano_action_errors_total", 1, or_more=True, action="brawl")

    async def logged() -> None:
        records = daemon.log_records()
        assert any(record.get("plugin") == "quarrelsome" and record.get("exception") for record in records)
        assert any(record.get("action") == "brawl" and record.get("level") == "error" for record in records)
        assert any("there_is_no_such_module" in str(record.get("entry_point")) for record in records)

    await daemon.eventually("the log names each of them", logged)
