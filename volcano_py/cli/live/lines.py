"""What changed between two overviews, a line each, for logs and other places where nothing can be redrawn."""

from __future__ import annotations

from collections.abc import Iterator

from volcano_py.cli.live.overview import SETTLED_PHASES, GroupRow, LoneRow, NodeRow, Overview, QueueRow
from volcano_py.cli.live.tables import resources_text
from volcano_py.cli.printing.one_line import plain

_MOST_NAMES = 6


def changes(before: Overview, after: Overview) -> Iterator[str]:
    """Nodes that came and went, the new state of every queue and PodGroup that changed, queues that do not exist though
    PodGroups name them, and the pods that wait without a PodGroup.
    """
    yield from _nodes(before.nodes, after.nodes)
    queues = {queue.name: _queue(queue) for queue in before.queues}
    for queue in after.queues:
        if queues.get(queue.name) != (line := _queue(queue)):
            yield line
    missing = {queue.name for queue in before.missing}
    yield from (f"Queue {queue.name} does not exist" for queue in after.missing if queue.name not in missing)
    groups = {group.key: _group(group) for group in before.groups}
    for group in after.groups:
        if groups.pop(group.key, "") != (line := _group(group)):
            yield line
    for gone in before.groups:
        if gone.key in groups:
            yield f"PodGroup {_name(gone)} is gone"
    known = set(before.alone)
    # A pod without a reason gets one in a moment: a line about it would only be in the way.
    yield from (_alone(row) for row in after.alone if row.why and row not in known)


def _nodes(before: tuple[NodeRow, ...], after: tuple[NodeRow, ...]) -> Iterator[str]:
    known, now = {node.name for node in before}, {node.name for node in after}
    for names, what in ((now - known, "new"), (known - now, "gone")):
        if names:
            listed = ", ".join(sorted(names)[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
            yield f"{len(names)} {'node' if len(names) == 1 else 'nodes'} {what}: {listed}"


def _queue(queue: QueueRow) -> str:
    ceiling = f", at most {resources_text(queue.capability)}" if queue.capability else ""
    return f"Queue {queue.name}: {queue.state or 'no state yet'}, weight {queue.weight}{ceiling}"


def _group(group: GroupRow) -> str:
    done = f", {group.finished} done" if group.finished else ""
    text = f"PodGroup {_name(group)}: {group.phase} in {group.queue}, {group.running}/{group.pods} pods running{done}"
    if not group.why:
        return text
    return f"{text}; {'some wait' if group.phase in SETTLED_PHASES else 'waits'}: {plain(group.why)}"


def _name(group: GroupRow) -> str:
    return f"{group.name} ({group.owner})" if group.owner else group.name


def _alone(row: LoneRow) -> str:
    who = f"Pod {row.name} waits" if not row.others else f"Pod {row.name} and {row.others} more wait"
    return f"{who} without a PodGroup: {plain(row.why)}"
