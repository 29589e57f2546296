"""Pods that name one disk in their volumes share no node, unless all of them only read it.

Semantics are kube-scheduler's filter VolumeRestrictions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from volcano_py.api.wording.summarize import plural, summarize
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.advice.pods import by_pods
from volcano_py.plugins.predicates.holders import Holders
from volcano_py.state.table.table import Rows
from volcano_py.state.volumes.disks import Disk


def rival_disks(wanted: Iterable[Disk]) -> list[Disk]:
    """What no pod on the node may have mounted, so that the wanted disks are available."""
    return [
        msgspec.structs.replace(disk, reading=reading)
        for disk in wanted
        for reading in ((False,) if disk.reading else (False, True))
    ]


def disks_in_use(ssn: Session, holders: Holders[Disk], wanted: Sequence[Disk], nodes: Rows) -> str:
    """Which pods use the wanted disks on these nodes, and what would help."""
    disks = [disk for disk in wanted if holders.any_on(rival_disks([disk]), nodes).any()]
    named = list(dict.fromkeys(f"{disk.name} ({disk.source})" for disk in disks))
    by, are = by_pods(ssn, holders.rows(rival_disks(disks)), nodes), "is" if len(named) == 1 else "are"
    return f"{plural('Disk', len(named))} {summarize(named)} {are} in use{by}: wait for that to end, or add nodes"
