"""Which pods a pod has to follow, and which keep it away, for a pod that no node takes on their account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from volcano_py.api.wording.summarize import summarize
from volcano_py.framework.placement.pod_counts import Tally
from volcano_py.framework.session import Session
from volcano_py.plugins.predicates.pod_sentences import on_nodes, selected, settled
from volcano_py.state.table.ledger import Rows
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.affinity import AffinityTerm


def company(ssn: Session, together: Sequence[AffinityTerm]) -> str:
    """Whom the pod wants to be with, by its required affinity, and where they are."""
    terms = list(dict.fromkeys(one.term for one in together))
    keys = list(dict.fromkeys(one.topology_key for one in together))
    wanted = f"podAffinity wants the same {summarize(keys)} as {selected(terms)}"
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
    return f"{wanted}, which are {on_nodes(ssn, pods)}: make room beside them, or prefer that instead of requiring it"


def apart(ssn: Session, terms: Sequence[AffinityTerm], nodes: Rows) -> Iterator[str]:
    """From whom the pod wants to be apart, by its required anti-affinity, on these nodes."""
    for one in terms:
        tally = ssn.pod_counts.matching(one.topology_key, (one.term,))
        pods = ssn.pod_counts.those_matching((one.term,))
        if len(_beside(ssn, pods, tally, nodes)):
            there = _beside(ssn, settled(ssn, pods), tally, nodes)
            such_as = f", such as {on_nodes(ssn, there)}" if len(there) else ""
            yield (
                f"podAntiAffinity wants another {one.topology_key} than {selected([one.term])}{such_as}: add nodes, or "
                "prefer that instead of requiring it"
            )


def kept_away(ssn: Session, task_class: TaskClass, nodes: Rows) -> Iterator[str]:
    """Who keeps such a pod away from these nodes, by a required anti-affinity."""
    counts = ssn.pod_counts
    for carried, classes in counts.carriers(task_class):
        if carried.required and carried.anti:
            tally = counts.carrying(carried.topology_key, classes)
            pods = _beside(ssn, counts.those_carrying(classes), tally, nodes)
            if len(pods):
                who = on_nodes(ssn, settled(ssn, pods)) or "pods before it"
                yield (
                    f"By their podAntiAffinity over {carried.topology_key}, {who} keep {selected([carried.term])} "
                    "away: wait for them, or add nodes"
                )


def _beside(ssn: Session, pods: Rows, tally: Tally, nodes: Rows) -> Rows:
    """Those of the pods [K] that are in a domain of these nodes."""
    domains = np.zeros(len(tally), dtype=np.bool_)
    domains[tally.domain_of[nodes]] = True
    domains[-1] = False  # no domain
    return pods[domains[tally.domain_of[ssn.ledger.tasks.node[pods]]]]
