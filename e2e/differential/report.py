"""What a run has compared, and the differences that are meant to be there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import yaml

from e2e.differential.rounds import Comparison

_MOST_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """One that is meant: what it is, why, and how it is recognised."""

    reason: str
    applies: Callable[[Comparison], bool]


MEANT: Final[Sequence[Difference]] = ()
"""Every disagreement that is not among these fails the test."""


@dataclass(slots=True)
class Tally:
    """Grows by a round at a time."""

    seed: int
    features: Sequence[str] = ()
    missing: Sequence[str] = ()
    """Features that are not evaluated yet, and so not in the clusters."""
    clusters: int = 0
    pods: int = 0
    nodes: int = 0
    choosy: int = 0
    """Pods that fit some of the nodes, not all and not none."""
    gated: int = 0
    meant: Counter[str] = field(default_factory=Counter)
    disagreements: list[Comparison] = field(default_factory=list)

    def add(self, clusters: int, comparisons: Sequence[Comparison]) -> None:
        self.clusters += clusters
        for each in comparisons:
            self.pods += 1
            self.nodes += each.nodes
            self.gated += each.theirs is None
            self.choosy += bool(each.theirs) and len(each.theirs or ()) < each.nodes
            if not each.agree:
                self._note(each)

    def _note(self, comparison: Comparison) -> None:
        reason = next((difference.reason for difference in MEANT if difference.applies(comparison)), None)
        if reason is None:
            self.disagreements.append(comparison)
        else:
            self.meant[reason] += 1

    def lines(self) -> Iterator[str]:
        """For people, at the end of a run."""
        yield (
            f"{self.clusters} clusters (seed {self.seed}), {self.pods} pods, {self.nodes} answers of nodes compared: "
            f"{len(self.disagreements)} disagreements"
        )
        yield f"pods that fit some nodes only: {self.choosy}; pods that wait for a gate: {self.gated}"
        yield f"compared: {', '.join(self.features)}"
        yield f"not evaluated yet: {', '.join(self.missing) or 'nothing'}"
        for reason, count in sorted(self.meant.items()):
            yield f"{count} times otherwise than kube-scheduler, because {reason}"

    def explanation(self) -> str:
        """The first disagreements with all that is needed to look into them."""
        shown = [_explain(each) for each in self.disagreements[:_MOST_SHOWN]]
        return "\n".join([*self.lines(), *shown])


def _explain(comparison: Comparison) -> str:
    theirs = comparison.theirs or frozenset()
    ours = comparison.ours
    refused = {node: ours.says.get(node, "nothing") for node in sorted(theirs - ours.nodes)}
    return yaml.safe_dump(
        {
            "cluster": comparison.cluster,
            "only kube-scheduler": refused,
            "only ours": sorted(ours.nodes - theirs),
            "refused as": ours.refusal.message if ours.refusal else "",
            "tried by kube-scheduler": comparison.theirs is not None,
            "gated": ours.gated,
            "pod": {
                "labels": comparison.pod["metadata"]["labels"],
                "namespace": comparison.pod["metadata"]["namespace"],
                "spec": comparison.pod["spec"],
            },
        },
        sort_keys=False,
    )
