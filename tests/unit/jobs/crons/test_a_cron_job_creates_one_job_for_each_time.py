"""CronJobs: which Job is due, which are to go, what the status says, whatever state is met."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.jobs.cron_jobs import at, cron_job, due_name, job
from volcano_py.jobs.crons.plan import CronJob, CronPlan, job_for, job_name, owned_by, plan_cron
from volcano_py.jobs.crons.schedule import parse_schedule
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.patches import merge_patch


def reasons(plan: CronPlan) -> list[str]:
    return [event.reason for event in plan.events]


def started(cron: CronJob, *jobs: VolcanoJob, now: str = "09:00:05") -> datetime | None:
    return plan_cron(cron, jobs, at(now)).start


# When a Job is due.


def test_a_job_is_due_when_its_time_has_come() -> None:
    cron = cron_job(last="08:00")
    before, after = plan_cron(cron, [], at("08:59:59")), plan_cron(cron, [], at("09:00:00"))
    assert (before.start, before.look_again) == (None, at("09:00"))
    assert (after.start, after.look_again) == (at("09:00"), at("10:00"))
    assert after.status.last_schedule_time == at("08:00")


def test_times_before_the_creation_of_the_cron_job_do_not_count() -> None:
    assert started(cron_job("0 6 * * *")) is None
    assert started(cron_job("40 6 * * *")) == at("06:40")


def test_of_several_missed_times_only_the_latest_gets_a_job() -> None:
    assert started(cron_job("*/10 * * * *", last="07:00"), now="08:34") == at("08:30")


def test_many_missed_times_are_reported() -> None:
    """Once more than a hundred, as in Kubernetes: it may be a clock that is wrong."""
    few = plan_cron(cron_job("* * * * *", last="07:00"), [], at("08:40"))
    many = plan_cron(cron_job("* * * * *", last="07:00"), [], at("08:41"))
    assert (few.start, reasons(few)) == (at("08:40"), [])
    assert (many.start, reasons(many)) == (at("08:41"), ["TooManyMissedTimes"])


def test_a_time_that_has_its_job_gets_no_second_one() -> None:
    """The controller was stopped after it had made the Job and before it could write so."""
    plan = plan_cron(cron_job(last="08:00"), [job("09:00")], at("09:00:05"))
    assert plan.start is None
    assert plan.status.last_schedule_time == at("09:00")
    assert [each.name for each in plan.status.active] == [due_name("09:00")]


def test_what_has_been_started_and_is_gone_is_not_started_again() -> None:
    assert started(cron_job(last="09:00")) is None


def test_a_suspended_cron_job_starts_nothing_and_keeps_its_status() -> None:
    plan = plan_cron(cron_job(last="08:00", suspend=True), [job("08:00")], at("09:00:05"))
    assert (plan.start, plan.status.last_schedule_time, len(plan.status.active)) == (None, at("08:00"), 1)


def test_one_that_is_resumed_starts_the_latest_that_was_missed() -> None:
    assert started(cron_job(last="06:00", suspend=False), now="09:30") == at("09:00")


@pytest.mark.parametrize(("now", "expected"), [("09:05:00", "09:00"), ("09:05:01", None)])
def test_after_the_deadline_it_is_too_late(now: str, expected: str | None) -> None:
    plan = plan_cron(cron_job(last="08:00", startingDeadlineSeconds=300), [], at(now))
    assert plan.start == (at(expected) if expected else None)
    assert reasons(plan) == ([] if expected else ["MissSchedule"])


def test_absurd_numbers_and_times_are_reckoned_with() -> None:
    cron = cron_job("* * * * *", last="07:00", startingDeadlineSeconds=2**63 - 1, timeZone="America/New_York")
    ancient = msgspec.structs.replace(cron.status, last_schedule_time=datetime(1, 1, 1, tzinfo=UTC))
    future = msgspec.structs.replace(cron.status, last_schedule_time=datetime(9999, 12, 31, tzinfo=UTC))
    assert started(cron) == at("09:00")
    assert started(msgspec.structs.replace(cron, status=ancient)) == at("09:00")
    assert started(msgspec.structs.replace(cron, status=future)) is None


def test_a_cron_job_that_is_being_deleted_does_nothing() -> None:
    cron = cron_job(last="08:00")
    metadata = msgspec.structs.replace(cron.metadata, deletion_timestamp=at("08:30"))
    plan = plan_cron(msgspec.structs.replace(cron, metadata=metadata), [], at("09:00:05"))
    assert plan == CronPlan(cron.status)


@pytest.mark.parametrize("spec", [{"schedule": "often"}, {"timeZone": "Mars/Olympus"}])
def test_a_schedule_that_cannot_be_read_is_reported_and_the_status_still_follows(spec: dict[str, Any]) -> None:
    plan = plan_cron(cron_job(last="08:00", **spec), [job("08:00")], at("09:00:05"))
    assert (plan.start, plan.look_again, reasons(plan)) == (None, None, ["UnParseableCronJobSchedule"])
    assert len(plan.status.active) == 1


# Jobs that still run.


def test_jobs_may_run_side_by_side() -> None:
    plan = plan_cron(cron_job(last="08:00"), [job("08:00")], at("09:00:05"))
    assert (plan.start, plan.replaced) == (at("09:00"), ())


def test_forbidding_lets_the_next_wait_for_the_one_before() -> None:
    cron = cron_job(last="08:00", concurrencyPolicy="Forbid")
    waiting = plan_cron(cron, [job("08:00")], at("09:00:05"))
    assert (waiting.start, reasons(waiting)) == (None, ["ForbidConcurrent"])
    assert waiting.status.last_schedule_time == at("08:00")
    assert due_name("08:00") in waiting.events[0].message
    assert started(cron, job("08:00", "Completed"), now="09:20") == at("09:00")


@pytest.mark.parametrize("phase", ["", "Pending", "Restarting", "Aborting", "Aborted", "Completing", "Terminating"])
def test_whatever_has_not_ended_still_runs(phase: str) -> None:
    assert started(cron_job(last="08:00", concurrencyPolicy="Forbid"), job("08:00", phase)) is None


@pytest.mark.parametrize("phase", ["Completed", "Failed", "Terminated"])
def test_ended_work_keeps_nothing_waiting(phase: str) -> None:
    assert started(cron_job(last="08:00", concurrencyPolicy="Forbid"), job("08:00", phase)) == at("09:00")


def test_replacing_deletes_what_runs_first() -> None:
    jobs = [job("07:00", deleting=True), job("08:00"), job("06:00", "Completed")]
    plan = plan_cron(cron_job(last="08:00", concurrencyPolicy="Replace"), jobs, at("09:00:05"))
    assert (plan.start, reasons(plan)) == (at("09:00"), ["ReplaceConcurrent"])
    assert [each.metadata.name for each in plan.replaced] == [due_name("08:00")]


def test_nothing_is_replaced_when_nothing_is_due() -> None:
    plan = plan_cron(cron_job(last="09:00", concurrencyPolicy="Replace"), [job("09:00")], at("09:30"))
    assert (plan.start, plan.replaced, reasons(plan)) == (None, (), [])


# The status and the history.


def test_the_status_says_what_runs_and_when_it_last_succeeded() -> None:
    jobs = [job("06:00", "Completed", ended="06:20"), job("07:00", "Completed", ended="08:10"), job("08:00")]
    status = plan_cron(cron_job(last="08:00", active=(due_name("07:00"),)), jobs, at("08:30")).status
    (reference,) = status.active
    assert (reference.kind, reference.namespace, reference.name) == ("Job", "ns", due_name("08:00"))
    assert (reference.api_version, reference.uid) == ("batch.volcano.sh/v1alpha1", f"uid-{due_name('08:00')}")
    assert status.last_successful_time == at("08:10:30")


def test_the_last_success_stays_when_its_job_is_gone() -> None:
    cron = msgspec.structs.replace(
        cron_job(last="08:00"),
        status=msgspec.structs.replace(cron_job(last="08:00").status, last_successful_time=at("08:10")),
    )
    assert plan_cron(cron, [], at("08:30")).status.last_successful_time == at("08:10")


def test_a_job_that_has_ended_is_reported_once() -> None:
    jobs = [job("08:00", "Completed")]
    reported = plan_cron(cron_job(last="08:00", active=(due_name("08:00"),)), jobs, at("08:30"))
    assert reasons(reported) == ["SawCompletedJob"]
    assert reasons(plan_cron(cron_job(last="08:00"), jobs, at("08:30"))) == []


def names(jobs: tuple[VolcanoJob, ...]) -> list[str]:
    return [each.metadata.name for each in jobs]


def test_the_oldest_go_when_more_have_ended_than_are_kept() -> None:
    jobs = [job(f"0{hour}:00", "Completed") for hour in range(5)]
    jobs += [job("05:00", "Failed"), job("06:00", "Terminated"), job("07:00")]
    plan = plan_cron(cron_job(last="07:00"), jobs, at("07:30"))
    assert names(plan.outdated) == [due_name("00:00"), due_name("01:00"), due_name("05:00")]
    kept = cron_job(last="07:00", successfulJobsHistoryLimit=0, failedJobsHistoryLimit=2)
    assert names(plan_cron(kept, jobs, at("07:30")).outdated) == [due_name(f"0{hour}:00") for hour in range(5)]


def test_what_is_being_deleted_is_not_deleted_again() -> None:
    jobs = [job("05:00", "Completed", deleting=True), job("06:00", "Completed")]
    plan = plan_cron(cron_job(last="07:00", successfulJobsHistoryLimit=0), jobs, at("07:30"))
    assert names(plan.outdated) == [due_name("06:00")]


def test_jobs_of_others_do_not_count() -> None:
    cron = cron_job(last="08:00")
    jobs = [job("08:00", owner="another"), job("07:00"), job("06:00")]
    assert names(tuple(owned_by(cron, jobs))) == [due_name("06:00"), due_name("07:00")]


def test_only_what_differs_is_written() -> None:
    cron = cron_job(last="08:00")
    same = plan_cron(cron, [], at("08:30"))
    assert merge_patch(cron.status, same.status) == {}
    due = plan_cron(cron, [job("09:00")], at("09:00:05"))
    patch = merge_patch(cron.status, due.status)
    assert patch["lastScheduleTime"] == "2026-03-02T09:00:00Z"
    assert set(patch) == {"active", "lastScheduleTime"}
    assert merge_patch(due.status, same.status)["active"] is None


# The Job.


def test_the_job_is_the_template_with_its_time() -> None:
    cron = cron_job(timeZone="Europe/Berlin")
    body = job_for(cron, at("09:00"))
    assert body["metadata"] == {
        "name": due_name("09:00"),
        "namespace": "ns",
        "labels": {"app": "report"},
        "annotations": {"volcano.sh/cronjob-scheduled-timestamp": "2026-03-02T10:00:00+01:00"},
        "ownerReferences": [
            {
                "apiVersion": "batch.volcano.sh/v1alpha1",
                "kind": "CronJob",
                "name": "report",
                "uid": "cron",
                "controller": True,
            }
        ],
    }
    assert (body["kind"], body["spec"]) == ("Job", {"tasks": [{"name": "work", "replicas": 1}]})
    assert job_for(cron_job(), at("09:00"))["metadata"]["annotations"] == {
        "volcano.sh/cronjob-scheduled-timestamp": "2026-03-02T09:00:00Z"
    }


@pytest.mark.parametrize(
    ("earlier", "estimate"),
    [
        ([("Completed", "4m"), ("Completed", "1h2m"), ("Failed", "3h"), ("Running", "")], "1h2m"),
        ([("Failed", "3h")], None),
        ([], None),
    ],
)
def test_it_runs_as_long_as_earlier_jobs_did_where_the_template_says_so(
    earlier: list[tuple[str, str]], estimate: str | None
) -> None:
    template = {"metadata": {"annotations": {"volcano.sh/running-estimate": "as-earlier-jobs"}}, "spec": {"tasks": []}}
    jobs = [job(f"0{hour}:00", phase, took=took) for hour, (phase, took) in enumerate(earlier)]
    annotations = job_for(cron_job(jobTemplate=template), at("09:00"), jobs)["metadata"]["annotations"]
    assert annotations.get("volcano.sh/running-estimate") == estimate


def test_nothing_is_guessed_where_the_template_says_nothing() -> None:
    annotations = job_for(cron_job(), at("09:00"), [job("08:00", "Completed", took="4m")])["metadata"]
    assert "volcano.sh/running-estimate" not in annotations["annotations"]


# What always holds.

SCHEDULES = st.sampled_from(["* * * * *", "*/7 * * * *", "0,30 * * * *", "@every 11m", "30 2 * * *", "@hourly"])
STEPS = st.lists(st.integers(1, 5400), min_size=1, max_size=40)


@given(SCHEDULES, STEPS, st.sampled_from([None, 0, 60, 600]), st.data())
@settings(max_examples=settings().max_examples, deadline=None)
def test_no_time_has_two_jobs_and_none_is_started_early_or_late(
    schedule: str, pauses: list[int], deadline: int | None, data: st.DataObject
) -> None:
    """A controller that is away now and then, loses what it wanted to write, and whose Jobs end and go at any time."""
    cron = cron_job(schedule, startingDeadlineSeconds=deadline, concurrencyPolicy="Allow")
    times = parse_schedule(schedule, None, at("06:30"))
    now, jobs, made = at("06:30"), dict[str, VolcanoJob](), list[datetime]()
    for pause in pauses:
        now += timedelta(seconds=pause)
        plan = plan_cron(cron, owned_by(cron, jobs.values()), now)
        if plan.start is not None:
            late = now - plan.start
            assert late >= timedelta()
            assert deadline is None or late <= timedelta(seconds=deadline)
            assert times.latest(now, at("06:30")) == plan.start  # a time of the schedule, and the latest
            made.append(plan.start)
            jobs[job_name(cron, plan.start)] = _made(cron, plan.start)
        if plan.start is None or not data.draw(st.booleans(), label="stopped before the status is written"):
            again = plan_cron(cron, owned_by(cron, jobs.values()), now)
            assert again.start is None
            cron = msgspec.structs.replace(cron, status=again.status)
            for name in data.draw(st.lists(st.sampled_from(sorted(jobs)), unique=True) if jobs else st.just([])):
                del jobs[name]
    assert len(set(made)) == len(made)
    assert made == sorted(made)
    assert len({job_name(cron, moment) for moment in made}) == len(made)


def _made(cron: CronJob, moment: datetime) -> VolcanoJob:
    body = job_for(cron, moment)
    body["metadata"] |= {"uid": f"uid-{moment:%d%H%M}", "creationTimestamp": moment.astimezone(UTC).isoformat()}
    return msgspec.convert(body, VolcanoJob)
