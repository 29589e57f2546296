"""One queue: how it stands, and from whom it can have back what it deserves."""

from __future__ import annotations

from volcano_py.api.report import Amounts, QueueReport
from volcano_py.explain.model import Borrower, QueueExplanation, Standing
from volcano_py.explain.target import ExplainError
from volcano_py.explain.world import World


def explain_queue(world: World, name: str) -> QueueExplanation:
    """Raises:
    ExplainError: there is no such queue.
    """
    report = world.report.queues.get(name)
    if report is None:
        raise ExplainError(f"queue {name} does not exist, or you may not read it: `volcano-py queue list` lists them")
    short = _beyond(_least(report.request, report.deserved), report.allocated)
    borrowers = tuple(_borrowers(world, name, short))
    can_reclaim = bool({"reclaim", "gangreclaim"} & set(world.configuration.actions))
    note = "" if can_reclaim else "nothing is taken back: the configuration has no action reclaim"
    return QueueExplanation(
        standing=_standing(report),
        children=tuple(_standing(each) for each in world.report.queues.values() if each.parent == name),
        waiting=sum(job.queue == name for job in world.report.pending),
        short=short,
        borrowers=borrowers,
        note=note if borrowers else "",
    )


def _borrowers(world: World, name: str, short: Amounts) -> list[Borrower]:
    parents = {report.parent for report in world.report.queues.values()}
    found = []
    for report in world.report.queues.values():
        over = {key: value for key, value in _beyond(report.allocated, report.deserved).items() if key in short}
        if report.name != name and report.name not in parents and over:
            found.append(Borrower(report.name, over, world.session.queues[report.name].reclaimable))
    return found


def _standing(report: QueueReport) -> Standing:
    return Standing(
        queue=report.name,
        state=report.state,
        allocated=dict(report.allocated),
        deserved=dict(report.deserved),
        capability=dict(report.capability),
        guarantee=dict(report.guarantee),
        share=round(report.share, 4),
    )


def _least(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: min(value, other.get(name, 0)) for name, value in one.items()}


def _beyond(one: Amounts, other: Amounts) -> dict[str, int]:
    return {name: value - other.get(name, 0) for name, value in one.items() if value > other.get(name, 0)}
