"""Jobs stored without webhooks leave open what is filled in now; their updates are filled in like any other."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from volcano_py.admission.jobs import JobContext, defaults, validate_update
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import BUILTIN, JobPlugins

CUSTOMS = JobContext(JobRules(), JobPlugins.of(BUILTIN))


def stored(**fields: Any) -> dict[str, Any]:
    """Nothing that could be left out is there."""
    return {"tasks": [{"replicas": 4, "template": {"spec": {"containers": [{"name": "main"}]}}}], **fields}


def on_the_host() -> dict[str, Any]:
    spec = stored()
    spec["tasks"][0]["template"]["spec"]["hostNetwork"] = True
    return spec


def with_a_bad_minimum() -> dict[str, Any]:
    spec = stored()
    spec["tasks"][0]["minAvailable"] = 9
    return spec


def job(spec: dict[str, Any]) -> VolcanoJob:
    return msgspec.convert({"metadata": {"name": "train"}, "spec": spec}, VolcanoJob)


def updated(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What the API server's two webhooks make of the update, one after the other."""
    patch = defaults(job(after), after, CUSTOMS).get("spec", {})
    plugins = {**after.get("plugins", {}), **patch.get("plugins", {})}
    after = {**after, **patch, "plugins": plugins}
    return [str(each) for each in validate_update(job(before), job(after), before, after, CUSTOMS)]


OLD = [
    pytest.param(stored(), id="all left out"),
    pytest.param(stored(queue="default", schedulerName="volcano", maxRetry=3), id="nameless task"),
    pytest.param(on_the_host(), id="host network"),
    pytest.param(stored(plugins={"pytorch": ["--master=a"]}), id="plugin that needs others"),
    pytest.param(with_a_bad_minimum(), id="minimum above the replicas"),
    pytest.param(stored(tasks=[{"replicas": 4, "template": {"spec": "none"}}]), id="template that is none"),
]


@pytest.mark.parametrize("before", OLD)
def test_a_job_that_leaves_things_open_can_be_scaled(before: dict[str, Any]) -> None:
    after = copy.deepcopy(before)
    after["tasks"][0]["replicas"] = 5
    assert updated(before, after) == []


@pytest.mark.parametrize("before", OLD)
def test_an_update_of_nothing_is_admitted(before: dict[str, Any]) -> None:
    assert updated(before, before) == []


def test_what_was_left_open_cannot_become_anything_else() -> None:
    (scheduler,) = updated(stored(), stored(schedulerName="other"))
    assert scheduler.startswith("spec.schedulerName: other differs from volcano, and cannot change; ")
    named = copy.deepcopy(stored())
    named["tasks"][0]["name"] = "worker"
    (name,) = updated(stored(), named)
    assert name.startswith("spec.tasks[0].name: worker differs from default0, and cannot change; ")
