"""The header of a probe: it is one, and says nothing about where the request ends."""

from __future__ import annotations

import pytest

from tests.unit.jobs.job_flows import created, job, job_flow, plan, step
from volcano_py.jobs.flows.headers import header_problem
from volcano_py.jobs.flows.plan import PodProbe


@pytest.mark.parametrize(
    ("name", "value"), [("Host", "inner"), ("X-Probe", ""), ("x_probe", "a b\té"), ("Authorization", "Bearer x")]
)
def test_a_header_may_be_sent(name: str, value: str) -> None:
    assert header_problem(name, value) == ""


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("", "x", "'', which is not the name of a header"),
        ("Bad Name", "x", "'Bad Name', which is not the name of a header"),
        ("X: y", "x", "'X: y', which is not the name of a header"),
        ("X\r\nY", "x", r"'X\r\nY', which is not the name of a header"),
        ("X\n", "x", r"'X\n', which is not the name of a header"),
        ("é", "x", "'é', which is not the name of a header"),
        ("X", "a\r\nY: b", "'X', whose value has a control character"),
        ("X", "a\0", "'X', whose value has a control character"),
        ("content-length", "5", "'content-length', which a request without a body may not have"),
        ("Transfer-Encoding", "chunked", "'Transfer-Encoding', which a request without a body may not have"),
    ],
)
def test_a_header_is_refused_with_the_reason(name: str, value: str, problem: str) -> None:
    assert header_problem(name, value) == problem


PROBE = {"httpGetList": [{"port": 80, "httpHeader": {"name": "X: y", "value": "x"}}, {"port": 81}]}
FLOW = job_flow(step("a"), step("b", "a", probe=PROBE))


def test_a_step_with_a_refused_header_waits_and_says_so() -> None:
    made = plan(FLOW, job("a", "Running"), answers={PodProbe("f-a", "", 2, 81, "/"): True})
    (event,) = made.events
    assert (created(made), made.probes, event.reason) == ([], frozenset(), "InvalidJobFlow")
    assert event.message == (
        "step b waits: dependsOn.probe has the header 'X: y', which is not the name of a header; correct it"
    )


def test_a_target_that_has_completed_needs_no_header() -> None:
    made = plan(FLOW, job("a", "Completed"))
    assert (created(made), made.events) == (["b"], ())
