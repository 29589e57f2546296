"""Advice for a pod refused for cordons, labels or taints. It follows from the nodes alone, so it is kept between
cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from volcano_py.api.objects import Taint
from volcano_py.api.wording.explain_nodes import NODE_AFFINITY_MISMATCH, NODE_UNSCHEDULABLE
from volcano_py.api.wording.summarize import counted, summarize
from volcano_py.framework.placement.refused import Refused
from volcano_py.plugins.predicates.advice.selectors import unmet
from volcano_py.plugins.predicates.taints import is_refusal, untolerated
from volcano_py.plugins.predicates.verdicts import Questions, Verdict
from volcano_py.state.nodes.index import NodeIndex
from volcano_py.state.nodes.terms import Mask
from volcano_py.state.task_class import TaskClass

# Taints that Kubernetes and cloud providers put on nodes while something is wrong with them, and take off again.
_PASSING: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


class NodeAdvice(msgspec.Struct, frozen=True):
    """Sentences; "" where there is nothing to say."""

    cordons: str
    labels: str
    taints: tuple[str, ...]

    @property
    def nbytes(self) -> int:
        return len(self.cordons) + len(self.labels) + sum(map(len, self.taints))

    def of_labels(self, refused: Refused) -> list[str]:
        """What is to the point: some node refuses for it."""
        return [self.labels] if self.labels and NODE_AFFINITY_MISMATCH in refused else []

    def of_others(self, refused: Refused) -> list[str]:
        """The same of taints and cordons."""
        sentences = list(self.taints) if any(map(is_refusal, refused)) else []
        return [*sentences, self.cordons] if self.cordons and NODE_UNSCHEDULABLE in refused else sentences


NOTHING: Final = NodeAdvice("", "", ())


def node_advice(
    index: NodeIndex, present: Mask, task_class: TaskClass, questions: Questions, verdict: Verdict
) -> NodeAdvice:
    """For a class with this verdict; `present` [N]: existing nodes. The key of the verdict is good for it, too."""
    if verdict.codes is None:
        return NOTHING
    by_message = {message: present & (verdict.codes == code) for code, message in enumerate(verdict.messages) if code}
    nothing = np.zeros(len(present), dtype=np.bool_)
    cordoned = names(index, by_message.get(NODE_UNSCHEDULABLE, nothing))
    labels = ""
    if questions.node_affinity and NODE_AFFINITY_MISMATCH in by_message:
        labels = unmet(index, present, task_class.node_selector, task_class.required_node_affinity)
    tainted = np.logical_or.reduce([nothing, *(rows for message, rows in by_message.items() if is_refusal(message))])
    return NodeAdvice(
        cordons=f"Cordoned (open with kubectl uncordon): {summarize(cordoned)}" if cordoned else "",
        labels=labels,
        taints=_of_taints(index, tainted, task_class),
    )


def names(index: NodeIndex, rows: Mask) -> list[str]:
    """Names of the nodes marked in `rows` [N], sorted."""
    found: list[str] = index.names[rows].tolist()
    return sorted(found)


def _of_taints(index: NodeIndex, tainted: Mask, task_class: TaskClass) -> tuple[str, ...]:
    """What of the taints of these nodes [N] is not tolerated; what passes by itself apart from what does not."""
    transient: Counter[str] = Counter()
    lasting: Counter[str] = Counter()
    unwell = np.zeros(len(tainted), dtype=np.bool_)
    for number, count in zip(*np.unique(index.taint_codes[tainted], return_counts=True), strict=True):
        refusing = untolerated(index.taint_sets[number], task_class.tolerations)
        if ill := [taint for taint in refusing if taint.key.startswith(_PASSING)]:
            transient[_written(ill)] += int(count)
            unwell |= tainted & (index.taint_codes == number)
        else:
            lasting[_written(refusing)] += int(count)
    sentences = []
    if lasting:
        sentences.append(f"Not tolerated: {_most(lasting)}; add a toleration, or remove the taint")
    if transient:
        example = names(index, unwell)[0]
        sentences.append(f"Unhealthy nodes: {_most(transient)}; see kubectl describe node {example}")
    return tuple(sentences)


def _written(taints: Sequence[Taint]) -> str:
    """As `kubectl taint` writes them."""
    return " and ".join(f"{taint.key}{f'={taint.value}' if taint.value else ''}:{taint.effect}" for taint in taints)


def _most(counts: Counter[str]) -> str:
    """The most frequent first."""
    found = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return summarize([f"{taints} ({counted(count, 'node')})" for taints, count in found])
