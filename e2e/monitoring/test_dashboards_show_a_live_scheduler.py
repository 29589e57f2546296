"""Every panel has numbers, as Prometheus sees two daemons with work; and every alert is evaluated."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from e2e.conftest import NodePool, SimulatedNodes, StartDaemon
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Jobs, job, task
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang, pod, pod_group, queue
from e2e.harness.preemption import PREEMPTING, URGENT
from e2e.harness.webhooks.admission import Door, answered
from e2e.monitoring.prometheus import Prometheus, Sample
from volcano_py.config import default_configuration_text
from volcano_py.local.binaries.binaries import ensure_binaries
from volcano_py.observe.monitoring.alerts import ALERTS, Severity
from volcano_py.observe.monitoring.boards import DASHBOARDS
from volcano_py.observe.monitoring.panels import Panel

CHOICES = {"$__rate_interval": "5m", "$queue": ".*", "$namespace": ".*", "$resource": "cpu"}

NONE_HERE = {
    "Jobs in the network, by tier",
    "Errors of plugins",
    "Errors of actions",
    "Evictions that failed",
    "Requests that failed",
    "Objects that could not be read",
    "Callers that were turned away",
}
"""What a healthy cluster without a network has none of: these panels show a line at 0."""


@pytest.fixture(scope="session")
def prometheus_binary() -> Path:
    """Built once, in four minutes, where the machine has none."""
    return ensure_binaries(["prometheus"])["prometheus"]


StartPrometheus = Callable[[dict[str, str]], Awaitable[Prometheus]]


@pytest_asyncio.fixture(loop_scope="session")
async def start_prometheus(prometheus_binary: Path, tmp_path: Path) -> AsyncIterator[StartPrometheus]:
    started: list[Prometheus] = []

    async def start(daemons: dict[str, str]) -> Prometheus:
        started.append(Prometheus(prometheus_binary, tmp_path, daemons))
        await started[-1].start()
        return started[-1]

    yield start
    for each in started:
        await each.stop()


def shown(query: str) -> str:
    """With what Grafana writes for its variables."""
    for variable, value in CHOICES.items():
        query = query.replace(variable, value)
    return query


def queries() -> Iterator[tuple[Panel, str]]:
    for dashboard in DASHBOARDS:
        for panel in dashboard.panels:
            for target in panel.targets:
                yield panel, shown(target.query)


def is_stand_in(samples: list[Sample]) -> bool:
    """Whether this is the line at 0 that says that there is nothing."""
    return len(samples) == 1 and samples[0].value == 0 and "none" in samples[0].labels.values()


async def work(namespace: Namespace, pool: NodePool, team: str) -> None:
    """A gang and a Job run; one gang waits for room, one is larger than any node."""
    await namespace.apply(gang("runs", 2, queue=team, cpu="1", node_selector=pool.selector))
    await namespace.apply(gang("waits", 4, queue=team, cpu="2", node_selector=pool.selector))
    await namespace.apply(gang("mistaken", 1, queue=team, cpu="64", node_selector=pool.selector))
    await namespace.apply(job("train", task("worker", 1, selector=pool.selector), queue=team, minAvailable=1))
    await namespace.wait_pod_group("runs", "Running")
    await Jobs(namespace).wait("train", "Running")
    await namespace.wait_pod_group("waits", "Inqueue")


async def test_no_panel_is_empty_and_every_alert_is_evaluated(
    namespace: Namespace,
    installed: Cluster,
    simulated_nodes: SimulatedNodes,
    create_queues: Callable[..., Awaitable[None]],
    configure: Callable[[str], Awaitable[None]],
    door: Door,
    start_daemon: StartDaemon,
    start_prometheus: StartPrometheus,
) -> None:
    await installed.apply([URGENT])
    await configure(PREEMPTING)
    leader = await start_daemon(*door.flags)
    await leader.wait_leading()
    follower = await start_daemon()
    prometheus = await start_prometheus({"leader": leader.url, "follower": follower.url})
    await answered(door)

    async def scraped() -> None:
        assert len(await prometheus.query("volcano_build_info")) == 2

    await installed.eventually("both daemons are scraped", scraped)

    # An eviction first; then the shipped configuration, with jobs that run and jobs that wait.
    victims = await simulated_nodes(1, cpu="2")
    await namespace.apply(gang("low", 1, cpu="2", node_selector=victims.selector))
    await namespace.wait_phases(Running=1)
    high = pod("high-0", group="high", cpu="2", priority_class="e2e-urgent", node_selector=victims.selector)
    await namespace.apply(pod_group("high", 1, priority_class="e2e-urgent"), high)
    await namespace.wait_pod_group("high", "Running")

    async def placed() -> None:
        """Before more is: rates are of what has changed since a scrape."""
        assert await prometheus.query("volcano_task_scheduling_duration_seconds_count > 0")

    await installed.eventually("the first placements are scraped", placed)
    await configure(default_configuration_text())
    team = f"team-{secrets.token_hex(2)}"
    await create_queues(queue(team))
    await work(namespace, await simulated_nodes(2, cpu="4"), team)

    async def every_panel_has_numbers() -> None:
        empty, stand_ins = [], set()
        for panel, query in queries():
            samples = await prometheus.query(query)
            if not any(sample.is_number for sample in samples):
                empty.append(f"{panel.title}: {query}: {samples}")
            elif is_stand_in(samples):
                stand_ins.add(panel.title)
        assert not empty, "\n".join(empty)
        assert stand_ins <= NONE_HERE, stand_ins - NONE_HERE

    await installed.eventually("every panel has numbers", every_panel_has_numbers)
    await installed.eventually("the numbers are those of the test", partial(_tells_what_happened, prometheus, team))
    await installed.eventually("every alert is evaluated", partial(_evaluates_every_alert, prometheus))


async def _tells_what_happened(prometheus: Prometheus, team: str) -> None:
    """Some of the numbers are those of the test."""
    panels = {panel.title: shown(panel.targets[0].query) for dashboard in DASHBOARDS for panel in dashboard.panels}

    async def by(title: str, label: str) -> dict[str, float]:
        return {each.labels[label]: each.value for each in await prometheus.query(panels[title])}

    assert (await by("Evictions by action", "action"))["preempt"] > 0
    reasons = await by("PodGroups that wait, by reason", "reason")
    assert (reasons["NeverFits"], reasons["NotEnoughTasks"]) == (1, 1), "the latter is the gang that was evicted"
    assert sum(reasons.values()) == 3, "and one waits for room"
    assert (await by("Held", "queue"))[team] == 3
    assert (await by("Held and asked for", "queue"))[team] == 3 + 8 + 64
    assert (await by("Which replica leads", "instance")) == {"leader": 1, "follower": 0}
    assert sum((await by("Longest wait, by queue", "queue")).values()) > 0
    assert (await by("Reviews", "outcome"))["allowed"] > 0
    assert min((await by("Memory", "instance")).values()) > 2**20


async def _evaluates_every_alert(prometheus: Prometheus) -> None:
    rules = await prometheus.rules()
    assert {rule["name"] for rule in rules} == {alert.name for alert in ALERTS}
    failed = [f"{rule['name']}: {rule.get('lastError')}" for rule in rules if rule["health"] != "ok"]
    assert not failed
    woken = {rule["name"] for rule in rules if rule["labels"]["severity"] == Severity.CRITICAL and rule["alerts"]}
    assert not woken, "nothing is wrong here"
    assert {rule["name"] for rule in rules if rule["alerts"]} >= {"VolcanoPyWillNotStart"}, "a gang is too large"
