"""A PodGroup whose gang is being bound is not written as waiting, unless the bindings fail."""

from __future__ import annotations

from tests.support.sessions import gang
from tests.unit.daemon.cycling import Bench, phases
from tests.unit.state.watched import on
from volcano_py.api.effects import PodGroupStatusUpdate
from volcano_py.api.objects import Pod
from volcano_py.daemon.cycles import DECISIVE_PAUSE, STATUS_PAUSE


async def test_a_controller_that_recreates_pods_after_admission_is_notified(bench: Bench) -> None:
    """Its pods were deleted just when they were bound; without the status their controller would wait forever."""
    group, *members = gang("g", pods=2, cpu="1", group_phase="Pending")
    bench.put(group, *members)
    await bench.after(DECISIVE_PAUSE)
    assert (len(bench.binds), phases(bench)) == (2, [])
    for each in members:
        bench.state.delete("Pod", each)
    await bench.after(DECISIVE_PAUSE)
    assert phases(bench) == ["Inqueue"]


async def test_slow_bindings_are_not_reported(bench: Bench) -> None:
    bench.put(*gang("g", pods=2, cpu="1", group_phase="Pending"))
    await bench.after(DECISIVE_PAUSE)
    bench.put(*gang("other", cpu="1", group_phase="Running", running_on=["n1"]))
    await bench.after(1.0)
    assert phases(bench) == ["Running"], "that of the other one"


async def test_an_unbindable_job_is_still_reported_as_admitted(bench: Bench) -> None:
    bench.put(*gang("g", cpu="1", group_phase="Pending"))
    await bench.after(DECISIVE_PAUSE)
    (bind,) = bench.bound
    bench.state.bind_failed(bind.pod.uid, retry_at=bench.now + 60.0)
    await bench.after(DECISIVE_PAUSE)
    assert phases(bench) == ["Inqueue"]


async def test_that_a_gang_is_scheduled_is_reported_however_long_its_binding_took(bench: Bench) -> None:
    group, member = gang("g", cpu="1", group_phase="Pending")
    bench.put(group, member)
    await bench.after(DECISIVE_PAUSE)
    await bench.after(60.0)
    assert isinstance(member, Pod)
    bench.put(on(member, "n1", "Running"))
    await bench.after(STATUS_PAUSE + DECISIVE_PAUSE)
    (reported,) = (effect for effect in bench.sent if isinstance(effect, PodGroupStatusUpdate))
    assert (reported.phase, [each.type for each in reported.conditions]) == ("Running", ["Scheduled"])
