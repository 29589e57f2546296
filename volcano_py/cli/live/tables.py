"""An overview as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

from volcano_py.api.reasons import Reason
from volcano_py.api.wording import explain
from volcano_py.api.wording.amounts import amount, number
from volcano_py.api.wording.summarize import counted
from volcano_py.cli.live.overview import (
    SETTLED_PHASES,
    EventRow,
    GroupRow,
    LoneRow,
    MissingQueueRow,
    NodeRow,
    Overview,
    QueueRow,
    Units,
)
from volcano_py.cli.printing.one_line import plain

_STATE_STYLES: Final = {"Open": "green", "Closing": "yellow", "Closed": "red", "Unknown": "red"}
_PHASE_STYLES: Final = {"Running": "green", "Completed": "dim", "Pending": "yellow", "Inqueue": "yellow"}
_FIRST_RESOURCES: Final = ("cpu", "memory")
_MOST_RESOURCES: Final = 4
_BAR: Final = 10  # characters
_NEARLY_FULL: Final = 0.8
_PODS_SHOWN_FROM: Final = 120  # characters; narrower screens show only how many pods a node has
_TIME_WIDTH: Final = 8
_REASON_WIDTH: Final = 16
_ABOUT_WIDTH: Final = 32  # characters; longer names of objects are cut
_MOST_EVENTS: Final = 5
_MISSING: Final = Text("does not exist", "red")
_NOT_LOOKED_AT: Final = explain.message(Reason.NOT_YET_EVALUATED, explain.not_yet_evaluated())


@dataclass(frozen=True, slots=True)
class Section:
    """One table: how many rows it has, and how to make it with a limited number of rows."""

    rows: int
    make: Callable[[int], Table]
    worth: int
    """When there is no room for all, tables of the lowest worth are left out first."""


def sections(seen: Overview, width: int) -> list[Section]:
    """Queues, PodGroups and why they wait, nodes and the latest events; none of them empty."""
    queues: list[QueueRow | MissingQueueRow] = [*seen.queues, *seen.missing]
    waiting = [group for group in seen.groups if group.why or group.waiting]
    events = seen.events[-_MOST_EVENTS:]
    with_pods = width >= _PODS_SHOWN_FROM
    every = (
        Section(len(queues), lambda most: _queues(queues, most), 4),
        Section(len(seen.groups), lambda most: _groups(seen.groups, most), 5),
        Section(len(waiting) + len(seen.alone), lambda most: _reasons([*waiting, *seen.alone], most), 2),
        Section(len(seen.nodes), lambda most: _nodes(seen.nodes, most, with_pods=with_pods), 3),
        Section(len(events), lambda most: _events(events, most), 1),
    )
    return [section for section in every if section.rows]


def resources_text(units: Units) -> str:
    """`16 cpu, 64Gi memory, 8 nvidia.com/gpu`; `-` for nothing."""
    order = sorted((name for name in units if units[name]), key=_resource_order)
    return ", ".join(amount(name, units[name]) for name in order) or "-"


def _queues(queues: Sequence[QueueRow | MissingQueueRow], most: int) -> Table:
    table = _table("Queues")
    for heading in ("Queue", "State", "Weight", "Pods", "Allocated", "Capability"):
        table.add_column(heading, justify="right" if heading in ("Weight", "Pods") else "left")
    for queue in queues[:most]:
        if isinstance(queue, MissingQueueRow):
            named_by = Text(f"{counted(queue.groups, 'PodGroup')} name{'s' * (queue.groups == 1)} it", "dim")
            table.add_row(Text(queue.name), _MISSING.copy(), "-", _share(queue.running, queue.pods), "-", named_by)
            continue
        table.add_row(
            Text("  " * queue.depth + queue.name),
            Text(queue.state or "-", _STATE_STYLES.get(queue.state, "")),
            str(queue.weight),
            _share(queue.running, queue.pods),
            Text(resources_text(queue.allocated)),
            Text(resources_text(queue.capability) if queue.capability else "no limit", "dim"),
        )
    return _with_rest(table, len(queues) - most)


def _groups(groups: Sequence[GroupRow], most: int) -> Table:
    table = _table("PodGroups")
    for heading in ("PodGroup", "Queue", "Phase", "Min", "Running", "Waits because"):
        table.add_column(heading, justify="right" if heading in ("Min", "Running") else "left")
    for group in _waiting_first(groups, most):
        running = _share(group.running, group.pods)
        if group.finished:
            running.append(f", {group.finished} done", "dim")
        table.add_row(
            _name(group),
            Text(group.queue),
            Text(group.phase, _PHASE_STYLES.get(group.phase, "red")),
            str(group.minimum),
            running,
            Text(_parted(group.why)[0], "yellow"),
        )
    return _with_rest(table, len(groups) - most)


def _reasons(waiting: Sequence[GroupRow | LoneRow], most: int) -> Table:
    table = _table("Why they wait")
    table.add_column("PodGroup or pod")
    table.add_column("Why", ratio=1)
    table.expand = True
    for row in waiting[:most]:
        table.add_row(_name(row), Text(_parted(row.why or _NOT_LOOKED_AT)[1]))
    return _with_rest(table, len(waiting) - most)


def _name(row: GroupRow | LoneRow) -> Text:
    name = Text(row.name)
    if isinstance(row, GroupRow):
        return name.append(f" ({row.owner})", "dim") if row.owner else name
    return name.append(f" (Pod){f' and {row.others} more' if row.others else ''}", "dim")


def _parted(why: str) -> tuple[str, str]:
    """The reason's code and its sentence."""
    code, colon, sentence = plain(why).partition(": ")
    return (code, sentence) if colon and code.isalnum() else ("", code + colon + sentence)


def _waiting_first(groups: Sequence[GroupRow], most: int) -> list[GroupRow]:
    """All, in their order, when there is room; otherwise those that wait before those that run."""
    if len(groups) <= most:
        return list(groups)
    return sorted(groups, key=lambda group: group.phase in SETTLED_PHASES)[:most]


def _nodes(nodes: Sequence[NodeRow], most: int, *, with_pods: bool) -> Table:
    table = _table("Nodes")
    table.add_column("Node")
    table.add_column("Pods", justify="right")
    resources = _resources(nodes)
    for resource in resources:
        table.add_column(Text(resource), no_wrap=True)
    if with_pods:
        table.add_column("Which", ratio=1, no_wrap=True)
        table.expand = True
    shown = nodes if len(nodes) <= most else sorted(nodes, key=lambda node: not node.pods)[:most]
    for node in shown:
        cells = [_usage(node.used.get(name, 0), node.allocatable, name) for name in resources]
        which = (
            [Text(" ".join(pod.removeprefix("default/") for pod in node.pods), "dim", overflow="ellipsis")]
            if with_pods
            else []
        )
        table.add_row(Text(node.name), str(len(node.pods)), *cells, *which)
    return _with_rest(table, len(nodes) - most)


def _resources(nodes: Iterable[NodeRow]) -> list[str]:
    """What the nodes have, apart from room for pods and disks."""
    found = {name for node in nodes for name, units in node.allocatable.items() if units}
    return sorted(found - {"pods", "ephemeral-storage"}, key=_resource_order)[:_MOST_RESOURCES]


def _resource_order(name: str) -> tuple[int, str]:
    first = _FIRST_RESOURCES.index(name) if name in _FIRST_RESOURCES else len(_FIRST_RESOURCES)
    return first, name


def _usage(used: int, allocatable: Mapping[str, int], resource: str) -> Text:
    """`██████░░░░ 12/20`"""
    total = allocatable.get(resource, 0)
    if not total:
        return Text("-", "dim")
    share = used / total
    filled = min(_BAR, max(round(share * _BAR), 1 if used else 0))
    style = "green" if share < _NEARLY_FULL else "yellow" if share <= 1 else "red"
    text = Text("█" * filled, style)
    text.append("░" * (_BAR - filled), "dim")
    return text.append(f" {number(resource, used)}/{number(resource, total)}", "")


def _events(events: Sequence[EventRow], most: int) -> Table:
    table = _table("Events")
    table.add_column("Time", min_width=_TIME_WIDTH)
    table.add_column("Reason", no_wrap=True, min_width=_REASON_WIDTH)
    table.add_column("About", no_wrap=True, min_width=_ABOUT_WIDTH, max_width=_ABOUT_WIDTH)
    table.add_column("Message", no_wrap=True, ratio=1)
    table.expand = True
    for event in events[-most:]:
        times = f" (x{event.count})" if event.count > 1 else ""
        table.add_row(
            Text(f"{event.at.astimezone():%H:%M:%S}", "dim"),
            Text(event.reason, "yellow" if event.warning else ""),
            Text(event.about, overflow="ellipsis"),
            Text(plain(event.message) + times, "dim", overflow="ellipsis"),
        )
    return table


def _share(part: int, whole: int) -> Text:
    return Text(f"{part}/{whole}", "" if whole else "dim")


def _table(title: str) -> Table:
    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        caption_justify="left",
        caption_style="dim",
        header_style="dim",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )


def _with_rest(table: Table, rest: int) -> Table:
    if rest > 0:
        table.caption = f"… and {rest} more"
    return table
