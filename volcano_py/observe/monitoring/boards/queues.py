"""Queues: who waits, who is over or below what it deserves, and the amounts behind that."""

from __future__ import annotations

from typing import Final

from volcano_py.observe.monitoring.boards.common import (
    AMBER,
    BLUE,
    CHOSEN,
    CHOSEN_BY_NAME,
    QUEUE,
    QUEUES_UID,
    RESOURCE,
    RESOURCE_CHOSEN,
    by_queue,
    longest_wait,
    of_queues,
    or_nothing,
    waiting,
    waiting_by_reason,
)
from volcano_py.observe.monitoring.panels import Dashboard, Panel, Row, Shape, Step, Target, Unit
from volcano_py.observe.monitoring.queries import else_zero, gauge

_HERE: Final = {**CHOSEN, **RESOURCE_CHOSEN}


def _amount(quantity: str) -> str:
    return or_nothing(of_queues(quantity, _HERE))


def _lines(title: str, text: str, query: str, unit: Unit = Unit.COUNT, *, stacked: bool = False) -> Panel:
    return Panel(title=title, text=text, unit=unit, targets=(Target(query, "{{queue}}"),), stacked=stacked, width=8)


def _difference(title: str, text: str, more: str, less: str, color: str) -> Panel:
    query = f"sort_desc(clamp_min(({_amount(more)}) - on (queue) ({_amount(less)}), 0))"
    return Panel(
        title=title,
        text=text,
        shape=Shape.BARS,
        targets=(Target(query, "{{queue}}"),),
        steps=(Step(0.001, color),),
        leads_to=QUEUES_UID,
    )


_TABLE: Final = Panel(
    title="Queues",
    text="One line for each queue, with amounts of $resource. What a queue deserves follows from weights or from its "
    "spec; a queue that holds more is the first that pods are taken from, one that holds less and waits has a right to "
    "more.",
    shape=Shape.TABLE,
    keys=("queue", "parent", "state"),
    targets=(
        Target(gauge("queue_info", ("queue", "parent", "state"), CHOSEN)),
        Target(by_queue(gauge("queue_weight", ("queue_name",), CHOSEN_BY_NAME)), "weight"),
        Target(_amount("allocated"), "held"),
        Target(_amount("deserved"), "deserved"),
        Target(_amount("request"), "held and asked for"),
        Target(_amount("guarantee"), "guaranteed"),
        Target(_amount("real_capability"), "limit"),
        Target(by_queue(gauge("queue_pod_group_running_count", ("queue_name",), CHOSEN_BY_NAME)), "PodGroups that run"),
        Target(waiting("queue", CHOSEN), "PodGroups that wait"),
        Target(longest_wait(("queue",), CHOSEN), "longest wait", Unit.SECONDS),
    ),
    width=24,
    height=10,
)
_NOW: Final = Row(
    "Who waits, who is over",
    (
        _TABLE,
        _difference(
            "$resource above what is deserved",
            "Queues that borrow. Their pods are reclaimed first when others ask for what they deserve (with the action "
            "reclaim).",
            "allocated",
            "deserved",
            AMBER,
        ),
        _difference(
            "$resource below what is deserved",
            "What queues could still get by right. With waiting PodGroups, that is where to look: is reclaim "
            "configured, do nodes fit, is there a smaller limit?",
            "deserved",
            "allocated",
            BLUE,
        ),
    ),
)
_AMOUNTS: Final = Row(
    "Amounts of $resource over time",
    (
        _lines("Held", "What the pods of the queue use (cores, bytes or a count).", _amount("allocated"), stacked=True),
        _lines("Held and asked for", "With what its waiting pods ask for.", _amount("request")),
        _lines("Deserved", "What the queue is entitled to; 0 where no plugin works it out.", _amount("deserved")),
        _lines(
            "Held, as a part of what is deserved",
            "Above 1 the queue borrows.",
            else_zero(
                f"({_amount('allocated')}) / on (queue) ({of_queues('deserved', _HERE)} > 0)", queue="none deserves any"
            ),
            Unit.SHARE,
        ),
        _lines(
            "Promised",
            "Admitted PodGroups may use this before their pods are placed. A promise that is not used blocks others.",
            _amount("inqueue"),
            stacked=True,
        ),
        _lines(
            "Limit",
            "The capability of the queue within what others are guaranteed; 0: without a limit.",
            _amount("real_capability"),
        ),
    ),
)
_PODGROUPS: Final = Row(
    "PodGroups",
    (
        waiting_by_reason(CHOSEN),
        Panel(
            title="PodGroups that wait, by queue",
            text="With any reason.",
            targets=(Target(waiting("queue", CHOSEN), "{{queue}}"),),
            stacked=True,
        ),
        _lines(
            "PodGroups that run",
            "With all pods that the gang needs.",
            by_queue(gauge("queue_pod_group_running_count", ("queue_name",), CHOSEN_BY_NAME)),
            stacked=True,
        ),
        _lines(
            "Share",
            "The order in which queues get their turn: the smaller comes first.",
            by_queue(gauge("queue_share", ("queue_name",), CHOSEN_BY_NAME)),
        ),
        _lines(
            "Guarantees that cannot be kept",
            "What specs guarantee beyond what the cluster, or the limit of a queue above, can hold. Anything but 0 is "
            "a mistake.",
            _amount("guarantee_not_kept"),
        ),
    ),
)

QUEUES: Final = Dashboard(
    uid=QUEUES_UID,
    title="volcano-py / Queues",
    text="What queues hold, deserve and may have, and what waits in them.",
    variables=(QUEUE, RESOURCE),
    rows=(_NOW, _AMOUNTS, _PODGROUPS),
)
