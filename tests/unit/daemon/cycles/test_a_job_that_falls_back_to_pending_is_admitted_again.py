"""What a cycle writes about PodGroups may admit some: nothing else wakes the loop for that."""

from __future__ import annotations

from tests.support.sessions import pod, pod_group
from tests.unit.daemon.cycling import Bench, phases
from tests.unit.state.watched import on
from volcano_py.daemon.cycles import DECISIVE_PAUSE, STATUS_PAUSE


async def test_a_job_that_has_lost_its_pods_is_admitted_again(bench: Bench) -> None:
    """Otherwise the controller that recreates its pods would wait for it forever."""
    members = [on(pod(f"g-{index}", group="g", cpu="1"), "n1", "Running") for index in range(2)]
    bench.put(pod_group("g", min_member=2, phase="Running"), *members)
    await bench.after(STATUS_PAUSE + DECISIVE_PAUSE)
    for member in members:
        bench.state.delete("Pod", member)
    await bench.after(3 * DECISIVE_PAUSE)
    assert phases(bench)[-2:] == ["Pending", "Inqueue"]
    cycles = await bench.after(60)
    assert await bench.after(3600) == cycles


async def test_a_job_that_starts_with_a_pod_that_has_ended_makes_way_for_others(bench: Bench) -> None:
    """Running, it is promised no more than it holds."""
    ended, waits = pod("g-0", group="g", cpu="2", on="n1", phase="Succeeded"), pod("g-1", group="g", cpu="2")
    bench.put(pod_group("g", min_member=2, min_resources={"cpu": "4"}), ended, waits)
    bench.put(pod_group("next", min_resources={"cpu": "2"}, phase="Pending"))
    await bench.after(STATUS_PAUSE)
    assert (bench.binds, phases(bench)) == ({"g-1": "n1"}, ["Pending"])
    bench.put(on(waits, "n1", "Running"))
    await bench.after(STATUS_PAUSE + 2 * DECISIVE_PAUSE)
    assert phases(bench) == ["Pending", "Running", "Inqueue"]


async def test_a_job_that_has_started_makes_no_cycle(bench: Bench) -> None:
    member = pod("g-0", group="g", cpu="2")
    bench.put(pod_group("g", min_resources={"cpu": "2"}, phase="Pending"), member)
    await bench.after(DECISIVE_PAUSE)
    bench.put(on(member, "n1", "Running"))
    await bench.after(3600)
    assert phases(bench)[-1] == "Running"
    assert bench.decided() == [True, False]
