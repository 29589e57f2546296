"""Volcano Jobs, CronJobs, JobTemplates and JobFlows of all pages and of the examples: admission has nothing against
them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import pytest

from tests.support.queues.queue_worlds import queue, world
from tests.unit.docs.pages import PROJECT, all_blocks, yaml_documents
from volcano_py.admission.jobs import JobContext, validate_create
from volcano_py.admission.templates import judge
from volcano_py.admission.violation import Violation
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import BUILTIN, JobPlugins

CUSTOMS: Final = JobContext(JobRules(), JobPlugins.of(BUILTIN))


def shown() -> Iterator[tuple[str, dict[str, Any]]]:
    """Objects of Volcano's job APIs, and where they stand."""
    for block in all_blocks("yaml"):
        if not {"refused", "rejected"} & block.marks.keys():
            yield from ((str(block), each) for each in block.documents if is_ours(each))
    for path in sorted((PROJECT / "examples").rglob("*.yaml")):
        name = str(path.relative_to(PROJECT))
        yield from ((name, each) for each in yaml_documents(path.read_text()) if is_ours(each))


def is_ours(document: Any) -> bool:
    group = document.get("apiVersion", "").partition("/")[0] if isinstance(document, dict) else ""
    return group in ("batch.volcano.sh", "flow.volcano.sh")


def judged(body: dict[str, Any]) -> tuple[Violation, ...]:
    """By the rules of its kind, with queues of the names that it uses."""
    spec = body["spec"]
    queues = world(*(queue(name) for name in {str(spec.get("queue", "default")), "default"}))
    if body["kind"] == "Job":
        return validate_create(msgspec.convert(body, VolcanoJob), queues, CUSTOMS)
    return judge(body["kind"].lower(), body["metadata"]["name"], spec, None, queues, CUSTOMS)


@pytest.mark.parametrize(("where", "body"), [pytest.param(*each, id=each[0]) for each in shown()])
def test_it_is_admitted(where: str, body: dict[str, Any]) -> None:
    found = judged(body)
    assert not found, f"{where}: {body['metadata']['name']}: {'; '.join(map(str, found))}"


def test_each_kind_is_shown_on_a_page_and_among_the_examples() -> None:
    kinds = {(where.startswith("examples"), body["kind"]) for where, body in shown()}
    assert kinds == {(place, kind) for place in (True, False) for kind in ("Job", "CronJob", "JobTemplate", "JobFlow")}


def test_what_is_wrong_would_be_found() -> None:
    """The rules are the real ones: a policy with two causes is not admitted."""
    body = next(body for _, body in shown() if body["kind"] == "Job")
    policies = [{"event": "PodFailed", "exitCode": 1, "action": "RestartJob"}]
    assert judged({**body, "spec": {**body["spec"], "policies": policies}})
