"""Which plugins a job gets, and in which order."""

from __future__ import annotations

import msgspec
import pytest

from tests.unit.jobs.plugins.working import plugins_of
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import JobPlugin, JobPlugins
from volcano_py.jobs.plugins.plugin import PluginArgumentError


def test_required_plugins_come_first_and_once() -> None:
    assert plugins_of({"mpi": None, "ssh": None}) == ["ssh", "svc", "mpi"]


class Chicken(JobPlugin):
    name = "chicken"
    requires = ("egg",)


class Egg(JobPlugin):
    name = "egg"
    requires = ("chicken",)


def test_plugins_that_require_each_other_are_refused() -> None:
    job = msgspec.convert({"metadata": {"name": "train"}, "spec": {"plugins": {"chicken": []}}}, VolcanoJob)
    with pytest.raises(PluginArgumentError, match="job plugin egg: it requires chicken, which requires it"):
        JobPlugins.of([Chicken, Egg]).for_job(job)
