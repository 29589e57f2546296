"""Running actions on a session, with the shipped gang plugin unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.support.sessions import Opened, open_session
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.backfill import Backfill
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.objects import ApiObject
from volcano_py.framework.action import Action
from volcano_py.framework.status.verdicts import job_verdict, pod_verdicts
from volcano_py.plugins.gang import Gang
from volcano_py.state.snapshot import Phase

ALL: Sequence[type[Action]] = (Enqueue, Allocate, Backfill)


def act(
    *objects: ApiObject | Iterable[ApiObject],
    actions: Sequence[type[Action]] = ALL,
    tiers: Sequence[Sequence[Any]] = ((Gang,),),
    **options: Any,
) -> Opened:
    """A session in which the actions have run, in order."""
    opened = open_session(*objects, tiers=tiers, actions=actions, **options)
    for action in actions:
        opened.ssn.action = action.name
        action(action.arguments_type()).execute(opened.ssn)
    assert opened.ssn.ledger.drift() == 0
    assert not opened.ssn.dispatch.failures.counts
    return opened


def phase(opened: Opened, job: str) -> Phase:
    return opened.job(job).phase


def reported(opened: Opened, job: str) -> dict[str, str]:
    """Pod name → the reason that its condition gets, for the pods of the job that wait."""
    seen = opened.job(job)
    verdicts = pod_verdicts(opened.ssn, seen, job_verdict(opened.ssn, seen))
    return {opened.ssn.task_info(row).ref.name: verdict.reason for row, verdict in verdicts}
