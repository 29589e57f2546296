"""Annotations and labels that cannot be read are ignored, so they refuse nothing; their author is warned."""

from __future__ import annotations

from typing import Any

from volcano_py.admission import jobs, pod_groups
from volcano_py.api.json_values import converted
from volcano_py.api.objects import PodGroup
from volcano_py.jobs.model import VolcanoJob

ESTIMATE = (
    "annotation volcano.sh/running-estimate is 'long': write a duration above 0, such as 45m; "
    "until then it counts as absent"
)
PRIORITY = (
    "annotation volcano.sh/task-priority is '1e999': write a whole number, such as 100; until then it counts as absent"
)


def job(annotations: dict[str, Any], *templates: Any) -> VolcanoJob:
    tasks = [{"name": f"t{number}", "replicas": 1, "template": each} for number, each in enumerate(templates)]
    return converted({"metadata": {"name": "j", "annotations": annotations}, "spec": {"tasks": tasks}}, VolcanoJob)


def test_of_a_pod_group() -> None:
    metadata = {"name": "g", "annotations": {"volcano.sh/running-estimate": "long", "volcano.sh/preemptable": "true"}}
    assert list(pod_groups.ignored_warnings(converted({"metadata": metadata}, PodGroup))) == [ESTIMATE]


def test_of_a_job_and_of_its_pod_templates() -> None:
    odd = {"metadata": {"annotations": {"volcano.sh/task-priority": "1e999"}}}
    found = jobs.annotation_warnings(job({"volcano.sh/running-estimate": "long"}, {}, odd))
    assert list(found) == [ESTIMATE, f"spec.tasks[1].template: {PRIORITY}"]


def test_nothing_is_said_of_what_can_be_read() -> None:
    fine = {
        "metadata": {"annotations": {"volcano.sh/task-priority": "7"}, "labels": {"volcano.sh/preemptable": "true"}}
    }
    assert list(jobs.annotation_warnings(job({"volcano.sh/sla-waiting-time": "1h"}, fine, {}))) == []


def test_a_template_that_is_no_template_is_not_looked_at() -> None:
    """The API server refuses its pods, and says why."""
    odd: list[Any] = [[], "x", {"annotations": [1]}, {"annotations": {"volcano.sh/task-priority": 7}}, None]
    for metadata in odd:
        assert list(jobs.annotation_warnings(job({}, {"metadata": metadata}))) == []
