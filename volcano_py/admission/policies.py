"""Policies of jobs and tasks: which action follows an event."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from volcano_py.admission.violation import Violation
from volcano_py.api.go_values import parse_duration
from volcano_py.jobs.model import JobAction, JobEvent, Policy

_ACTIONS: Final = tuple(action.value for action in JobAction if action is not JobAction.SYNC)
_EVENTS: Final = tuple(
    event.value
    for event in (
        JobEvent.ANY,
        JobEvent.POD_FAILED,
        JobEvent.POD_EVICTED,
        JobEvent.POD_PENDING,
        JobEvent.UNKNOWN,
        JobEvent.TASK_COMPLETED,
        JobEvent.TASK_FAILED,
        JobEvent.JOB_UPDATED,
    )
)
"""Those that users may name; the others are the controller's own."""


def policy_violations(path: str, policies: Sequence[Policy]) -> Iterator[Violation]:
    """What is wrong with a list of policies; each event and each exit code decides at most once."""
    events: dict[str, int] = {}
    codes: dict[int, int] = {}
    for index, policy in enumerate(policies):
        field = f"{path}[{index}]"
        yield from _violations_of_one(field, policy)
        for event in sorted(policy.all_events):
            if (first := events.setdefault(event, index)) != index:
                rule = f"already has a policy, {path}[{first}]"
                yield Violation(field=f"{field}.event", value=event, rule=rule, fix="keep one of them")
        if policy.exit_code is not None and (first := codes.setdefault(policy.exit_code, index)) != index:
            rule, fix = f"already has a policy, {path}[{first}]", "keep one of them"
            yield Violation(field=f"{field}.exitCode", value=str(policy.exit_code), rule=rule, fix=fix)
    if JobEvent.ANY in events and len(events) > 1:
        index = events[JobEvent.ANY]
        others = ", ".join(sorted(event for event in events if event != JobEvent.ANY))
        yield Violation(
            field=f"{path}[{index}].event",
            value=JobEvent.ANY.value,
            rule=f"means every event, but there are also policies for {others}",
            fix="keep either * or those",
        )


def _violations_of_one(field: str, policy: Policy) -> Iterator[Violation]:
    yield from _wrong_cause(field, policy)
    yield from _wrong_timeout(field, policy)
    if policy.exit_code == 0:
        rule, fix = "means success, not a failure", "use the event TaskCompleted"
        yield Violation(field=f"{field}.exitCode", value="0", rule=rule, fix=fix)
    if policy.action not in _ACTIONS:
        rule, fix = "is not a policy action" if policy.action else "is required", f"choose one of {', '.join(_ACTIONS)}"
        yield Violation(field=f"{field}.action", value=policy.action, rule=rule, fix=fix)


def _wrong_cause(field: str, policy: Policy) -> Iterator[Violation]:
    """A policy needs either events or an exit code."""
    events = sorted(policy.all_events)
    if events and policy.exit_code is not None:
        rule = f"is set together with exitCode {policy.exit_code}"
        fix = "split it into two policies"
        yield Violation(field=f"{field}.event", value=", ".join(events), rule=rule, fix=fix)
    elif not events and policy.exit_code is None:
        fix = f"set an event ({', '.join(_EVENTS)}) or an exitCode"
        yield Violation(field=f"{field}.event", value="", rule="an event or an exitCode is required", fix=fix)
    for event in events:
        if event not in _EVENTS:
            fix = f"choose one of {', '.join(_EVENTS)}"
            yield Violation(field=f"{field}.event", value=event, rule="is not a policy event", fix=fix)


def _wrong_timeout(field: str, policy: Policy) -> Iterator[Violation]:
    try:
        delay = parse_duration(policy.timeout or "0")
    except ValueError:
        fix = "write numbers with their units, such as 90s, 10m or 1h30m"
        yield Violation(field=f"{field}.timeout", value=policy.timeout, rule="is not a duration", fix=fix)
        return
    # A negative one means at once, as for Volcano.
    if JobEvent.POD_PENDING in policy.all_events and delay <= timedelta():
        given = f"the timeout {policy.timeout}" if policy.timeout else "no timeout"
        rule, fix = f"has {given}, but every pod is pending at first", "set a timeout such as 10m"
        yield Violation(field=f"{field}.event", value=JobEvent.POD_PENDING.value, rule=rule, fix=fix)
