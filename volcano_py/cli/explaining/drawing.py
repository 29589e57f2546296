"""Explanations as lines of text: what decides comes first, parts without anything to say are left out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import zip_longest
from typing import Final

from volcano_py.api.go_values import format_duration
from volcano_py.api.reasons import Reason
from volcano_py.api.wording.amounts import amounts, number
from volcano_py.api.wording.summarize import counted, summarize
from volcano_py.cli.explaining.naming import Explanation
from volcano_py.cli.printing.one_line import plain
from volcano_py.explain.history import moment
from volcano_py.explain.model import (
    CronJobExplanation,
    Domain,
    Entry,
    Forecast,
    GpuOfNode,
    Holder,
    Limit,
    Near,
    NodeExplanation,
    Nodes,
    Position,
    QueueExplanation,
    Standing,
    WorkloadExplanation,
)

_WIDTH: Final = 100
_INDENT: Final = "  "
_GAP: Final = "  "  # between columns
_NARROW: Final = 24  # characters of a column that is not made narrower before words are broken
_NARROWEST: Final = 8  # the same for good
_MOST_ENTRIES: Final = 20  # of a history, which must not hide what comes before it


def drawn(explanation: Explanation) -> Iterator[str]:
    """The lines of one explanation, without control characters."""
    if isinstance(explanation, WorkloadExplanation):
        lines = _workload(explanation)
    elif isinstance(explanation, CronJobExplanation):
        lines = _cron_job(explanation)
    elif isinstance(explanation, QueueExplanation):
        lines = _queue(explanation)
    else:
        lines = _node(explanation)
    yield from map(plain, lines)


def _workload(workload: WorkloadExplanation) -> Iterator[str]:
    yield from _now(workload)
    if workload.now.reason and not workload.now.reported:
        yield from _waits(workload)
    if workload.history:
        yield from _part("History", _history(workload.history))
    if workload.unread:
        yield from _part("Not read", workload.unread)


def _now(workload: WorkloadExplanation) -> Iterator[str]:
    now = workload.now
    since = f" since {now.since}" if now.since else ""
    yield f"{workload.name}: {now.state}{since}, {now.running} of {counted(now.wanted, 'pod')} placed"
    if now.reason:
        yield from _wrapped(f"{now.reason}: {now.message.removeprefix(f'{now.reason}: ')}")
    if now.others:
        yield from _wrapped(now.others)
    if now.nodes:
        yield from _wrapped(f"On {_counts(now.nodes)}")
    for lost in now.lost_nodes:
        yield from _wrapped(lost)
    if now.evictions:
        yield from _part("Evicted next", now.evictions)
    if now.ignored or now.ignored_of_queues:
        yield from _part("Ignored", [*now.ignored, *now.ignored_of_queues])
    if now.hints:
        yield from _part("Hints", now.hints)


def _waits(workload: WorkloadExplanation) -> Iterator[str]:
    """Why it waits, part by part."""
    helpful = [remedy.text for remedy in workload.remedies]
    untried = [] if workload.tried_all else ["the cluster is large: not every remedy has been tried"]
    yield from _part("What would help", [*(helpful or ["no remedy that was tried makes it start"]), *untried])
    yield from _part("Limits", _limits(workload.limits), wrap=False)
    if workload.nodes is not None:
        yield from _part("Nodes", _nodes(workload.nodes))
    if workload.position is not None:
        yield from _part("Position", _position(workload.position))
    if workload.holders:
        yield from _holders(workload.holders)
    if workload.forecast is not None:
        yield from _part("Forecast", [_forecast(workload.forecast)])


def _limits(limits: Sequence[Limit]) -> list[str]:
    """Columns that are empty in all rows are left out."""
    rows: list[tuple[str, ...]] = [
        ("", "limit", "used", "promised", "asked", "deserved", "kept for others", "at most", "")
    ]
    rows += [("->" if each.binding else "", *_limit(each)) for each in limits]
    shown = [column for column in range(len(rows[0])) if any(row[column] for row in rows[1:])]
    return _aligned([tuple(row[column] for column in shown) for row in rows])


def _limit(limit: Limit) -> tuple[str, ...]:
    name = f"{limit.kind} {limit.name}"
    if limit.kind in ("gang", "nodes", "object") or not limit.resource:
        return name, "", "", "", "", "", "", limit.note
    return name, *_numbers(limit), f"{limit.resource} {limit.note}".rstrip()


def _numbers(limit: Limit) -> tuple[str, ...]:
    resource = limit.resource.removeprefix("requests.").removeprefix("limits.")

    def written(value: int | None, otherwise: str = "") -> str:
        return number(resource, value) if value else otherwise

    return (
        number(resource, limit.used),
        written(limit.promised),
        number(resource, limit.asked),
        written(limit.deserved, "" if limit.deserved is None else "0"),
        written(limit.kept_for_others),
        "unlimited" if limit.limit is None else number(resource, limit.limit),
    )


def _nodes(nodes: Nodes) -> Iterator[str]:
    yield f"{nodes.takes} of {counted(nodes.total, 'node')} would take pod {nodes.pod} now"
    for refusal, count in nodes.refusals.items():
        yield f"{count}: {refusal}"
    if not nodes.takes:
        for near in nodes.nearest:
            yield _near(near)
    for domain in nodes.domains:
        yield _domain(domain)


def _domain(domain: Domain) -> str:
    name = domain.name or "the whole cluster"
    tier = f"tier {domain.tier}" + (f", {domain.tier_name}" if domain.tier_name else "")
    allowed = "" if domain.allowed else "; it may not use this tier"
    return f"{tier}: {name} has room for {domain.room} of {counted(domain.needed, 'pod')}{allowed}"


def _near(near: Near) -> str:
    lacks = f"lacks {amounts(near.lacks)}" if near.lacks else ""
    return f"nearest: {near.node}: {', '.join(part for part in (near.refusal, lacks) if part)}"


def _position(position: Position) -> Iterator[str]:
    created = moment(datetime.fromtimestamp(position.created, UTC))
    yield (
        f"number {position.place} of {position.waiting} waiting in queue {position.queue} (priority "
        f"{position.priority}, created {created}); its queue is number {position.queue_place} of {position.queues} "
        f"(priority {position.queue_priority}, share {position.queue_share:.2f})"
    )
    if position.ahead:
        names = [f"{each.name} (priority {each.priority}, {counted(each.pods, 'pod')})" for each in position.ahead]
        yield f"ahead: {summarize(names, total=position.place - 1, most=5)}; they ask for {amounts(position.before)}"


def _holders(holders: Sequence[Holder]) -> Iterator[str]:
    rows = [("job", "queue", "priority", "holds", "its queue holds", "of deserved")]
    rows += [
        (
            each.job,
            each.queue,
            str(each.priority),
            amounts(each.holds),
            amounts(each.queue_allocated),
            amounts(each.queue_deserved),
        )
        for each in holders
    ]
    yield from _part("Who runs instead", _aligned(rows), wrap=False)
    yield ""
    for line in _staying(holders):
        yield from _wrapped(line, hanging=True)


def _staying(holders: Sequence[Holder]) -> Iterator[str]:
    """Why they stay, once for all with the same reason."""
    by_reason: dict[str, list[str]] = {}
    for each in holders:
        by_reason.setdefault(each.stays, []).append(each.job)
    for why, jobs in by_reason.items():
        names = summarize(jobs, most=5)
        if why:
            yield f"{names} stay{'s' * (len(jobs) == 1)}: {why}"
        else:
            yield f"{names}: may be evicted, but that would not make enough room"


def _forecast(forecast: Forecast) -> str:
    if not forecast.at:
        return f"none: {forecast.why}"
    after = f", when {summarize(list(forecast.after), most=5)} end{'s' * (len(forecast.after) == 1)}"
    length = format_duration(timedelta(seconds=forecast.seconds))
    return f"in {length}, at {forecast.at}{after if forecast.after else ''}; {forecast.why}"


def _history(history: Sequence[Entry]) -> Iterator[str]:
    """The newest entries."""
    earlier = len(history) - _MOST_ENTRIES
    if earlier > 0:
        yield f"({counted(earlier, 'earlier line')} left out: --output json has all)"
    for each in history[-_MOST_ENTRIES:]:
        yield f"{each.at} {each.object}: {each.text}{f' (first at {each.since})' if each.since else ''}"


def _cron_job(cron: CronJobExplanation) -> Iterator[str]:
    yield f"{cron.name}: {_runs_next(cron)}"
    if cron.problem:
        yield from _wrapped(cron.problem)
    elif cron.schedule:
        zone = f", time zone {cron.time_zone}" if cron.time_zone else ""
        last = f"; last run at {cron.last}" if cron.last else ""
        yield from _wrapped(f"Schedule {cron.schedule}{zone}{last}")
    if cron.concurrency:
        yield from _wrapped(cron.concurrency)
    for note in cron.notes:
        yield from _wrapped(note)
    if not (cron.jobs or cron.notes):
        yield from _wrapped("none of its Jobs runs or waits" + ", as far as they could be read" * bool(cron.unread))
    for job in cron.jobs:
        yield ""
        yield from _workload(job)
    if cron.more:
        yield ""
        more = f"{counted(len(cron.more), 'more Job')} not explained here: {summarize(list(cron.more), most=5)}"
        yield from _wrapped(more)
    if cron.unread:
        yield from _part("Not read", cron.unread)


def _runs_next(cron: CronJobExplanation) -> str:
    if not cron.state:
        return "when it runs next is not known"
    if cron.problem or cron.state == "Deleting":
        return f"{cron.state}, no Jobs are created"
    if cron.next:
        return f"{cron.state}, next run in {format_duration(timedelta(seconds=cron.seconds))}, at {cron.next}"
    return f"{cron.state}, no next run" + (": spec.suspend is true" if cron.state == "Suspended" else "")


def _queue(queue: QueueExplanation) -> Iterator[str]:
    yield f"Queue {queue.standing.queue}: {queue.standing.state}, {counted(queue.waiting, 'job')} waiting"
    for text in queue.invalid:
        yield from _wrapped(f"{Reason.INVALID_QUEUE.value}: {text}")
    yield from _part("Standing", _standings([queue.standing]), wrap=False)
    if queue.children:
        yield from _part("Queues below it", _standings(queue.children), wrap=False)
    if queue.lent:
        yield from _part("What it can reclaim", [*_lent(queue), *([queue.note] if queue.note else [])])
    if queue.ignored:
        yield from _part("Ignored", queue.ignored)
    if queue.unread:
        yield from _part("Not read", queue.unread)


def _lent(queue: QueueExplanation) -> Iterator[str]:
    asks = f"asks for {amounts(queue.short)} of that" if queue.short else "asks for nothing of that"
    yield f"deserved, but not held: {amounts(queue.lent)}; it {asks}"
    for each in queue.borrowers:
        over = f"queue {each.queue} holds {amounts(each.over)} beyond what it deserves"
        if not each.reclaimable:
            yield f"{over}; it is not reclaimable"
        elif queue.note:
            yield over
        else:
            yield f"{over}; its pods that may be evicted hold {amounts(each.back)} of that"


def _standings(standings: Sequence[Standing]) -> list[str]:
    rows = [("queue", "share", "holds", "deserves", "capability", "guarantee")]
    rows += [
        (
            each.queue,
            f"{each.share:.2f}",
            amounts(each.allocated),
            amounts(each.deserved),
            amounts(each.capability) if each.capability else "unlimited",
            amounts(each.guarantee),
        )
        for each in standings
    ]
    return _aligned(rows)


def _node(node: NodeExplanation) -> Iterator[str]:
    takes = f"takes no pods: {node.closed}" if node.closed else f"still takes {amounts(node.free)}"
    yield f"Node {node.name} {takes}"
    yield from _wrapped(f"{amounts(node.used)} of {amounts(node.allocatable)} in use")
    for each in node.devices:
        yield from _wrapped(f"{each.used} of {counted(each.count, 'device')} of {each.driver} in use")
    for numa in node.numa:
        yield from _wrapped(f"{numa.free} of {counted(numa.cpus, 'CPU')} of NUMA node {numa.number} free")
    for gpu in node.gpus:
        yield from _wrapped(_gpu(gpu))
    if node.taints:
        yield from _part("Only pods that tolerate", node.taints)
    if node.pods:
        yield from _part("What is there", [f"{name}: {counted(count, 'pod')}" for name, count in node.pods.items()])
    if node.ignored:
        yield from _part("Ignored", node.ignored)
    if node.unread:
        yield from _part("Not read", node.unread)


def _gpu(gpu: GpuOfNode) -> str:
    kind = f" ({gpu.kind})" if gpu.kind else ""
    cores = f", {gpu.cores_used} % of the cores" if gpu.cores_used else ""
    return f"{gpu.memory_used} of {gpu.memory} MB of GPU {gpu.name}{kind} in use{cores}; users: {gpu.users}"


def _part(title: str, lines: Sequence[str] | Iterator[str], *, wrap: bool = True) -> Iterator[str]:
    yield ""
    yield title
    for line in lines:
        if wrap:
            yield from _wrapped(line, hanging=True)
        else:
            yield f"{_INDENT}{line}".rstrip()


def _wrapped(text: str, *, hanging: bool = False) -> list[str]:
    following = _INDENT * 2 if hanging else _INDENT
    return textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=following, break_on_hyphens=False)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The rows in columns; where these are too wide together, the texts of the widest are wrapped."""
    widths = _fitting(rows)
    return [
        _GAP.join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
        for row in rows
        for parts in zip_longest(*map(_folded, row, widths), fillvalue="")
    ]


def _folded(cell: str, width: int) -> list[str]:
    return textwrap.wrap(cell, max(width, 1), break_on_hyphens=False)


def _fitting(rows: Sequence[tuple[str, ...]]) -> list[int]:
    """The width of each column. The widest gives way first: down to its longest word, and if that is not enough,
    further."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    words = [max((len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    room = _WIDTH - len(_INDENT) - len(_GAP) * (len(columns) - 1)
    not_broken, broken = ([limit(word, _NARROW) for word in words] for limit in (max, min))
    for least in (not_broken, broken, [min(word, _NARROWEST) for word in words]):
        while sum(widths) > room:
            wide = [at for at, width in enumerate(widths) if width > least[at]]
            if not wide:
                break
            widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def _counts(counts: Mapping[str, int]) -> str:
    return summarize([f"{name} ({counted(count, 'pod')})" for name, count in counts.items()], most=5)
