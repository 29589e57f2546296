"""Without webhooks the job controller says what admission would have said, and makes no pods meanwhile."""

from __future__ import annotations

import msgspec

from tests.support.jobs.job_objects import job, task
from volcano_py.admission.jobs import JobContext
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import BUILTIN, JobPlugins
from volcano_py.operator.jobs.problems import problem_with

PROBLEM = problem_with(JobContext(JobRules(), JobPlugins.of(BUILTIN)))


def with_timeout(timeout: str) -> VolcanoJob:
    return job(task(), policies=[{"event": "PodEvicted", "action": "RestartJob", "timeout": timeout}])


def test_a_timeout_that_cannot_be_read_is_reported() -> None:
    assert PROBLEM(with_timeout("5m")) == ""
    assert PROBLEM(with_timeout("5 minutes")) == (
        "spec.policies[0].timeout: 5 minutes is not a duration; write numbers with their units, such as "
        "90s, 10m or 1h30m"
    )


def test_the_queue_is_left_to_the_scheduler() -> None:
    of = with_timeout("")
    assert PROBLEM(msgspec.structs.replace(of, spec=msgspec.structs.replace(of.spec, queue="missing"))) == ""


def test_the_claim_that_volcanos_controller_has_made_is_no_mistake() -> None:
    """It writes the claim's name into the spec, next to what it was made from."""
    made = {"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}, "volumeClaimName": "train-pvc-x"}
    assert PROBLEM(job(task(), volumes=[made])) == ""
    assert PROBLEM(job(task(), volumes=[{"mountPath": "/data"}])) != ""
