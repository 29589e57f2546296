"""Large jobs: the work for one grows as its size, and what is made for one at a time is bounded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tests.support.jobs.job_objects import NOW, failed, group, job, pods, task
from tests.support.measuring.counted_work import CountedName, growth, work_of
from volcano_py.admission.jobs import JobContext
from volcano_py.admission.violation import Violation, new_violations
from volcano_py.api.bounds import DEPENDENCIES, FLOW_TARGETS, HOSTS, POLICIES, TASKS, VARIABLES
from volcano_py.jobs.actions import CreatePods
from volcano_py.jobs.crons.plan import CronJob, plan_cron
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.flows.model import JobFlow
from volcano_py.jobs.flows.plan import plan_flow
from volcano_py.jobs.model import DependsOn, JobPhase, VolcanoJob
from volcano_py.jobs.plan import MOST_BYTES_AT_ONCE, Plan, World, plan
from volcano_py.jobs.plugins import BUILTIN, JobPlugins
from volcano_py.operator.jobs.problems import problem_with

PLUGINS = JobPlugins.of(BUILTIN)
# A loop within a loop gives 4, and a sort a little more than 2.
LINEAR = 2.6


def problem(of: VolcanoJob) -> str:
    return problem_with(JobContext(rules=JobRules(), plugins=PLUGINS))(of)


def made(of: VolcanoJob, **fields: Any) -> Plan:
    return plan(World(job=of, group=group(of), now=NOW, plugins=PLUGINS.for_job(of), **fields))


def chained(tasks: int, *, iteration: str = "", each: int = 20) -> VolcanoJob:
    """Each task waits for the `each` before it."""
    of = job(*(task(f"t{n}") for n in range(tasks)), phase="Pending", minAvailable=1)
    full = [
        replace(
            found,
            name=CountedName(found.name),
            depends_on=DependsOn(name=[CountedName(f"t{o}") for o in range(max(0, n - each), n)], iteration=iteration),
        )
        for n, found in enumerate(of.spec.tasks)
    ]
    return replace(of, spec=replace(of.spec, tasks=full))


@pytest.mark.parametrize("iteration", ["", "any"])
def test_dependencies_are_resolved_in_one_pass(iteration: str) -> None:
    assert growth(lambda tasks: work_of(lambda: made(chained(tasks, iteration=iteration))), 200) < LINEAR


def test_dependencies_on_tasks_that_have_failed_are_found_in_one_pass() -> None:
    def work(tasks: int) -> int:
        of = chained(tasks, iteration="any")
        there = [failed(pod, 1) for pod in pods(of, {f"t{n}-0": "Failed" for n in range(0, tasks, 2)})]
        return work_of(lambda: made(of, pods=there))

    assert growth(work, 200) < LINEAR


def test_policies_are_found_by_what_they_are_about() -> None:
    def work(size: int) -> int:
        policies = [{"exitCode": n + 1, "action": "AbortJob", "timeout": "1h"} for n in range(size)]
        of = job(task(replicas=size, minAvailable=1), policies=policies)
        there = [failed(pod, 255) for pod in pods(of, {f"worker-{n}": "Failed" for n in range(size)})]
        return work_of(lambda: made(of, pods=there))

    assert growth(work, 100) < LINEAR


def test_what_is_wrong_with_dependencies_is_reported_in_one_pass() -> None:
    def work(size: int) -> int:
        return work_of(lambda: problem(job(*(task(f"t{n}", dependsOn={"name": ["none"]}) for n in range(size)))))

    assert growth(work, 200) < LINEAR
    reported = problem(job(*(task(f"t{n}", dependsOn={"name": ["none"]}) for n in range(200))))
    assert "none is not a task of this object; name one of the tasks (t1, t2, t3, t4, t5 and 194 more)" in reported


def test_what_an_update_breaks_is_found_in_one_pass() -> None:
    def broken(size: int) -> tuple[Violation, ...]:
        return tuple(
            Violation(field=CountedName("spec.tasks"), value=f"t{n}", rule="is no task", fix="add it")
            for n in range(size)
        )

    assert growth(lambda size: work_of(lambda: new_violations(broken(size), broken(size))), 100) < LINEAR


@pytest.mark.parametrize(
    ("spec", "reported"),
    [
        (
            {"tasks": [task(f"t{n}") for n in range(TASKS.most + 1)]},
            "spec.tasks: 1001 tasks of a Job exceed the limit of",
        ),
        (
            {"tasks": [task(f"t{n}", dependsOn={"name": ["t0"] * 101}) for n in range(DEPENDENCIES.most // 100)]},
            "spec.tasks: 10100 names in `dependsOn` of all tasks of a Job together exceed the limit of 10000",
        ),
        (
            {"policies": [{"exitCode": n + 1, "action": "AbortJob"} for n in range(POLICIES.most + 1)]},
            "spec.policies: 301 policies of a Job, and of each of its tasks exceed the limit of 300",
        ),
        (
            {"volumes": [{"mountPath": f"/{n}", "volumeClaimName": f"v{n}"} for n in range(10_001)]},
            "spec.volumes: 10001 volumes of a Job times containers of one of its tasks exceed the limit of 10000",
        ),
    ],
)
def test_a_job_beyond_a_bound_is_refused_with_a_reason(spec: dict[str, Any], reported: str) -> None:
    tasks = spec.pop("tasks", [task()])
    of = job(*tasks, phase="Pending", **spec)
    assert problem(of).startswith(reported)
    refused = plan(World(job=of, group=group(of), now=NOW, problem=problem(of)))
    assert not [action for action in refused.actions if isinstance(action, CreatePods)]
    assert refused.waiting is not None
    assert refused.waiting.message.startswith(reported)


def test_pods_that_are_created_at_once_are_bounded_by_their_size() -> None:
    large = task(replicas=100)
    large["template"]["metadata"] = {"annotations": {"x": "x" * 100_000}}
    (action,) = [each for each in made(job(large, phase="Pending")).actions if isinstance(each, CreatePods)]
    sizes = [len(msgspec.json.encode(body)) for body in action.bodies]
    assert sum(sizes[:-1]) <= MOST_BYTES_AT_ONCE < sum(sizes)


def test_one_pod_that_is_larger_than_that_is_created_alone() -> None:
    large = task(replicas=2)
    large["template"]["metadata"] = {"annotations": {"x": "x" * (MOST_BYTES_AT_ONCE + 1)}}
    (action,) = [each for each in made(job(large, phase="Pending")).actions if isinstance(each, CreatePods)]
    assert len(action.bodies) == 1


def test_plugins_list_the_hosts_of_so_many_pods_at_most() -> None:
    of = job(task(replicas=HOSTS.most + 1), phase="Pending", plugins={"svc": [], "mpi": []})
    (config_map,) = [kept for each in PLUGINS.for_job(of) for kept in each.objects(of) if kept.kind == "ConfigMap"]
    with pytest.raises(ValueError, match="the job has 10001 pods; plugins list at most 10000 hosts"):
        config_map.make()


def test_svc_gives_a_pod_so_many_variables_at_most() -> None:
    tasks = [task(f"t{n}") for n in range(600)]
    tasks[0]["template"]["spec"]["containers"] *= VARIABLES.most // 1200 + 1
    waiting = made(job(*tasks, phase="Pending", plugins={"svc": []})).waiting
    assert waiting is not None
    assert "1200 variables for each of 9 containers are more than 10000 for a pod; set --inject" in waiting.message


def flow_of(steps: int, targets: int) -> JobFlow:
    flows = [{"name": f"t{n}", "dependsOn": {"targets": [f"x{o}" for o in range(targets)]}} for n in range(steps)]
    return msgspec.convert({"metadata": {"name": "f", "namespace": "ns"}, "spec": {"flows": flows}}, JobFlow)


def test_what_is_wrong_with_a_flow_is_reported_in_few_words() -> None:
    (event,) = plan_flow(flow_of(100, 100), {}, {}, {}, datetime.now(UTC)).events
    assert event.message.endswith("; and 9997 more")
    (event,) = plan_flow(flow_of(101, 100), {}, {}, {}, datetime.now(UTC)).events
    assert event.message.startswith(
        "no Jobs are created: spec.flows has 101 steps with 10100 targets; at most 1000 with"
    )
    assert FLOW_TARGETS.most == 10_000


def test_the_jobs_of_a_cron_job_are_found_in_its_status_in_one_pass() -> None:
    def work(size: int) -> int:
        active = [{"uid": f"u{n}", "name": f"j{n}"} for n in range(size)]
        body = {"metadata": {"name": "c", "namespace": "ns"}, "spec": {"schedule": "@daily"}}
        cron = msgspec.convert(body, CronJob)
        cron = replace(cron, status=msgspec.convert({"active": active}, type(cron.status)))
        known = [replace(each, uid=CountedName(each.uid)) for each in cron.status.active]
        cron = replace(cron, status=replace(cron.status, active=known))
        owner = {"kind": "CronJob", "apiVersion": "batch.volcano.sh/v1alpha1", "name": "c", "controller": True}
        jobs = [
            msgspec.convert(
                {
                    "metadata": {"name": f"j{n}", "namespace": "ns", "uid": f"u{n}", "ownerReferences": [owner]},
                    "status": {"state": {"phase": str(JobPhase.RUNNING)}},
                },
                VolcanoJob,
            )
            for n in range(size)
        ]
        return work_of(lambda: plan_cron(cron, jobs, datetime.now(UTC)))

    assert growth(work, 400) < LINEAR
