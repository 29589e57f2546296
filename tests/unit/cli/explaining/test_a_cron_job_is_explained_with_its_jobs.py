"""`explain cronjob`: when it creates its next Job, and the Jobs of it that run or wait."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.unit.explain.causes import node, world_of
from volcano_py.cli.explaining.drawing import drawn
from volcano_py.explain.model import CronJobExplanation
from volcano_py.explain.of_cron_job import MOST_JOBS, Cron, explain_cron_job
from volcano_py.explain.target import ExplainError
from volcano_py.jobs.crons.plan import CronJob, CronJobStatus

VOLCANO = "batch.volcano.sh/v1alpha1"
NOW = datetime(2026, 11, 30, 1, 30, tzinfo=UTC)


def cron(version: str = VOLCANO, **spec: Any) -> Cron:
    metadata = {"name": "nightly", "namespace": "default", "uid": "c1", "creationTimestamp": "2026-11-01T00:00:00Z"}
    body = {"metadata": metadata, "spec": {"schedule": "0 3 * * *", **spec}}
    return Cron(version, msgspec.convert(body, CronJob))


def job(
    name: str, cpu: str = "1", *, of: str = "nightly", uid: str = "c1", version: str = VOLCANO, phase: str = ""
) -> str:
    status = f"status: {{state: {{phase: {phase}}}}}" if phase else ""
    return f"""
apiVersion: {version}
kind: Job
metadata:
  name: {name}
  uid: uid-{name}
  ownerReferences: [{{apiVersion: {version}, kind: CronJob, name: {of}, uid: {uid}, controller: true}}]
spec:
  minAvailable: 1
  tasks:
  - name: main
    replicas: 1
    template: {{spec: {{containers: [{{name: main, resources: {{requests: {{cpu: "{cpu}"}}}}}}]}}}}
{status}
---"""


def pod_of(name: str, *, phase: str = "Pending") -> str:
    return f"""
apiVersion: v1
kind: Pod
metadata:
  name: {name}-x
  ownerReferences: [{{apiVersion: batch/v1, kind: Job, name: {name}, uid: uid-{name}, controller: true}}]
spec: {{schedulerName: volcano, containers: [{{name: main, resources: {{requests: {{cpu: "1"}}}}}}]}}
status: {{phase: {phase}}}
---"""


def explained(text: str, of: Cron | None) -> CronJobExplanation:
    return explain_cron_job(world_of(node() + text), "cronjob", "default/nightly", of, NOW)


def first_lines(found: CronJobExplanation) -> list[str]:
    lines = list(drawn(found))
    return lines[: lines.index("")] if "" in lines else lines


def test_the_next_run_is_that_of_its_schedule_in_its_time_zone() -> None:
    found = explained("", cron(timeZone="Europe/Berlin"))
    assert (found.state, found.next, found.seconds) == ("Active", "2026-11-30T02:00:00Z", 1800)
    assert first_lines(found) == [
        "default/nightly: Active, next run in 30m, at 2026-11-30T02:00:00Z",
        "  Schedule 0 3 * * *, time zone Europe/Berlin",
        "  none of its Jobs runs or waits",
    ]


def test_jobs_that_could_not_be_read_are_not_denied() -> None:
    found = replace(explained("", cron()), unread=("Job objects not read: forbidden",))
    assert first_lines(found)[-1] == "  none of its Jobs runs or waits, as far as they could be read"


def test_a_suspended_one_has_no_next_run() -> None:
    found = explained("", cron(suspend=True))
    assert (found.state, found.next) == ("Suspended", "")
    assert first_lines(found)[0] == "default/nightly: Suspended, no next run: spec.suspend is true"


def test_one_that_is_being_deleted_has_no_next_run() -> None:
    going = cron()
    metadata = replace(going.found.metadata, deletion_timestamp=NOW)
    found = explained("", replace(going, found=replace(going.found, metadata=metadata)))
    assert (found.state, found.next) == ("Deleting", "")
    assert first_lines(found)[0] == "default/nightly: Deleting, no Jobs are created"


def test_what_is_wrong_with_its_schedule_is_said() -> None:
    found = explained("", cron(schedule="61 * * * *"))
    assert (found.state, found.next) == ("Invalid", "")
    first, second, *_ = first_lines(found)
    assert first == "default/nightly: Invalid, no Jobs are created"
    assert second.startswith("  spec.schedule is '61 * * * *', which cannot be read: bad minute")


def test_its_jobs_that_have_not_finished_are_explained_as_jobs_are() -> None:
    ended, others = job("nightly-0", phase="Completed"), job("else-1", of="else") + job("again-1", uid="of-a-namesake")
    found = explained(ended + job("nightly-1") + job("nightly-2", cpu="64") + others, cron())
    assert [(each.name, each.now.state) for each in found.jobs] == [
        ("default/nightly-1", "Starting"),
        ("default/nightly-2", "Waiting"),
    ]
    assert found.jobs[1].now.reason == "ClusterOvercommitted"
    lines = list(drawn(found))
    assert "default/nightly-2: Waiting, 0 of 1 pod placed" in lines
    assert "What would help" in lines


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("Forbid", "no Job is created as long as Job nightly-1 has not finished (spec.concurrencyPolicy is Forbid)"),
        ("Replace", "the next Job replaces Job nightly-1 (spec.concurrencyPolicy is Replace)"),
        ("Allow", ""),
    ],
)
def test_what_a_running_job_means_for_the_next_one_is_said(policy: str, expected: str) -> None:
    assert explained(job("nightly-1"), cron(concurrencyPolicy=policy)).concurrency == expected
    assert explained("", cron(concurrencyPolicy=policy)).concurrency == ""
    assert explained(job("nightly-1"), cron(concurrencyPolicy=policy, suspend=True)).concurrency == ""


def test_of_many_jobs_the_oldest_are_explained_and_the_others_named() -> None:
    found = explained("".join(job(f"nightly-{number}") for number in range(MOST_JOBS + 2)), cron())
    assert len(found.jobs) == MOST_JOBS
    assert found.more == ("default/nightly-5", "default/nightly-6")
    assert list(drawn(found))[-1] == "  2 more Jobs not explained here: default/nightly-5, default/nightly-6"


def test_those_of_kubernetes_are_explained_by_the_pods_of_their_jobs() -> None:
    jobs = "".join(job(f"nightly-{number}", version="batch/v1") for number in (1, 2))
    text = jobs + pod_of("nightly-1", phase="Succeeded") + pod_of("nightly-2")
    found = explained(text, cron("batch/v1"))
    assert [(each.name, each.now.state) for each in found.jobs] == [("default/nightly-2", "Starting")]
    assert explained(text, cron()).jobs == (), "a namesake of Volcano has other Jobs"


def test_a_job_of_kubernetes_without_pods_is_known_by_the_status() -> None:
    """Its pods may be refused, which is why nothing runs: it is not finished."""
    of = cron("batch/v1", concurrencyPolicy="Forbid")
    status = msgspec.convert({"active": [{"name": "nightly-1", "uid": "uid-nightly-1"}]}, CronJobStatus)
    found = explained(job("nightly-1", version="batch/v1"), replace(of, found=replace(of.found, status=status)))
    assert found.concurrency.startswith("no Job is created as long as Job nightly-1 has not finished")
    (note,) = found.notes
    assert note.startswith("job.batch default/nightly-1 has no pods: `kubectl describe job.batch nightly-1")


def test_a_job_of_another_scheduler_is_named_with_the_reason() -> None:
    foreign = pod_of("nightly-1").replace("schedulerName: volcano", "schedulerName: default-scheduler")
    found = explained(job("nightly-1", version="batch/v1") + foreign, cron("batch/v1"))
    assert found.jobs == ()
    (note,) = found.notes
    assert note.startswith("the pods of job.batch default/nightly-1 have schedulerName default-scheduler")


def test_where_it_cannot_be_read_its_jobs_are_known_by_its_name() -> None:
    found = explained(job("nightly-1"), None)
    assert first_lines(found)[0] == "default/nightly: when it runs next is not known"
    assert [each.name for each in found.jobs] == ["default/nightly-1"]
    with pytest.raises(ExplainError, match=r"^cronjob default/nightly does not exist, or you may not read it"):
        explained(job("else-1", of="else"), None)
