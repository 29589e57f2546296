"""Pods that ask for the same host port never share a node.

Semantics are kube-scheduler's NodePorts filter: two pods conflict when they ask for the same protocol and port on the
same host address, and "0.0.0.0" is every address.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from volcano_py.api.wording.summarize import plural, summarize
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.advice.pods import by_pods
from volcano_py.plugins.predicates.holders import Holders
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass

HostPort = tuple[str, str, int]
"""Host address, protocol, port."""

_EVERY_ADDRESS: Final = "0.0.0.0"
_SOME_ADDRESS: Final = ""
"""Stands in what is held for whatever address it is held on."""


def held_ports(task_class: TaskClass) -> frozenset[HostPort]:
    """What each pod of the class holds, in the terms of `rival_ports`."""
    ports = task_class.host_ports
    return frozenset((*ports, *((_SOME_ADDRESS, protocol, number) for _, protocol, number in ports)))


def rival_ports(wanted: Iterable[HostPort]) -> list[HostPort]:
    """What no pod on the node may hold, so that the wanted ports are free."""
    found: list[HostPort] = []
    for address, protocol, number in wanted:
        taken_by = (_SOME_ADDRESS,) if address == _EVERY_ADDRESS else (address, _EVERY_ADDRESS)
        found.extend((each, protocol, number) for each in taken_by)
    return found


def ports_taken(ssn: Session, holders: Holders[HostPort], wanted: Sequence[HostPort], nodes: Rows) -> str:
    """Which pods hold the wanted ports on these nodes, and what would help."""
    ports = [port for port in wanted if holders.any_on(rival_ports([port]), nodes).any()]
    listed, are = summarize([_written(port) for port in ports]), "is" if len(ports) == 1 else "are"
    by = by_pods(ssn, holders.rows(rival_ports(ports)), nodes)
    return (
        f"{plural('Host port', len(ports))} {listed} {are} taken{by}: wait for that to end, or choose another hostPort"
    )


def _written(port: HostPort) -> str:
    address, protocol, number = port
    return f"{number}/{protocol}" if address == _EVERY_ADDRESS else f"{number}/{protocol} of {address}"
