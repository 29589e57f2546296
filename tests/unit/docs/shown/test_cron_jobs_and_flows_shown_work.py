"""Blocks of YAML that are CronJobs and JobFlows: their schedules come, their steps have an order and templates."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from tests.unit.docs.clusters import documents_of
from tests.unit.docs.pages import Block, all_blocks, blocks
from volcano_py.jobs.crons.plan import CronJob, job_for, plan_cron
from volcano_py.jobs.flows.jobs import flow_job
from volcano_py.jobs.flows.model import JobFlow, JobTemplate
from volcano_py.jobs.flows.plan import flow_problems
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import BUILTIN, JobPlugins

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)


def bodies(kind: str, group: str) -> list[Any]:
    """Objects of a kind on all pages, as parameters: the block and the object."""
    return [
        pytest.param(block, document, id=str(block))
        for block in all_blocks("yaml")
        if "rejected" not in block.marks
        for document in block.documents
        if isinstance(document, dict)
        and document.get("kind") == kind
        and document.get("apiVersion", "").startswith(group)
    ]


def runs(body: dict[str, Any]) -> None:
    """The Job can be read, has tasks, and plugins that understand their arguments."""
    job = msgspec.convert(body, VolcanoJob)
    assert job.spec.tasks
    JobPlugins.of(BUILTIN).for_job(job)


@pytest.mark.parametrize(("block", "body"), bodies("CronJob", "batch.volcano.sh/"))
def test_a_cron_job_makes_its_jobs(block: Block, body: dict[str, Any]) -> None:
    body["metadata"]["creationTimestamp"] = "2026-03-01T00:00:00Z"
    cron = msgspec.convert(body, CronJob)
    soon = plan_cron(cron, [], NOW).look_again
    assert soon is not None
    assert plan_cron(cron, [], soon).start == soon
    assert soon < NOW + timedelta(days=400)
    runs(job_for(cron, soon))


@pytest.mark.parametrize(("block", "body"), bodies("JobFlow", "flow.volcano.sh/"))
def test_a_flow_has_an_order_and_its_templates(block: Block, body: dict[str, Any]) -> None:
    flow = msgspec.convert(body, JobFlow)
    assert flow_problems(flow.spec.flows) == []
    beside = [
        other for other in blocks(block.page) if other.marks.get("file") in block.marks.get("with", "").split(", ")
    ]
    templates = {
        document.body["metadata"]["name"]: msgspec.convert(document.body, JobTemplate)
        for other in (block, *beside)
        for document in documents_of(other)
        if document.body["kind"] == "JobTemplate"
    }
    for step in flow.spec.flows:
        runs(flow_job(flow, step, templates[step.name]))


def test_there_are_some() -> None:
    assert bodies("CronJob", "batch.volcano.sh/")
    assert bodies("JobFlow", "flow.volcano.sh/")
