"""What is wrong with a job that no webhook has checked: nothing is created for it until that is corrected."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from volcano_py.admission.jobs import JobContext, as_submitted, job_violations
from volcano_py.admission.queue_world import QueueWorld
from volcano_py.jobs.model import VolcanoJob

_MOST_REPORTED: Final = 3  # rules that a job breaks; further ones are reported when these are fixed


def problem_with(context: JobContext, *, checks_templates: bool = True) -> Callable[[VolcanoJob], str]:
    """Describes it, "" for a job that is valid. The scheduler checks its queue and reports on the PodGroup. Not
    `checks_templates`: the pods may be sketches, such as some without an image."""
    nothing = QueueWorld.of(())

    def problem(job: VolcanoJob) -> str:
        violations = job_violations(as_submitted(job), "spec", nothing, context)
        reported = (
            str(each)
            for each in violations
            if each.field != "spec.queue" and (checks_templates or ".template." not in each.field)
        )
        return " | ".join(islice(reported, _MOST_REPORTED))

    return problem
