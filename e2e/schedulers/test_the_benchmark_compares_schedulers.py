"""`volcano-py bench` on an API server of its own: everything signs in as in a real cluster."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

# So that it is left out on a foreign cluster, where there may be no binaries for one of our own.
pytestmark = pytest.mark.usefixtures("control_plane")

PODS = 40


async def bench(*arguments: str) -> tuple[bytes, bytes]:
    """What `volcano-py bench` prints to its standard output and its standard error."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "volcano_py", "bench", *arguments, "--output=json",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        printed, reported = await process.communicate()
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
    assert process.returncode == 0, reported.decode()
    return printed, reported


async def test_each_scheduler_binds_the_same_load_with_its_own_rights() -> None:
    size = ("--nodes=10", f"--pods={PODS}", "--gang=20")
    peer = f"--peer={sys.executable} -m benchmarks.only_binds {{kubeconfig}}"
    printed, reported = await bench(*size, peer)
    for scheduler in ("kube-scheduler", "volcano-py", "peer"):
        assert f"round 1 of 1: {scheduler}, {PODS} pods in ".encode() in reported
    measured = json.loads(printed)
    assert measured["ceiling_pods_per_second"] > 0
    assert {run["scheduler"]: run["pods"] for run in measured["runs"]} == {
        "kube-scheduler": PODS, "volcano-py": PODS, "peer": PODS,
    }  # fmt: skip
    assert measured["times_as_fast_as_kube_scheduler"].keys() == {"volcano-py", "peer"}
    for run in measured["runs"]:
        assert 0 < run["p50_seconds"] <= run["p99_seconds"], run
        assert "bindings_throttled" not in run
        assert run["cpu_seconds"] > 0, run
        assert run["server_cpu_seconds"] > 0, run
        assert run["peak_rss_bytes"] > 0, run


async def test_pods_of_many_types_are_bound_and_a_peer_that_does_nothing_is_shown_with_its_log() -> None:
    peer = f"""--peer={sys.executable} -c "print('no kind HyperNode'); exit(3)" {{kubeconfig}}"""
    printed, _ = await bench("--load=mixed", "--nodes=60", f"--pods={PODS}", "--no-kube-scheduler", peer)
    ours, idle = json.loads(printed)["runs"]
    assert (ours["pods"], idle["pods"]) == (PODS, 0)
    assert "failure" not in ours
    assert "bound no pods" in idle["failure"]
    assert idle["failure"].endswith("no kind HyperNode")


async def test_strangers_are_measured_before_during_and_after_the_attack_of_a_tenant() -> None:
    printed, reported = await bench("--load=tenants", "--attack=soft-terms", "--nodes=5", "--seconds=1")
    assert b"soft-terms: pods p90 " in reported
    (attack,) = json.loads(printed)["attacks"]
    assert {"refused_requests", "lease_transitions", "restarts"} <= attack.keys()
    for phase in ("before", "control", "during", "steady", "after"):
        for probe in ("pods", "job"):
            latency = attack[phase][probe]
            assert latency["probes"] > 0
            assert latency["unbound"] == 0 or phase in ("during", "steady")
            assert 0 < latency["p50_seconds"] <= latency["p90_seconds"] <= latency["worst_seconds"]
    assert attack["during"]["write_p90_seconds"] > 0
    assert attack["during"]["rest_p90_seconds"] > 0
