"""The status of every HyperNode, from the tree that the scheduler would build."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import numpy as np

from volcano_py.api.effects import JsonObject
from volcano_py.api.hyper_nodes import HyperNodeStatus
from volcano_py.api.objects import Condition
from volcano_py.state.infos import NodeInfo
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.topology.hyper_nodes import HyperNodeInfo
from volcano_py.state.topology.tree import TreeBuilder

VALID: Final = "Valid"
"""Type of the condition: False, with the reason of the first fault, while something of the HyperNode is not used."""
_LONGEST_MESSAGE: Final = 4096  # characters; the CRD allows 32,768


class Finding(msgspec.Struct, frozen=True):
    """What was found of a HyperNode: how many nodes it has, and why something of it is not used; "" when all is."""

    nodes: int
    reason: str = ""
    message: str = ""


def findings_of(
    infos: Sequence[HyperNodeInfo], nodes: Iterable[NodeInfo], builder: TreeBuilder
) -> Mapping[str, Finding]:
    """Of each HyperNode. `infos` are sorted by name; `builder` has built the trees before."""
    rows = list(nodes)
    tree = builder.build(infos, NodeIndex(rows, 0), np.ones(len(rows), dtype=np.bool_))
    faults: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for fault in tree.faults:
        faults[fault.name].append((fault.reason, fault.message))
    sizes = tree.starts[tree.end] - tree.starts[:-1]
    found: dict[str, Finding] = {}
    for name, size in zip(tree.names[1:], sizes[1:].tolist(), strict=True):
        wrong = faults[name]
        reason = wrong[0][0] if wrong else ""
        found[name] = Finding(size, reason, "; ".join(message for _, message in wrong)[:_LONGEST_MESSAGE])
    return found


def changes(status: HyperNodeStatus, finding: Finding, now: datetime) -> JsonObject:
    """What has to change of the status, as a merge patch; empty when nothing has."""
    reason, message = finding.reason or VALID, finding.message
    found: JsonObject = {}
    if status.node_count != finding.nodes:
        found["nodeCount"] = finding.nodes
    known = next((each for each in status.conditions if each.type == VALID), None)
    holds = "False" if finding.reason else "True"
    if known is None or (known.status, known.reason, known.message) != (holds, reason, message):
        since = known.last_transition_time if known is not None and known.status == holds else None
        others = [_as_json(each) for each in status.conditions if each.type != VALID]
        ours = Condition(
            type=VALID,
            status=holds,
            reason=reason,
            message=message,
            last_transition_time=since or now,
        )
        found["conditions"] = [*others, _as_json(ours)]
    return found


def _as_json(condition: Condition) -> Mapping[str, Any]:
    since = condition.last_transition_time
    return {
        "type": condition.type,
        "status": condition.status,
        "reason": condition.reason,
        "message": condition.message,
        **({} if since is None else {"lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ")}),
    }
