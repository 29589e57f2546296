"""Reviews on their way through kopf: what it is given, and patches that cost what they change."""

from __future__ import annotations

import copy
from typing import Any

import hypothesis.strategies as st
import jsonpatch
import msgspec
from hypothesis import given

from tests.support.measuring.counted_work import growth, work_of
from volcano_py.admission import jobs
from volcano_py.admission.jobs import JobContext
from volcano_py.admission.semantic_diff import first_difference
from volcano_py.api.json_values import is_deeper_than
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import BUILTIN, JobPlugins
from volcano_py.operator.webhooks.reviews import Review, for_kopf, operations

NAMES = st.sampled_from(["a", "b", "c/d", "e~f", ""])
VALUES = st.recursive(
    st.integers(0, 2) | st.text("xy", max_size=1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=4)
PATCHES = st.dictionaries(NAMES, st.recursive(
    st.none() | VALUES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8
), max_size=4)  # fmt: skip


def merged(value: Any, patch: Any) -> Any:
    """RFC 7386, as it is written there."""
    if not isinstance(patch, dict):
        return patch
    result = copy.deepcopy(value) if isinstance(value, dict) else {}
    for name, change in patch.items():
        if change is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), change)
    return result


@given(OBJECTS, PATCHES)
def test_the_operations_make_what_the_merge_patch_means(before: dict[str, Any], patch: dict[str, Any]) -> None:
    untouched = copy.deepcopy(before)
    found = operations(before, patch)
    assert jsonpatch.apply_patch(before, found) == merged(before, patch)
    assert before == untouched


@given(OBJECTS)
def test_what_is_there_already_is_no_operation(before: dict[str, Any]) -> None:
    assert operations(before, before) == []


CUSTOMS = JobContext(JobRules(), JobPlugins.of(BUILTIN))


def job(values: int, depth: int = 0, last: str = "x") -> dict[str, Any]:
    """With so many variables in its only container, and further fields around that are nested so deep."""
    variables: Any = [{"name": f"v{index}", "value": "x"} for index in range(values)]
    variables[-1]["value"] = last
    for _ in range(depth):
        variables = {"a": variables}
    container = {"name": "main", "env": variables}
    return {"queue": "q", "tasks": [{"name": "t", "template": {"spec": {"containers": [container]}}}]}


def test_defaults_of_a_job_cost_nothing_for_what_they_leave_alone() -> None:
    def work(values: int) -> int:
        spec = job(values)
        decoded = msgspec.convert({"metadata": {"name": "j"}, "spec": spec}, VolcanoJob)
        return work_of(lambda: operations({"spec": spec}, jobs.defaults(decoded, spec, CUSTOMS)))

    work(1)  # the first one in a process also loads modules
    assert work(10_000) == work(10)


def test_an_update_is_compared_in_one_pass_however_deep_it_is() -> None:
    def work(depth: int) -> int:
        old, new = job(500, depth), job(500, depth, "y")
        return work_of(lambda: first_difference("tasks", old["tasks"], new["tasks"]))

    way = first_difference("tasks", job(3, 2)["tasks"], job(3, 2, "y")["tasks"])
    assert way == [0, "template", "spec", "containers", 0, "env", "a", "a", 2, "value"]
    assert growth(work, 20) < 1.1


def test_kopf_gets_names_alone_and_the_handler_everything() -> None:
    new = {"metadata": {"name": "q", "namespace": "ns", "uid": "1", "labels": {}}, "spec": {"weight": 1}}
    review: dict[str, Any] = {
        "kind": "AdmissionReview",
        "request": {"operation": "CREATE", "object": new, "oldObject": None},
    }
    names = {"metadata": {"name": "q", "namespace": "ns"}}
    assert for_kopf(review) == {
        "kind": "AdmissionReview",
        "request": {"operation": "CREATE", "object": names, "oldObject": None},
    }
    assert Review.of(review["request"]) == Review("CREATE", "q", "ns", new, None)


@given(VALUES, st.integers(0, 6))
def test_depth_is_that_of_the_deepest_value(value: Any, levels: int) -> None:
    def depth(each: Any) -> int:
        inner = each.values() if isinstance(each, dict) else each if isinstance(each, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    assert is_deeper_than(levels, value) is (depth(value) > levels)
