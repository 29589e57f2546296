"""`volcano-py cronjob …` against an API server; what it shares with JobFlows is tested with these."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.cli.cluster import UserOfCluster, found
from tests.unit.cluster.fakes import page, refusal

CRONS = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/cronjobs"


def cron(name: str = "nightly", **spec: Any) -> dict[str, Any]:
    """A CronJob as the API sends it."""
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"schedule": "0 3 * * *", "timeZone": "Europe/Berlin", "jobTemplate": {"spec": {}}, **spec},
        "status": {"active": [{"kind": "Job", "name": f"{name}-29384756", "namespace": "default"}]},
    }


async def test_they_are_listed_with_schedule_and_state(user: UserOfCluster) -> None:
    user.api.on("GET", CRONS, page(7, cron(), cron("weekly", suspend=True, timeZone=None)))
    assert (await user.prints("cronjob", "list")).splitlines() == [
        "NAMESPACE  NAME     STATE      SCHEDULE   TIME ZONE      JOBS  LAST  AGE  PROBLEM",
        "default    nightly  Active     0 3 * * *  Europe/Berlin     1  -     -    -",
        "default    weekly   Suspended  0 3 * * *  -                 1  -     -    -",
    ]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"timeZone": "Europe/Nowhere"},
            "spec.timeZone is 'Europe/Nowhere', which is not a known time zone; use a name",
        ),
        ({"schedule": "61 * * * *"}, "spec.schedule is '61 * * * *', which cannot be read: "),
        ({"schedule": "0 0 31 2 *"}, "spec.schedule is '0 0 31 2 *', which cannot be read: "),
    ],
)
async def test_one_that_is_never_due_says_so(user: UserOfCluster, spec: dict[str, Any], problem: str) -> None:
    user.api.on("GET", CRONS, page(7, cron(**spec)))
    user.api.on("GET", f"{CRONS}/nightly", found(cron(**spec)))
    user.api.on("GET", "/api/v1/namespaces/default/events", page(7))
    printed = " ".join((await user.prints("cronjob", "list")).split())
    assert "default nightly Invalid" in printed
    assert problem in printed
    assert "Invalid" in await user.prints("cronjob", "describe", "nightly")


async def test_one_is_described_with_the_jobs_that_run(user: UserOfCluster) -> None:
    user.api.on("GET", f"{CRONS}/nightly", found(cron()))
    user.api.on("GET", "/api/v1/namespaces/default/events", page(7))
    printed = await user.prints("cronjob", "describe", "nightly")
    assert "Schedule:        0 3 * * *" in printed
    assert "nightly-29384756" in printed


@pytest.mark.parametrize(("verb", "done", "value"), [("suspend", "suspended", True), ("resume", "resumed", False)])
async def test_it_is_suspended_and_resumed(user: UserOfCluster, verb: str, done: str, value: bool) -> None:
    user.api.on("PATCH", f"{CRONS}/nightly", found(cron()))
    assert await user.prints("cronjob", verb, "nightly") == f"cronjob default/nightly is {done}\n"
    (sent,) = user.api.sent("PATCH")
    assert sent.body == {"spec": {"suspend": value}}


async def test_one_that_does_not_exist_cannot_be_suspended(user: UserOfCluster) -> None:
    user.api.on("PATCH", f"{CRONS}/nightly", refusal(404, "NotFound", details={"name": "nightly"}))
    assert await user.is_refused("cronjob", "suspend", "nightly") == (
        "cronjob default/nightly does not exist: `volcano-py cronjob list --namespace default` shows those that do"
    )
