"""Pods of a gang that lacks others start a cycle at the pace of statuses, where a plugin refuses such gangs."""

from __future__ import annotations

import pytest

from tests.support.sessions import gang, pod, pod_group
from tests.unit.daemon.cycling import REGISTRY, Bench
from volcano_py.api.effects import PodGroupStatusUpdate
from volcano_py.config.parse import parse_configuration
from volcano_py.daemon.cycles import DECISIVE_PAUSE, STATUS_PAUSE
from volcano_py.state.table.change import Change

WITHOUT_GANG = """
actions: "enqueue, allocate"
tiers:
- plugins:
  - name: priority
  - name: predicates
"""


@pytest.fixture
async def quiet(bench: Bench) -> Bench:
    """A PodGroup for three pods has been admitted, and its phase was written."""
    bench.put(pod_group("g", min_member=3, phase="Inqueue"))
    await bench.after(2 * STATUS_PAUSE)
    bench.reports.clear()
    bench.sent.clear()
    return bench


def messages(bench: Bench) -> list[str]:
    """What was written about PodGroups that wait."""
    updates = [effect for effect in bench.sent if isinstance(effect, PodGroupStatusUpdate)]
    return [condition.message for update in updates for condition in update.conditions]


async def test_the_first_pods_start_no_cycle_at_once(quiet: Bench) -> None:
    quiet.put(pod("g-0", group="g", cpu="1"))
    await quiet.after(STATUS_PAUSE / 2)
    quiet.put(pod("g-1", group="g", cpu="1"))
    assert await quiet.after(STATUS_PAUSE / 3) == 0


async def test_the_pod_that_completes_the_gang_does(quiet: Bench) -> None:
    for name in ("g-0", "g-1"):
        quiet.put(pod(name, group="g", cpu="1"))
        await quiet.after(STATUS_PAUSE / 4)
    quiet.put(pod("g-2", group="g", cpu="1"))
    assert await quiet.after(DECISIVE_PAUSE) == 1
    assert sorted(quiet.binds) == ["g-0", "g-1", "g-2"]


async def test_why_the_gang_waits_is_written_at_the_pace_of_statuses(quiet: Bench) -> None:
    quiet.put(pod("g-0", group="g", cpu="1"))
    await quiet.after(STATUS_PAUSE + DECISIVE_PAUSE)
    assert quiet.decided() == [True]
    (message,) = messages(quiet)
    assert "1 pod of this scheduler exists, minMember is 3" in message


async def test_a_cycle_for_something_else_sees_them_too(quiet: Bench) -> None:
    quiet.put(pod("g-0", group="g", cpu="1"), *gang("other", cpu="1"))
    assert await quiet.after(DECISIVE_PAUSE) == 1
    assert messages(quiet)
    assert await quiet.after(60) == 1, "nothing is left to look at"


async def test_with_statuses_that_wait_as_long_there_is_one_cycle_and_it_decides(quiet: Bench) -> None:
    quiet.put(pod("g-0", group="g", cpu="1"))
    quiet.wakeup.wake(Change.STATUS)
    await quiet.after(STATUS_PAUSE + DECISIVE_PAUSE)
    assert quiet.decided() == [True]


async def test_pods_beyond_the_minimum_are_decided_at_once(quiet: Bench) -> None:
    quiet.put(*(pod(f"g-{index}", group="g", cpu="1") for index in range(3)))
    await quiet.after(DECISIVE_PAUSE)
    quiet.put(pod("g-3", group="g", cpu="1"))
    await quiet.after(DECISIVE_PAUSE)
    assert "g-3" in quiet.binds


async def test_without_the_gang_plugin_each_pod_is_decided_at_once(quiet: Bench) -> None:
    quiet.configuration = parse_configuration(WITHOUT_GANG, REGISTRY.catalogue()).config
    quiet.put(pod("g-0", group="g", cpu="1"))
    assert await quiet.after(DECISIVE_PAUSE) == 1
    assert quiet.binds == {"g-0": "n1"}


async def test_what_waits_is_decided_when_the_gang_plugin_is_configured_no_more(quiet: Bench) -> None:
    quiet.put(pod("g-0", group="g", cpu="1"))
    await quiet.after(STATUS_PAUSE / 2)
    quiet.configuration = parse_configuration(WITHOUT_GANG, REGISTRY.catalogue()).config
    quiet.wakeup.wake(Change.DECISION)
    assert await quiet.after(DECISIVE_PAUSE) == 1
    assert quiet.binds == {"g-0": "n1"}


async def test_pods_that_came_while_another_replica_led_are_decided(quiet: Bench) -> None:
    quiet.active = False
    quiet.put(pod("g-0", group="g", cpu="1"))
    assert await quiet.after(60) == 0
    quiet.active = True
    quiet.wakeup.wake(Change.STATUS)
    await quiet.after(STATUS_PAUSE + DECISIVE_PAUSE)
    assert quiet.decided() == [True]
    assert messages(quiet)
