"""Hot reload of the ConfigMap."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from e2e.conftest import SimulatedNodes
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import Daemon
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang

WITHOUT_GANG = """
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: predicates
  - name: nodeorder
"""

BROKEN = """
actions: "enqueue, alocate"
tiers:
- plugins:
  - name: gang
    enableJobOrder: perhaps
  - name: gnag
"""


async def test_an_edit_applies_at_the_next_cycle(
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
) -> None:
    """A gang that waits for its third pod's place is bound in part once the gang plugin is taken out."""
    pool = await simulated_nodes(1, cpu="4")
    await namespace.apply(gang("train", 3, cpu="2", node_selector=pool.selector))
    await namespace.wait_event("Unschedulable", "PodGroup/train", saying="Insufficient cpu")
    assert not any(each.node for each in await namespace.pods())

    await configure(WITHOUT_GANG)

    await namespace.wait_phases(Running=2, Pending=1)


async def test_a_broken_edit_keeps_the_last_good_configuration_and_says_so(
    namespace: Namespace,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    daemon: Daemon,
    configure: Callable[[str], Awaitable[None]],
) -> None:
    """All errors at once, with line and column: in an event on the ConfigMap, in a metric, in the log."""

    async def reported() -> set[str]:
        """The events that have been, by name and count; one of an earlier run says the same."""
        events = [each for each in await installed.events("volcano-system") if each.reason == "InvalidConfiguration"]
        expected = ("alocate", "gnag", "enableJobOrder", "line 2,", "line 6,")
        found = [each for each in events if all(word in each.message for word in expected)]
        return {f"{each.name} {each.raw.get('count')} {each.raw.get('series')}" for each in found}

    before = await reported()
    await configure(BROKEN)

    async def reported_again() -> None:
        assert await reported() - before

    await installed.eventually("an event about the broken edit, with all that is wrong", reported_again)
    await daemon.wait_metric("volcano_config_valid", 0)
    pool = await simulated_nodes(1)
    await namespace.apply(gang("train", 2, cpu="1", node_selector=pool.selector))
    await namespace.wait_phases(Running=2)
