"""What is said to the author of a pod that no node takes because of its CPUs: what would help, and what there is."""

from __future__ import annotations

import numpy as np

from volcano_py.framework.placement.refused import Refused
from volcano_py.framework.session import Session
from volcano_py.plugins.numa_aware import wording
from volcano_py.plugins.numa_aware.nodes import NumaNodes
from volcano_py.plugins.numa_aware.use import CpuUse
from volcano_py.state.numa.asked import POLICIES, RESTRICTED, CpusAsked
from volcano_py.state.table.table import Rows


class Advice:
    """Looks at the nodes that refuse the pod for the reason in question."""

    def __init__(self, ssn: Session, nodes: NumaNodes, use: CpuUse) -> None:
        self._ssn, self._nodes, self._use = ssn, nodes, use

    def of(self, asked: CpusAsked, refused: Refused) -> list[str]:
        """Sentences."""
        sentences = list[str]()
        if wording.NO_OBJECT in refused:
            sentences.append(wording.DEPLOY)
        if any(message in refused for message in (wording.NOT_STATIC, *_other_policies(asked.policy))):
            sentences.append(wording.set_policy(asked.policy))
        short = [message for texts in (wording.TOO_FEW, wording.TOO_SMALL) for message in texts.values()]
        if len(rows := np.concatenate([refused.rows(message) for message in short])):
            sentences.append(self._best_of(asked, np.sort(rows)))
        return sentences

    def _best_of(self, asked: CpusAsked, rows: Rows) -> str:
        """The node with the most CPUs free on one NUMA node, or in all, and what these are; the first by name."""
        counts = self._use.counts_of(rows, released=False)
        most = counts.sum(axis=1) if asked.policy == RESTRICTED else counts.max(axis=1)
        best = rows[most == most.max()]
        row = int(best[np.argmin(self._ssn.nodes.name_rank[best])])
        layout = self._nodes.layout(row)
        free = self._use.counts_of(np.array([row]), released=False)[0].tolist()
        numa = zip(layout.ids, free, layout.sizes, strict=False)
        return wording.free_cpus(asked.cores, str(self._ssn.nodes.names[row]), numa)


def _other_policies(policy: str) -> list[str]:
    """What nodes with another policy say."""
    names = ("none", "", *POLICIES)
    return [wording.other_policy(name, policy) for name in names if policy and name != policy]
