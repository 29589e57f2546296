"""Advice for a pod that no node takes because of its volumes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from volcano_py.api.objects import NodeSelector, NodeSelectorTerm, SelectorRequirement
from volcano_py.api.volumes import StorageClass
from volcano_py.api.wording.amounts import number
from volcano_py.api.wording.summarize import counted, summarize
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.advice.pods import on_nodes, settled
from volcano_py.plugins.predicates.advice.selectors import how_far
from volcano_py.state.table.table import Rows
from volcano_py.state.volumes.needs import BoundNeed, OpenNeed

_encode: Final = msgspec.msgpack.Encoder().encode


class _Sentence(msgspec.Struct, frozen=True):
    text: str

    @property
    def nbytes(self) -> int:
        return len(self.text)


def reach(ssn: Session, need: BoundNeed) -> str:
    """From where a bound volume can be used; "" for one that says nothing of nodes."""
    if need.affinity is None:
        return ""
    fix = "bring such a node back, or create the claim again"
    return _usable(ssn, need.affinity, "A volume of the pod can be used only from a node that", fix)


def zones(need: BoundNeed) -> str:
    """Where a bound volume is, by its labels."""
    zones_found = " and ".join(f"{key} {summarize(values)}" for key, values in need.zones)
    return f"A volume of the pod is in {zones_found}: add nodes there, or create the claim again"


def in_use(ssn: Session, claim: str, users: Rows) -> str:
    """Which pods use a claim that one pod may use at a time."""
    who = on_nodes(ssn, settled(ssn, users)) or "another pod"
    return f"PersistentVolumeClaim {claim} is ReadWriteOncePod and in use by {who}: wait for that to end"


def attached(driver: str, most: int) -> str:
    """That a driver attaches no more volumes to the nodes that refuse."""
    volumes = counted(most, "volume")
    return f"CSI driver {driver} attaches at most {volumes} to such a node: add nodes, or wait for pods to end"


def not_given(ssn: Session, need: OpenNeed, storage_class: StorageClass | None) -> str:
    """Why there are nodes for which a claim that waits for a node gets no volume."""
    name = f"StorageClass {need.storage_class}"
    if need.node:
        return (
            f"A volume of the pod is being provisioned for node {need.node}: free space there, or create the claim "
            "again"
        )
    if need.reserved:
        return f"PersistentVolume {need.reserved} is kept for its claim: free space where it can be used"
    wanted = f"{number('storage', need.size)} {summarize(need.access_modes)}".strip()
    if storage_class is None or not storage_class.provisions:
        return (
            f"{name} provisions no volumes, and no free volume has {wanted} for these nodes: create a PersistentVolume"
        )
    terms = [
        NodeSelectorTerm(
            match_expressions=[
                SelectorRequirement(key=each.key, operator="In", values=each.values)
                for each in term.match_label_expressions
            ]
        )
        for term in storage_class.allowed_topologies
    ]
    if not terms:
        return f"There is no volume of {name} with {wanted} for these nodes: wait until claims are gone, or create one"
    return _usable(
        ssn,
        NodeSelector(node_selector_terms=terms),
        f"By its allowedTopologies {name} provisions volumes only for a node that",
        "label nodes or correct allowedTopologies",
    )


def no_space(need: OpenNeed) -> str:
    """The message when a driver reports no room for a volume."""
    size = number("storage", need.size)
    return f"StorageClass {need.storage_class} has no room for {size} on these nodes (CSIStorageCapacity): ask for less"


def _usable(ssn: Session, selector: NodeSelector, subject: str, fix: str) -> str:
    """Which nodes a selector means. It follows from the nodes alone, so it is kept."""
    index, present = ssn.nodes, ssn.ledger.nodes.present
    terms = selector.node_selector_terms
    return index.kept.keep(
        ("volume advice", subject, _encode(selector)),
        lambda: _Sentence(how_far(index, present, subject, [], terms, fix)),
    ).text


def each_once(sentences: Iterator[str]) -> list[str]:
    """Without empty ones, and each of them once: claims of a pod are often alike."""
    return [sentence for sentence in dict.fromkeys(sentences) if sentence]
