"""Tenants may give any number of Jobs to one flow, and use one template in any number of flows."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tests.support.measuring.counted_work import growth, work_of
from volcano_py.jobs.flows.model import FLOW_API, JobFlow, JobTemplate
from volcano_py.jobs.model import VolcanoJob
from volcano_py.operator.jobs.job_flows import JobFlowController

LINEAR = 2.6


@pytest.fixture
def controller(api: Any) -> JobFlowController:
    events: list[object] = []
    return JobFlowController(api, api, active=lambda: False, record=events.append)


def flow(name: str, *steps: str) -> JobFlow:
    body = {"metadata": {"name": name, "namespace": "ns", "uid": name}, "spec": {"flows": [{"name": s} for s in steps]}}
    return msgspec.convert(body, JobFlow)


def jobs(count: int) -> list[VolcanoJob]:
    owner = {"kind": "JobFlow", "apiVersion": FLOW_API, "name": "f", "uid": "f", "controller": True}
    return [
        msgspec.convert(
            {
                "metadata": {"name": f"f-{n}", "namespace": "ns", "uid": f"u{n}", "ownerReferences": [owner]},
                "status": {"state": {"phase": "Completed"}},
            },
            VolcanoJob,
        )
        for n in range(count)
    ]


async def test_a_list_of_jobs_is_taken_in_in_one_pass(controller: JobFlowController) -> None:
    controller.upsert("JobFlow", flow("f", "a"))
    assert growth(lambda size: work_of(lambda: controller.replace("VolcanoJob", jobs(size))), 200) < LINEAR


async def test_a_template_that_comes_is_looked_for_in_the_flows_that_use_it(controller: JobFlowController) -> None:
    def work(flows: int) -> int:
        for number in range(flows):
            controller.upsert("JobFlow", flow(f"f{number}", f"t{number}"))
        body = {"metadata": {"name": "t0", "namespace": "ns", "uid": f"{flows}"}}
        template = msgspec.convert(body, JobTemplate)
        return work_of(lambda: controller.upsert("JobTemplate", template))

    work(1)
    assert work(400) <= work(100) + 10
