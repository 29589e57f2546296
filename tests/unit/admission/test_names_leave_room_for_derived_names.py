"""A pod's name is made from those of its job and task, a job's from that of what makes it: at most 63 characters."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.support.queues.queue_worlds import world
from volcano_py.admission.jobs import JobContext, validate_create, validate_update
from volcano_py.admission.templates import judge
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import BUILTIN, JobPlugins

WORLD = world()
CUSTOMS = JobContext(JobRules(), JobPlugins.of(BUILTIN))


def spec(replicas: int = 2, **fields: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}
    return {"tasks": [{"name": "worker", "replicas": replicas, "minAvailable": 1, "template": template}], **fields}


def job(name: str, content: dict[str, Any]) -> VolcanoJob:
    return msgspec.convert({"metadata": {"name": name}, "spec": content}, VolcanoJob)


def scaled(name: str, before: int, after: int) -> list[str]:
    was, now = spec(before), spec(after)
    return [str(each) for each in validate_update(job(name, was), job(name, now), was, now, CUSTOMS)]


def test_a_job_does_not_grow_beyond_the_names_that_its_pods_can_have() -> None:
    name = "j" * 54
    assert validate_create(job(name, spec(10)), WORLD, CUSTOMS) == ()
    assert scaled(name, 9, 10) == []
    (only,) = scaled(name, 10, 11)
    assert only == (
        f"spec.tasks[0].name: worker makes pod names of 64 characters ({name}-worker-10), the limit is 63; "
        "shorten it, or the job's name"
    )


def test_a_job_whose_names_were_too_long_before_may_shrink() -> None:
    name = "j" * 54
    assert (scaled(name, 30, 12), scaled(name, 30, 99)) == ([], [])
    assert len(scaled(name, 30, 101)) == 1


def test_the_jobs_of_a_cron_job_have_the_time_in_their_names() -> None:
    cron = {"schedule": "@daily", "jobTemplate": {"spec": spec(10)}}
    assert judge("cronjob", "c" * 45, cron, None, WORLD, CUSTOMS) == ()
    (only,) = judge("cronjob", "c" * 46, cron, None, WORLD, CUSTOMS)
    assert only.field == "spec.jobTemplate.spec.tasks[0].name"
    assert only.rule.startswith(f"makes pod names of 64 characters ({'c' * 46}-")
    assert judge("cronjob", "c" * 46, {**cron, "suspend": True}, cron, WORLD, CUSTOMS) == ()


def test_the_jobs_of_a_flow_have_the_flows_name_before_their_own() -> None:
    flow = {"flows": [{"name": "a"}, {"name": "b" * 20}]}
    assert judge("jobflow", "f" * 42, flow, None, WORLD, CUSTOMS) == ()
    name = "f" * 43
    (only,) = judge("jobflow", name, flow, None, WORLD, CUSTOMS)
    assert str(only) == (
        f"spec.flows[1].name: {'b' * 20} makes a job name of 64 characters ({name}-{'b' * 20}), the limit is 63;"
        " shorten it, or the flow's name"
    )


def test_a_plugin_that_makes_a_service_has_a_name_for_it() -> None:
    def refused(name: str, *plugins: str) -> list[str]:
        content = {"tasks": [{**spec()["tasks"][0], "name": "head"}], "plugins": {each: [] for each in plugins}}
        return [str(each) for each in validate_create(job(name, content), WORLD, CUSTOMS)]

    assert refused("r" * 54, "svc", "ray") == []
    (too_long,) = refused("r" * 55, "svc", "ray")
    assert (
        f"the Service in front of the head would be called {'r' * 55}-head-svc, which has 64 characters, the limit"
        " is 63; shorten the job's name"
    ) in too_long
    assert (refused("a.b"), refused("a.b", "ssh")) == ([], [])
    (dotted,) = refused("a.b", "svc")
    assert "the job's name, a.b, has dots, which a Service cannot have; give the job another name" in dotted
