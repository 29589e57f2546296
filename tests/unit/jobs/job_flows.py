"""JobFlows, the Jobs they own and the templates they are made from, in few words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from volcano_py.jobs.flows.model import JobFlow, JobTemplate
from volcano_py.jobs.flows.plan import FlowPlan, owned_by, plan_flow
from volcano_py.jobs.model import VolcanoJob

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def job_flow(*steps: dict[str, Any], status: dict[str, Any] | None = None, **spec: Any) -> JobFlow:
    """A flow called `f`."""
    body = {
        "metadata": {"name": "f", "namespace": "ns", "uid": "flow"},
        "spec": {"flows": list(steps), **spec},
        "status": status or {},
    }
    return msgspec.convert(body, JobFlow)


def step(name: str, *targets: str, probe: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """A step that depends on others."""
    body: dict[str, Any] = {"name": name, **more}
    if targets or probe:
        body["dependsOn"] = {"targets": list(targets)} | ({"probe": probe} if probe else {})
    return body


def job(step_name: str, phase: str, *, owner: str = "flow", minute: int = 0, **status: Any) -> VolcanoJob:
    """The Job of a step; it has the tasks `serve` (two pods) and `log` (one pod, none needed)."""
    reference = {"kind": "JobFlow", "apiVersion": "flow.volcano.sh/v1alpha1", "uid": owner, "controller": True}
    body = {
        "metadata": {
            "name": f"f-{step_name}",
            "namespace": "ns",
            "uid": f"uid-{step_name}",
            "creationTimestamp": "2026-03-02T08:00:00Z",
            "ownerReferences": [reference],
        },
        "spec": {"tasks": [{"name": "serve", "replicas": 2}, {"name": "log", "replicas": 1, "minAvailable": 0}]},
        "status": {"state": {"phase": phase, "lastTransitionTime": f"2026-03-02T08:{minute:02}:00Z"}, **status},
    }
    return msgspec.convert(body, VolcanoJob)


def template(name: str, **spec: Any) -> JobTemplate:
    """A template, by default with one task."""
    body = {"metadata": {"name": name, "namespace": "ns"}, "spec": spec or {"tasks": [{"name": "t", "replicas": 1}]}}
    return msgspec.convert(body, JobTemplate)


def plan(flow: JobFlow, *jobs: VolcanoJob, without: tuple[str, ...] = (), answers: Any = None) -> FlowPlan:
    """The plan with templates for all steps but those in `without`."""
    templates = {each.name: template(each.name) for each in flow.spec.flows if each.name not in without}
    return plan_flow(flow, owned_by(flow, jobs), templates, answers or {}, NOW)


def created(made: FlowPlan) -> list[str]:
    """Names of the steps whose Jobs are to be made."""
    return [each.name for each in made.create]
