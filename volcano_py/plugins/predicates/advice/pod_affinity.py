"""Advice for a pod that no node takes because of affinity: which pods it must join, and which exclude it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from volcano_py.api.wording.summarize import summarize
from volcano_py.framework.placement.pod_counts import Tally
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.advice.pods import on_nodes, selected, settled
from volcano_py.state.table.table import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.affinity import AffinityTerm


def company(ssn: Session, together: Sequence[AffinityTerm]) -> str:
    """Which pods the required affinity asks for, and where they are."""
    terms = list(dict.fromkeys(one.term for one in together))
    keys = list(dict.fromkeys(one.topology_key for one in together))
    wanted = f"podAffinity requires the same {summarize(keys)} as {selected(terms)}"
    unlabelled = next((key for key in keys if not ssn.nodes.label(key).values), None)
    if unlabelled is not None:
        return f"{wanted}, and no node has label {unlabelled}: label nodes or correct topologyKey"
    pods = settled(ssn, ssn.pod_counts.those_matching(terms))
    if not len(pods):
        return f"{wanted}, and none of those has a node: start them, or correct the labelSelector"
    there = ssn.ledger.tasks.node[pods]
    bare = [key for key in keys if not ssn.nodes.label(key).present[there].any()]
    if bare:
        where = f"{on_nodes(ssn, pods)}, without label {summarize(bare)} there"
        return f"{wanted}, which are {where}: label their nodes or correct topologyKey"
    return f"{wanted}, which are {on_nodes(ssn, pods)}: free space near them, or make the affinity preferred"


def apart(ssn: Session, terms: Sequence[AffinityTerm], nodes: Rows) -> Iterator[str]:
    """Which pods on these nodes the required anti-affinity excludes."""
    for one in terms:
        tally = ssn.pod_counts.matching(one.topology_key, (one.term,))
        pods = ssn.pod_counts.those_matching((one.term,))
        if len(_beside(ssn, pods, tally, nodes)):
            there = _beside(ssn, settled(ssn, pods), tally, nodes)
            such_as = f", such as {on_nodes(ssn, there)}" if len(there) else ""
            yield (
                f"podAntiAffinity requires a different {one.topology_key} from that of "
                f"{selected([one.term])}{such_as}: add "
                "nodes, or make it preferred"
            )


def kept_away(ssn: Session, task_class: TaskClass, nodes: Rows) -> Iterator[str]:
    """Which pods exclude this one from these nodes by their own required anti-affinity."""
    counts = ssn.pod_counts
    for carried, classes in counts.carriers(task_class):
        if carried.required and carried.anti:
            tally = counts.carrying(carried.topology_key, classes)
            pods = _beside(ssn, counts.those_carrying(classes), tally, nodes)
            if len(pods):
                who = on_nodes(ssn, settled(ssn, pods)) or "pods before it"
                yield (
                    f"podAntiAffinity over {carried.topology_key} of {who} excludes {selected([carried.term])}: wait "
                    "until those are gone, or add nodes"
                )


def _beside(ssn: Session, pods: Rows, tally: Tally, nodes: Rows) -> Rows:
    """Those of the pods [K] that are in a domain of these nodes."""
    domains = np.zeros(len(tally), dtype=np.bool_)
    domains[tally.domain_of[nodes]] = True
    domains[-1] = False  # no domain
    return pods[domains[tally.domain_of[ssn.ledger.tasks.node[pods]]]]
