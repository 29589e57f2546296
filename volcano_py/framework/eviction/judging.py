"""Whether the plugins together give up a unit: tiers, intersections and guards, as for single pods.

Units are judged one after the other, each with those before it already evicted in the session, so plugins need no
running sums of their own for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from volcano_py.framework.eviction.units import Need, Unit, Verdict
from volcano_py.framework.eviction.victims import counts, naming

if TYPE_CHECKING:
    from volcano_py.framework.calls.dispatch import Call, Dispatch


class Judgement(NamedTuple):
    """A verdict.

    Attributes:
        refused_by: the plugin that refused; empty when no plugin named the unit.
        given_by: the plugins that gave the unit up, without those that only protect pods.
    """

    verdict: Verdict
    refused_by: str = ""
    given_by: tuple[str, ...] = ()


def judge(dispatch: Dispatch, point: str, need: Need, unit: Unit, *, in_time: bool = False) -> Judgement:
    """The first tier that gives the unit up decides, and every guard has to agree. For preempt, a job of no lower
    priority goes whole only where a plugin of the tier has a say in that (`preempts_equals`).

    `in_time`: as if all protection that ends with time had done so.
    """
    if need.among_deadlocked:
        return _judge_deadlocked(dispatch, point, need, unit)
    guards = [call for call in dispatch.calls(point) if point in call.plugin.guards and counts(call, in_time)]
    refused_by = ""
    is_equal = unit.is_whole and point == "preemptable" and unit.job.priority >= need.task.job.priority
    for calls in naming(dispatch, point):
        asked = [call for call in calls if counts(call, in_time)]
        if is_equal and not any(call.plugin.preempts_equals for call in asked):
            continue
        judged = _tier(asked, [guard for guard in guards if guard not in calls], point, need, unit)
        if judged.verdict is not Verdict.NO:
            return judged
        refused_by = refused_by or judged.refused_by
    return Judgement(Verdict.NO, refused_by)


def _tier(asked: list[Call], guards: list[Call], point: str, need: Need, unit: Unit) -> Judgement:
    """The judgement of one tier and the guards of the others: the first refusal, or the least favourable answer."""
    verdict, is_named, given_by = Verdict.YES, False, []
    for call in (*asked, *guards):
        answer = _answer(call, point, need, unit)
        if answer is Verdict.NO:
            return Judgement(Verdict.NO, call.plugin.name)
        if answer is not None:
            is_named |= call in asked and not call.plugin.only_protects
            verdict = min(verdict, answer)
            if not call.plugin.only_protects:
                given_by.append(call.plugin.name)
    return Judgement(verdict, given_by=tuple(given_by)) if is_named else Judgement(Verdict.NO)


def _judge_deadlocked(dispatch: Dispatch, point: str, need: Need, unit: Unit) -> Judgement:
    """Deadlocked gangs are protected as always, and keep what their queue is guaranteed."""
    for call in dispatch.calls(point):
        if call.plugin.only_protects:
            stays = _answer(call, point, need, unit) is Verdict.NO
        else:
            stays = bool(call.ask("is_guaranteed", need, unit, otherwise=False))
        if stays:
            return Judgement(Verdict.NO, call.plugin.name)
    return Judgement(Verdict.YES)


def _answer(call: Call, point: str, need: Need, unit: Unit) -> Verdict | None:
    """What one plugin says; None when it abstains."""
    if call.plugin.judges_units:
        judged: Verdict | None = call.ask("judge_unit", point, need, unit, otherwise=Verdict.NO)
        return judged
    given = call(need.task, unit.rows)
    if given is None:
        return None
    return Verdict.YES if given.all() else Verdict.NO
