"""What `--load tenants` makes of the audit log: latencies of gangs and Jobs before, during and after an attack."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError
from rich.console import Console

from volcano_py.bench import strangers
from volcano_py.bench.figures import AuditLog, Timeline
from volcano_py.bench.loads import tenant_load
from volcano_py.bench.loads.attacks import Edit, Manifest
from volcano_py.bench.loads.tenant_load import Measured, settled
from volcano_py.bench.news import News, news_of
from volcano_py.bench.strangers import Latency, Phase, Strangers, summary
from volcano_py.bench.tenants import Tenant
from volcano_py.cli.bench import tenant_table
from volcano_py.local.client import APIClient, APIError

TIMELINE = Timeline(
    # Probe 0 is a gang, probe 1 a Job, and so on in turn.
    created={"ns/probe-0-t-0": 100.0, "ns/probe-0-t-1": 100.5, "ns/probe-1-t-0": 101.5, "ns/probe-2-t-0": 103.0},
    bound={"ns/probe-0-t-0": 100.6, "ns/probe-0-t-1": 100.7, "ns/probe-1-t-0": 102.0, "ns/probe-1-t-1": 103.0},
    jobs={"ns/probe-1": 101.0, "ns/probe-3": 104.0},
    writes={"ns/probe-0-t-0": 0.01, "ns/probe-0-t-1": 0.03, "ns/probe-1-t-0": 9.0},
)
SEEN = {"ns/probe-0-t-0": 100.1, "ns/probe-0-t-1": 100.45, "ns/probe-1-t-0": 109.0}
"""The news of one pod came before the answer to whoever created it."""


def test_a_gang_counts_from_its_last_pod_and_a_job_from_the_job() -> None:
    phase = summary(TIMELINE, SEEN, "ns", range(2), now=200.0)
    assert phase.latency["pods"].worst == pytest.approx(0.2)
    assert phase.latency["job"].worst == pytest.approx(2.0)
    assert [phase.latency[probe].unbound for probe in ("pods", "job")] == [0, 0]


def test_what_is_not_bound_has_waited_until_now() -> None:
    phase = summary(TIMELINE, SEEN, "ns", range(2, 6), now=110.0)
    # Probe 2 lacks a pod and probe 4 all of them: nothing of it was created.
    assert phase.latency["pods"] == Latency(2, 2, 0.0, 0.0, 0.0)
    assert phase.latency["job"] == Latency(2, 2, 3.0, 5.4, 6.0)


def test_how_long_a_write_takes_is_read_off_the_strangers_own_pods() -> None:
    assert summary(TIMELINE, SEEN, "ns", range(2), now=200.0).write_p90 == pytest.approx(0.028)
    assert summary(TIMELINE, SEEN, "ns", range(4, 6), now=200.0).write_p90 == 0.0


def test_the_api_servers_part_is_reported_from_the_schedulers() -> None:
    phase = summary(TIMELINE, SEEN, "ns", range(2), now=200.0)
    assert phase.news_p90 == pytest.approx(0.09)  # of 0.1 and 0
    assert phase.rest_p90 == pytest.approx(0.25)  # from 100.45, when the last of both was seen, to 100.7


def test_a_pod_that_no_watch_has_shown_is_late_news_and_nobody_elses_fault() -> None:
    phase = summary(TIMELINE, {}, "ns", range(2), now=110.0)
    assert phase.news_p90 == pytest.approx(9.95)  # of 10 and 9.5
    assert phase.rest_p90 == 0.0


def test_jobs_and_the_time_of_writes_are_read_from_the_audit_log(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    path.write_text(
        '{"stage":"ResponseComplete","verb":"create","requestReceivedTimestamp":"1970-01-01T00:00:01Z",'
        '"stageTimestamp":"1970-01-01T00:00:01.250000Z","responseStatus":{"code":201},'
        '"objectRef":{"resource":"pods","namespace":"ns","name":"a"}}\n'
        '{"stage":"ResponseComplete","verb":"create","stageTimestamp":"1970-01-01T00:00:02Z",'
        '"responseStatus":{"code":201},"objectRef":{"resource":"jobs","namespace":"ns","name":"j"}}\n'
    )
    timeline = AuditLog(path).timeline("ns")
    assert timeline == Timeline({"ns/a": 1.25}, {}, {"ns/j": 2.0}, {"ns/a": 0.25})


def phase(p90: float, unbound: int = 0) -> Phase:
    return Phase({probe: Latency(4, unbound, p90 / 2, p90, 2 * p90) for probe in ("pods", "job")}, 0.01, 0.03, 0.02)


def measured() -> Measured:
    return Measured(
        attack="misfits", title="2,000 pods", before=phase(0.1), control=phase(0.2), during=phase(0.4, unbound=3),
        steady=phase(0.2), after=phase(0.1), settling=21.5, edits_per_second=49.5, refused=7, lease_transitions=2,
        restarts=1,
    )  # fmt: skip


def test_the_table_shows_each_kind_of_probe_and_what_became_of_the_lease() -> None:
    console = Console(file=io.StringIO(), width=190)
    console.print(tenant_table([measured()], "title"))
    assert isinstance(console.file, io.StringIO)
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in console.file.getvalue().splitlines()]
    quiet, steady, during = "0.05 / 0.10 / 0.20", "0.10 / 0.20 / 0.40", "0.20 / 0.40 / 0.80"
    assert [row for row in rows if row] == [
        ["misfits", probe, quiet, steady, during, steady, quiet, "4.0", "2.0", "3", "0.01 / 0.03 / 0.02", "2"]
        for probe in ("pods", "job")
    ]


def test_the_output_for_programs_has_all_figures() -> None:
    reported = measured().as_json()
    assert reported["times_as_long"] == {"pods": 4.0, "job": 4.0}
    assert reported["times_as_long_as_control"] == {"pods": 2.0, "job": 2.0}
    assert reported["during"]["job"] == {
        "probes": 4, "unbound": 3, "p50_seconds": 0.2, "p90_seconds": 0.4, "worst_seconds": 0.8,
    }  # fmt: skip
    assert (reported["steady"]["pods"]["p90_seconds"], reported["settling_seconds"]) == (0.2, 21.5)
    assert reported["edits_per_second"] == 49.5
    assert (reported["refused_requests"], reported["lease_transitions"], reported["restarts"]) == (7, 2, 1)


class Server(APIClient):
    """Takes all but what is called `bad`."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))
        self.paths: list[str] = []

    async def create(self, path: str, body: Any) -> Any:
        self.paths.append(path)
        if body["metadata"]["name"] == "bad":
            raise APIError("POST", path, 422, "Invalid", "no")

    async def merge_patch(self, path: str, body: Any) -> Any:
        self.paths.append(path)


def pod(name: str) -> Manifest:
    return {"kind": "Pod", "metadata": {"name": name}}


async def test_what_the_api_server_refuses_is_counted_and_the_rest_is_created() -> None:
    server = Server()
    attacker = Tenant("ns", server)
    await attacker.create([pod("a"), pod("bad"), pod("b")])
    assert (attacker.refused, server.paths) == (1, ["/api/v1/namespaces/ns/pods"] * 3)


async def test_edits_are_sent_until_they_end() -> None:
    server = Server()
    async with asyncio.timeout(5):
        await Tenant("ns", server).edit(iter([Edit("Pod", "a", {}), Edit("Pod", "b", {})]), 1000.0)
    assert server.paths == ["/api/v1/namespaces/ns/pods/a", "/api/v1/namespaces/ns/pods/b"]


class Slow(Server):
    """Answers edits once it is allowed to; one of what is called `bad`, with an error."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()

    async def merge_patch(self, path: str, body: Any) -> Any:
        await super().merge_patch(path, body)
        await self.may_answer.wait()
        if path.endswith("/bad"):
            raise APIError("PATCH", path, 409, "Conflict", "no")


async def test_an_object_is_edited_again_once_the_api_server_has_answered() -> None:
    server = Slow()
    attacker = Tenant("ns", server)
    edits = iter([Edit("Pod", name, {}) for name in ("a", "bad", "a", "b")])
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(attacker.edit(edits, 1000.0))
        await asyncio.sleep(0.05)
        sent = [path.rpartition("/")[2] for path in server.paths]
        server.may_answer.set()
    assert sent == ["a", "bad"]
    assert [path.rpartition("/")[2] for path in server.paths] == ["a", "bad", "a", "b"]
    assert (attacker.edited, attacker.refused) == (3, 1)


class Controlled(APIClient):
    """Two Jobs. Whenever objects are read, a controller has given each Job a pod, and each pod a PodGroup."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))
        self.there = {"jobs": {"a", "b"}, "pods": {"c"}, "podgroups": set[str]()}
        self.deletions = 0

    async def get(self, path: str, **query: str) -> Any:
        self.there["pods"] |= self.there["jobs"]
        self.there["podgroups"] |= self.there["pods"]
        return {"items": sorted(self.there[path.rpartition("/")[2]])}

    async def delete(self, path: str, body: Any = None, **query: str) -> Any:
        self.deletions += 1
        assert self.deletions < 10, "this has no end"
        self.there[path.rpartition("/")[2]].clear()


async def test_what_controllers_create_again_is_deleted_after_what_they_create_it_for() -> None:
    server = Controlled()
    await Tenant("ns", server).clear()
    assert not any(server.there.values())
    assert server.deletions == 3


class Watched(APIClient):
    """Each watch shows what comes next of `events`, and ends or fails then."""

    def __init__(self, *events: list[tuple[str, str, str]]) -> None:
        super().__init__(Path("/nowhere"))
        self.asked: list[str] = []
        self._events = list(events)
        self.at_end = asyncio.Event()

    async def watch(self, path: str, **query: str) -> AsyncGenerator[Any, None]:
        assert path == "/api/v1/namespaces/ns/pods"
        self.asked.append(query["resourceVersion"])
        if not self._events:
            self.at_end.set()
            await asyncio.Event().wait()
        for kind, name, version in self._events.pop(0):
            if kind == "lost":
                raise ClientError
            yield {"type": kind, "object": {"metadata": {"name": name, "resourceVersion": version}}}


async def test_news_go_on_where_a_watch_ended_and_from_the_beginning_when_that_is_forgotten() -> None:
    server = Watched([("ADDED", "a", "5"), ("MODIFIED", "a", "7")], [("lost", "", "")], [("ERROR", "", "")], [])
    async with asyncio.timeout(10), news_of(server, "ns") as news:
        await server.at_end.wait()
        assert news.seen.keys() == {"ns/a"}
    assert server.asked == ["0", "7", "7", "0", "0"]


class Binding(APIClient):
    """A cluster in which every pod is bound in 0.1 s; from the third object on, in 0.3 s, when `full` is set."""

    def __init__(self, full: asyncio.Event) -> None:
        super().__init__(Path("/nowhere"))
        self.full = full
        self.created: dict[str, float] = {}
        self.bound: dict[str, float] = {}
        self.jobs: dict[str, float] = {}

    async def create(self, path: str, body: Any) -> Any:
        name = f"ns/{body['metadata']['name']}"
        if body["kind"] == "PodGroup":
            return
        pods = [name] if body["kind"] == "Pod" else [f"{name}-t-0", f"{name}-t-1"]
        self.jobs[name] = 100.0
        for pod in pods:
            self.created[pod] = 100.0
            self.bound[pod] = 100.3 if self.full.is_set() else 100.1
        if len(self.created) >= 4:
            self.full.set()


class Bindings(AuditLog):
    def __init__(self, cluster: Binding) -> None:
        super().__init__(Path("/nowhere"))
        self._cluster = cluster

    def timeline(self, namespace: str) -> Timeline:
        assert namespace == "ns"
        return Timeline(self._cluster.created, self._cluster.bound, self._cluster.jobs)


async def test_a_phase_goes_on_for_its_time_after_all_was_created(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strangers, "_EVERY", 0.001)
    cluster = Binding(asyncio.Event())
    others = Strangers(Tenant("ns", cluster), Bindings(cluster), News())
    async with asyncio.timeout(10):
        during = await others.phase(0.05, cluster.full)
    for probe in ("pods", "job"):
        assert during.latency[probe].probes > 1
        assert during.latency[probe].worst == pytest.approx(0.3)


class Written(AuditLog):
    """The scheduler wrote something new at each of these moments, and was asked about it before each."""

    def __init__(self, *moments: float) -> None:
        super().__init__(Path("/nowhere"))
        self._moments = list(moments)

    def last_first_write(self, namespace: str) -> float:
        assert namespace == "ns"
        return self._moments.pop(0) if len(self._moments) > 1 else self._moments[0]


async def test_the_steady_state_begins_when_the_scheduler_writes_nothing_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_load, "_LOOK_AGAIN", 0.001)
    now = time.time()
    log = Written(now, now + 1, now + 2, now - 60)
    async with asyncio.timeout(10):
        assert await settled(log, "ns") == now - 60
