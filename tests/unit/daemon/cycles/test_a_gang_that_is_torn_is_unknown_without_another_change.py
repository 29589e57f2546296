"""A PodGroup of which some pods run though others are missing is Unknown: Jobs have policies for that."""

from __future__ import annotations

from tests.support.sessions import gang
from tests.unit.daemon.cycling import Bench, phases
from tests.unit.state.watched import as_status, on
from volcano_py.api.objects import Pod
from volcano_py.daemon.cycles import DECISIVE_PAUSE, STATUS_PAUSE


async def test_also_if_its_pod_starts_to_run_after_another_was_deleted(bench: Bench) -> None:
    """That a pod runs is no reason to decide anything."""
    group, *members = gang("g", pods=2, cpu="1")
    stays, goes = (on(each, "n1") for each in members if isinstance(each, Pod))
    bench.put(group, stays, goes)
    bench.state.delete("Pod", goes)
    await bench.after(DECISIVE_PAUSE)
    bench.put(as_status(stays, "Running"))
    await bench.after(2 * STATUS_PAUSE)
    assert phases(bench) == ["Inqueue", "Unknown"]


async def test_also_if_the_pod_that_was_deleted_had_ended(bench: Bench) -> None:
    group, *members = gang("g", pods=2, cpu="1")
    runs, ended = (on(each, "n1", "Running") for each in members if isinstance(each, Pod))
    ended = as_status(ended, "Succeeded")
    bench.put(group, runs, ended)
    await bench.after(STATUS_PAUSE)
    assert phases(bench)[-1] == "Running"
    bench.state.delete("Pod", ended)
    await bench.after(STATUS_PAUSE)
    assert phases(bench) == ["Running", "Unknown"]
