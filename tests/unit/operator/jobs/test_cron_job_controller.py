"""The CronJob controller against an API server in memory, in virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.support.jobs.killable import EPOCH
from tests.support.jobs.maker_cluster import CRONS, JOBS, MakerCluster
from volcano_py.cluster.kubernetes.http.errors import UnreachableError, api_error
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.operator.jobs.cron_jobs import CronJobController
from volcano_py.operator.kube_api import Learn


def controller(cluster: MakerCluster, learn: Learn | None = None) -> CronJobController:
    return CronJobController(
        cluster.api,
        active=lambda: cluster.is_leading,
        record=cluster.events.append,
        learn=learn,
        now=lambda: cluster.now().timestamp(),
    )


def spec(schedule: str = "* * * * *", **more: Any) -> dict[str, Any]:
    return {"schedule": schedule, "jobTemplate": {"spec": {"tasks": [{"name": "work"}]}}, **more}


def due(minute: int) -> str:
    """Name of the Job of this minute after the start."""
    return f"tick-{int((EPOCH + timedelta(minutes=minute)).timestamp()) // 60}"


@pytest.fixture
async def cluster(api: Any) -> AsyncIterator[MakerCluster]:
    made = MakerCluster(api, controller)
    yield made
    await made.stop()


async def test_a_job_is_created_each_time_and_the_status_says_so(cluster: MakerCluster) -> None:
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(62)
    assert cluster.jobs() == {due(1): "Running"}
    status = cluster.status(CRONS, "tick")
    assert (status["lastScheduleTime"], [each["name"] for each in status["active"]]) == (
        "2026-03-02T09:01:00Z",
        [due(1)],
    )
    await cluster.live(60)
    assert cluster.jobs() == {due(1): "Completed", due(2): "Running"}
    status = cluster.status(CRONS, "tick")
    assert [each["name"] for each in status["active"]] == [due(2)]
    assert status["lastSuccessfulTime"].startswith("2026-03-02T09:01:0")
    assert (cluster.messages("SuccessfulCreate")[0], len(cluster.messages("SuccessfulCreate"))) == (
        f"Job {due(1)} was created",
        2,
    )
    assert cluster.messages("SawCompletedJob") == [f"Job {due(1)} has finished: Completed"]


async def test_nothing_is_asked_for_between_the_times(cluster: MakerCluster) -> None:
    cluster.start()
    cluster.submit(CRONS, "tick", spec("@hourly"))
    await cluster.live(3000)
    assert cluster.calls == 0
    await cluster.live(700)
    assert (cluster.api.count("POST"), cluster.api.count("PATCH")) == (1, 2)


async def test_old_jobs_go(cluster: MakerCluster) -> None:
    cluster.start()
    cluster.submit(CRONS, "tick", spec(successfulJobsHistoryLimit=1))
    await cluster.live(60 * 5 + 30)
    assert cluster.jobs() == {due(5): "Completed"}
    assert cluster.messages("SuccessfulDelete")[-1] == f"Job {due(4)} was deleted"


async def test_a_job_that_runs_on_keeps_the_next_waiting_where_that_is_the_policy(cluster: MakerCluster) -> None:
    cluster.takes = 100.0
    cluster.start()
    cluster.submit(CRONS, "tick", spec(concurrencyPolicy="Forbid"))
    await cluster.live(155)
    assert cluster.jobs() == {due(1): "Running"}
    await cluster.live(15)
    assert cluster.jobs() == {due(1): "Completed", due(2): "Running"}
    assert cluster.messages("ForbidConcurrent") == [
        f"the Job for 2026-03-02T09:02:00Z waits until Job {due(1)} has finished (spec.concurrencyPolicy is Forbid)"
    ]


async def test_a_job_that_runs_on_is_replaced_where_that_is_the_policy(cluster: MakerCluster) -> None:
    cluster.takes = 100.0
    cluster.start()
    cluster.submit(CRONS, "tick", spec(concurrencyPolicy="Replace"))
    await cluster.live(130)
    assert cluster.jobs() == {due(2): "Running"}
    assert [each["name"] for each in cluster.status(CRONS, "tick")["active"]] == [due(2)]


async def test_a_changed_schedule_counts_at_once(cluster: MakerCluster) -> None:
    cluster.start()
    cluster.submit(CRONS, "tick", spec("0 0 1 1 *"))
    await cluster.live(100)
    cluster.submit(CRONS, "tick", spec("* * * * *"))
    await cluster.live(1)
    assert set(cluster.jobs()) == {due(1)}


async def test_a_schedule_that_cannot_be_read_is_reported_once_and_others_go_on(cluster: MakerCluster) -> None:
    cluster.start()
    cluster.submit(CRONS, "bad", spec("often"))
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(130)
    (message,) = cluster.messages("UnParseableCronJobSchedule")
    assert message.startswith("no Jobs are created: spec.schedule is 'often'")
    assert len(cluster.jobs()) == 2


async def test_a_template_that_is_refused_is_reported_and_tried_again(cluster: MakerCluster) -> None:
    refusal = api_error("POST", JOBS, 422, b'{"reason": "Invalid", "message": "spec.tasks: Required value"}')
    cluster.api.refuse("POST", JOBS, refusal, refusal)
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(70)
    assert "spec.tasks: Required value" in cluster.messages("FailedCreate")[0]
    assert set(cluster.jobs()) == {due(1)}


async def test_a_job_that_cannot_be_created_does_not_keep_the_status_from_showing_others(cluster: MakerCluster) -> None:
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(61)
    assert [each["name"] for each in cluster.status(CRONS, "tick")["active"]] == [due(1)]
    await cluster.stop()
    await cluster.live(60)
    refusal = api_error("POST", JOBS, 403, b'{"reason": "Forbidden", "message": "exceeded quota"}')
    cluster.api.refuse_all("POST", JOBS, refusal)
    cluster.start()
    await cluster.live(5)
    assert set(cluster.jobs()) == {due(1)}
    status = cluster.status(CRONS, "tick")
    assert (status.get("active", []), "lastSuccessfulTime" in status) == ([], True)


async def test_a_time_that_another_has_dealt_with_meanwhile_is_not_taken_back(cluster: MakerCluster) -> None:
    """Two replicas for a moment, of which one has not seen yet what the other wrote."""
    path, later = f"{CRONS}/tick", "2026-03-02T09:05:00Z"
    original = cluster.api.patch
    has_come: list[ApiPath] = []

    async def patch(where: ApiPath, body: dict[str, Any]) -> bytes:
        if not has_come:
            has_come.append(where)
            cluster.api.put(path, {**cluster.api.objects[path], "status": {"lastScheduleTime": later}})
        answer: bytes = await original(where, body)
        return answer

    cluster.api.patch = patch
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(4 * 60)
    assert [str(each) for each in has_come] == [f"{path}/status"]
    assert (set(cluster.jobs()), cluster.status(CRONS, "tick")["lastScheduleTime"]) == ({due(1)}, later)


async def test_a_minute_gets_no_second_job_while_the_status_cannot_be_written(cluster: MakerCluster) -> None:
    """The Job has ended meanwhile, and is gone by its ttlSecondsAfterFinished."""
    cluster.start()
    cluster.submit(CRONS, "tick", spec("*/5 * * * *"))
    await cluster.live(299)
    cluster.api.refuse_all("PATCH", "/cronjobs/tick/status", api_error("PATCH", CRONS, 500, b"{}"))
    await cluster.live(12)
    assert cluster.jobs() == {due(5): "Completed"}
    cluster.remove(f"{JOBS}/{due(5)}")
    await cluster.live(30)
    cluster.api.relent()
    await cluster.live(40)
    assert cluster.made == {due(5): 1}
    assert cluster.status(CRONS, "tick")["lastScheduleTime"] == "2026-03-02T09:05:00Z"


async def test_a_minute_gets_no_second_job_when_the_first_is_deleted_before_its_making_is_answered(api: Any) -> None:
    """Watches have reported that it is gone when the answer comes, so that nothing reports it any more."""
    cluster = MakerCluster(api, lambda cluster: controller(cluster, learn=lambda kind, obj: None))
    original = cluster.api.post

    async def post(path: ApiPath, body: dict[str, Any]) -> bytes:
        answer: bytes = await original(path, body)
        if cluster.made.total() == 1:
            cluster.remove(f"{path}/{body['metadata']['name']}")
        return answer

    cluster.api.post = post
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(119)
    assert (cluster.made, cluster.status(CRONS, "tick")) == ({due(1): 1}, {"lastScheduleTime": "2026-03-02T09:01:00Z"})
    await cluster.stop()


async def test_a_name_that_another_object_has_is_left_alone(cluster: MakerCluster) -> None:
    cluster.submit(JOBS, due(1), {})
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(100)
    (message,) = cluster.messages("ForeignJob")
    assert message.startswith(f"Job {due(1)} exists but does not belong to this CronJob")
    await cluster.live(30)
    assert set(cluster.jobs()) == {due(1), due(2)}


async def test_an_answer_that_is_lost_does_no_harm(cluster: MakerCluster) -> None:
    cluster.api.refuse("POST", JOBS, UnreachableError("POST", JOBS, "reset"))
    cluster.api.refuse("PATCH", CRONS, api_error("PATCH", CRONS, 409, b'{"reason": "Conflict"}'))
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(70)
    assert cluster.made == {due(1): 1}
    assert cluster.status(CRONS, "tick").keys() == {"lastScheduleTime", "lastSuccessfulTime"}


async def test_without_the_lease_nothing_is_written(cluster: MakerCluster) -> None:
    cluster.leads = False
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(200)
    assert cluster.calls == 0
    cluster.leads = True
    assert isinstance(cluster.controller, CronJobController)
    cluster.controller.leadership_gained()
    await cluster.live(1)
    assert set(cluster.jobs()) == {due(3)}


async def test_a_cron_job_that_is_gone_makes_no_more(cluster: MakerCluster) -> None:
    cluster.start()
    cluster.submit(CRONS, "tick", spec())
    await cluster.live(30)
    cluster.remove(f"{CRONS}/tick")
    await cluster.live(100)
    assert cluster.jobs() == {}


async def lived(api: Any, life: Callable[[MakerCluster], Awaitable[None]], killing: Any) -> MakerCluster:
    cluster = MakerCluster(api, controller)
    cluster.killing = killing
    cluster.start()
    await life(cluster)
    await cluster.stop()
    return cluster


def summary(cluster: MakerCluster) -> dict[str, Any]:
    """How everything stands; UIDs and versions are another controller's affair."""
    status = cluster.status(CRONS, "tick")
    active = [each["name"] for each in status.get("active", [])]
    return {"jobs": cluster.jobs(), "active": active, "last": status["lastScheduleTime"], "made": cluster.made}


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
async def test_it_may_be_killed_at_any_request_and_no_time_has_two_jobs(api: Any, policy: str) -> None:
    """Nothing but the API server's objects outlives it."""

    async def life(cluster: MakerCluster) -> None:
        cluster.takes = 70.0 if policy == "Replace" else 30.0
        cluster.submit(CRONS, "tick", spec(concurrencyPolicy=policy, successfulJobsHistoryLimit=1))
        await cluster.live(60 * 4 + 50)

    undisturbed = await lived(type(api)(), life, None)
    expected = summary(undisturbed)
    assert expected["made"] == {due(minute): 1 for minute in (1, 2, 3, 4)}
    assert undisturbed.calls >= 11
    for number in range(1, undisturbed.calls + 1):
        for carried_out in (False, True):
            found = summary(await lived(type(api)(), life, (number, carried_out)))
            assert found == expected, f"killed at request {number}, carried out: {carried_out}"
