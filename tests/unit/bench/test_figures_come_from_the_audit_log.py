"""When pods were created and bound, as the API server wrote it down; and what is made of it."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner

from volcano_py.bench.figures import AuditLog, Run, cpu_seconds, peak_rss, percentiles
from volcano_py.bench.run import Comparison
from volcano_py.cli.bench import bench


def entry(moment: float, name: str, subresource: str = "", **more: Any) -> bytes:
    line = {
        "stage": "ResponseComplete",
        "verb": "create",
        "stageTimestamp": datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z"),
        "objectRef": {"resource": "pods", "namespace": "ns", "name": name, "subresource": subresource},
        "responseStatus": {"code": 201},
    }
    return orjson.dumps(line | more) + b"\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "audit.log"


def test_latency_is_from_created_to_bound(path: Path) -> None:
    path.write_bytes(entry(100, "a") + entry(101, "b") + entry(102.5, "a", "binding") + entry(105, "b", "binding"))
    timeline = AuditLog(path).timeline("ns")
    assert sorted(timeline.latencies()) == [2.5, 4]
    assert (timeline.first_bound, timeline.last_bound) == (102.5, 105)


def test_the_log_is_read_on_from_where_it_ended_even_in_the_middle_of_a_line(path: Path) -> None:
    log = AuditLog(path)
    assert log.bound("ns") == 0
    line = entry(100, "a", "binding")
    path.write_bytes(line + line[:20])
    assert log.bound("ns") == 1
    with path.open("ab") as file:
        file.write(entry(101, "b", "binding")[20:])
    assert log.bound("ns") == 2


@pytest.mark.parametrize(
    "other",
    [
        entry(100, "a", "binding", verb="patch"),
        entry(100, "a", "binding", stage="RequestReceived"),
        entry(100, "a", "binding", responseStatus={"code": 409}),
        entry(100, "a", "eviction"),
        entry(100, "a", "binding", objectRef={"resource": "pods", "namespace": "ns2", "name": "a"}),
    ],
)
def test_nothing_else_counts_as_a_binding(path: Path, other: bytes) -> None:
    path.write_bytes(other)
    assert AuditLog(path).bound("ns") == 0


def test_bindings_that_the_api_server_put_off_are_counted(path: Path) -> None:
    creation = entry(100, "a", responseStatus={"code": 429})
    path.write_bytes(creation + entry(100, "a", "binding", responseStatus={"code": 429}) + entry(101, "a", "binding"))
    log = AuditLog(path)
    assert (log.throttled("ns"), log.throttled("other"), log.bound("ns")) == (1, 0, 1)


def test_percentiles_of_nothing_are_zero() -> None:
    assert percentiles([]) == (0.0, 0.0)
    assert percentiles([1.0, 2.0, 3.0]) == pytest.approx((2.0, 2.98))


def test_a_process_is_read_from_proc() -> None:
    assert cpu_seconds(os.getpid()) > 0
    assert peak_rss(os.getpid()) > 2**20


def test_the_output_for_programs() -> None:
    run = Run("volcano-py", 10, 2.0, 5.0, 0.5, 0.9, 1.5, 2**20, {"first_binding_seconds": 0.25})
    assert Comparison((8.0, 12.0), (run,)).as_json() == {
        "ceiling_pods_per_second": 10.0,
        "runs": [
            {
                "scheduler": "volcano-py",
                "pods": 10,
                "seconds": 2.0,
                "pods_per_second": 5.0,
                "p50_seconds": 0.5,
                "p99_seconds": 0.9,
                "cpu_seconds": 1.5,
                "peak_rss_bytes": 2**20,
                "first_binding_seconds": 0.25,
            }
        ],
        "times_as_fast_as_kube_scheduler": {},
    }


def test_decide_mode_binds_every_pod_and_prints_the_same_fields() -> None:
    arguments = ["--mode", "decide", "--nodes", "5", "--pods", "20", "--gang", "4", "--output", "json"]
    result = CliRunner().invoke(bench, arguments)
    assert result.exit_code == 0, result.output
    reported = orjson.loads(result.output)
    assert reported["ceiling_pods_per_second"] is None
    (run,) = reported["runs"]
    assert (run["scheduler"], run["pods"]) == ("volcano-py", 20)
    assert run["pods_per_second"] > 0
    assert run["peak_rss_bytes"] > 0


def test_the_last_write_of_something_new_is_known_of_the_writer_alone(path: Path) -> None:
    me: dict[str, Any] = {"user": {"username": "scheduler"}}
    path.write_bytes(
        entry(100, "a", "status", verb="patch", **me)
        + entry(101, "a", verb="patch", **me)  # another subresource
        + entry(102, "a", "status", verb="patch", **me)  # again
        + entry(103, "b", "status", verb="get", **me)
        + entry(104, "b", "status", verb="patch", user={"username": "tenant"})
        + entry(105, "e", objectRef={"resource": "events", "namespace": "ns", "name": "e"}, **me)
        + entry(106, "c", objectRef={"resource": "pods", "namespace": "other", "name": "c"}, **me)
    )
    log = AuditLog(path, "scheduler")
    assert (log.last_first_write("ns"), log.last_first_write("other")) == (101, 106)
    assert log.last_first_write("nothing") == 0.0
