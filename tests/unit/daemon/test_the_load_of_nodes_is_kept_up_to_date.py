"""The part of the daemon that asks for the load of nodes: when, what it says of failures, and when it gives up hope."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from tests.support.registries import checked_registry
from tests.support.sessions import node
from tests.unit.cluster.fakes import PATIENCE, FakeApi, FakeClock, Reply, kubeconfig, page, refusal
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.paths import metric_of_nodes
from volcano_py.cluster.load.custom_metrics import CPU, MEMORY
from volcano_py.cluster.load.metrics_server import PATH
from volcano_py.config import SchedulerConfiguration
from volcano_py.config.defaults import default_configuration_text
from volcano_py.config.parse import parse_configuration
from volcano_py.daemon.node_load import NodeLoad
from volcano_py.observe.metrics.intake import IntakeMetrics
from volcano_py.state.cluster_state import ClusterState


def configured(metrics: str) -> SchedulerConfiguration | None:
    text = default_configuration_text() + (f"metrics: {metrics}\n" if metrics else "")
    return parse_configuration(text, checked_registry().catalogue()).config


class Bench:
    """A reader over a fake API server; time stands still until `after`."""

    def __init__(self, api: FakeApi, client: KubernetesClient) -> None:
        self.api = api
        self.clock = FakeClock()
        self.state = ClusterState()
        self.state.upsert("Node", node("n1", cpu="4"))
        self.configuration = configured("{type: metrics-server, interval: 10s}")
        self.metrics = CollectorRegistry()
        self.task: asyncio.Task[None] | None = None
        self.load = NodeLoad(
            client,
            self.state,
            configuration=lambda: self.configuration,
            metrics=IntakeMetrics(self.metrics),
            clock=self.clock,
        )

    def answers(self, *replies: Reply) -> None:
        self.api.on("GET", PATH, *replies)

    async def after(self, seconds: float) -> None:
        """Let time pass, and whatever that started end."""
        if self.task is None:
            self.task = asyncio.create_task(self.load.run())
        await self.clock.advance(seconds)
        async with asyncio.timeout(PATIENCE):
            while not self.clock.asleep:  # noqa: ASYNC110 - the answer of a socket has no event
                await asyncio.sleep(0.001)

    def count(self, outcome: str) -> float:
        return self.metrics.get_sample_value("volcano_node_load_reads_total", {"outcome": outcome}) or 0.0


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    api = FakeApi()
    await api.start()
    async with await KubernetesClient.connect(kubeconfig(tmp_path / "kubeconfig", api.url)) as client:
        made = Bench(api, client)
        yield made
        if made.task is not None:
            made.task.cancel()
            await asyncio.gather(made.task, return_exceptions=True)
    await api.stop()


def measured(cpu: str) -> Reply:
    item: dict[str, Any] = {"metadata": {"name": "n1"}, "timestamp": "2026-11-21T09:30:00Z", "usage": {"cpu": cpu}}
    return page(1, item)


async def test_what_is_read_is_in_the_next_snapshot(bench: Bench) -> None:
    bench.answers(measured("1"), measured("3"))
    await bench.after(0)
    assert bench.state.snapshot(0).loads["n1"].cpu == 0.25
    await bench.after(10)
    assert bench.state.snapshot(0).loads["n1"].cpu == 0.75
    assert bench.count("read") == 2
    last = bench.metrics.get_sample_value("volcano_node_load_last_read_timestamp_seconds")
    assert last == bench.clock.now().timestamp()
    assert bench.load.status() == {
        "source": "metrics-server",
        "nodes": 1,
        "lastRead": last,
        "stale": False,
        "problem": "",
    }


async def test_a_failure_is_reported_once_and_its_end_too(bench: Bench) -> None:
    bench.answers(measured("1"), refusal(403, "Forbidden"), refusal(403, "Forbidden"), measured("1"))
    with capture_logs() as logs:
        for seconds in (0, 10, 10, 10):
            await bench.after(seconds)
    assert [entry["event"] for entry in logs if "load" in entry["event"]] == [
        "node load could not be read",
        "node load readable again",
    ]
    assert (bench.count("read"), bench.count("failed")) == (2, 2)


async def test_outdated_load_is_reported(bench: Bench) -> None:
    bench.answers(measured("1"), *[refusal(404, "NotFound")] * 40)
    with capture_logs() as logs:
        await bench.after(0)
        for _ in range(32):
            await bench.after(10)
    stale = [entry for entry in logs if "too old" in entry["event"]]
    assert [(entry["log_level"], entry["problem"]) for entry in stale] == [
        ("warning", "the cluster has no metrics.k8s.io API; install metrics-server")
    ]
    status = bench.load.status()
    assert status is not None
    assert status["stale"] is True
    assert "install metrics-server" in status["problem"]


async def test_without_a_source_no_request_is_sent_until_there_is_one(bench: Bench) -> None:
    bench.configuration = configured("")
    await bench.after(60)
    assert bench.load.status() is None
    assert bench.api.requests == []
    bench.answers(measured("2"))
    bench.configuration = configured("{type: metrics-server, interval: 1h}")
    await bench.after(5)
    assert bench.state.snapshot(0).loads["n1"].cpu == 0.5


async def test_another_source_is_asked_at_once_and_not_when_the_old_one_is_due(bench: Bench) -> None:
    bench.configuration = configured("{type: metrics-server, interval: 30m}")
    bench.answers(measured("1"), measured("2"), measured("3"))
    await bench.after(0)
    await bench.after(29 * 60)
    assert bench.count("read") == 1, "nothing has changed"
    bench.configuration = configured("{type: metrics-server, interval: 20s}")
    await bench.after(5)
    assert bench.state.snapshot(0).loads["n1"].cpu == 0.5
    await bench.after(20)
    assert bench.count("read") == 3


@pytest.mark.parametrize("name", ["prometheus_adaptor", "prometheus_adapt"])
async def test_both_names_of_the_adaptor_mean_the_custom_metrics_api(bench: Bench, name: str) -> None:
    bench.configuration = configured(f"{{type: {name}}}")
    item = {"describedObject": {"name": "n1"}, "timestamp": "2026-11-21T09:30:00Z", "value": "250m"}
    for metric in (CPU, MEMORY):
        bench.api.on("GET", metric_of_nodes("v1beta2", metric), page(1, item))
    await bench.after(0)
    assert bench.state.snapshot(0).loads["n1"].cpu == 0.25
    status = bench.load.status()
    assert status is not None
    assert (status["source"], status["problem"]) == (name, "")


async def test_no_password_is_in_the_log_or_the_status(bench: Bench) -> None:
    address = "http://127.0.0.1:9"  # nothing answers there
    bench.configuration = configured(
        f"{{type: elasticsearch, address: '{address}', elasticsearch.username: me, elasticsearch.password: hunter2}}"
    )
    with capture_logs() as logs:
        await bench.after(0)
    assert bench.count("failed") == 1
    assert "hunter2" not in str(logs) + str(bench.load.status())


async def test_a_source_that_cannot_be_used_is_reported_and_tried_again(bench: Bench) -> None:
    bench.configuration = configured("{type: prometheus, address: 'prometheus:9090'}")
    with capture_logs() as logs:
        await bench.after(0)
        await bench.after(30)
    assert bench.count("failed") == 2
    problems = {entry.get("problem", "") for entry in logs if "load" in entry["event"]}
    assert any("write one such as http://prometheus:9090" in problem for problem in problems)
