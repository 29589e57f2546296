"""What a run has compared, and the differences that are meant to be there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import yaml

from e2e.differential.pods.empty_selectors import FORMS, forms_of
from e2e.differential.rounds import Comparison, Scoring

_MOST_SHOWN: Final = 5
_REFUSAL: Final = re.compile(r"(\d+) ([^,:]+?)(?=, \d|\.(?:\s|$))")
"""In «0/95 nodes are available: 1 Insufficient cpu, 7 node(s) were unschedulable.»"""


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Difference(Generic[_T]):
    """One that is meant: why it is there, and how it is recognised."""

    reason: str
    applies: Callable[[_T], bool]


def _excludes_namespaces(pod: Mapping[str, Any]) -> bool:
    """Whether a term of the pod about other pods has a namespaceSelector that leaves namespaces out."""
    affinity = pod["spec"].get("affinity") or {}
    kinds = [affinity[kind] for kind in ("podAffinity", "podAntiAffinity") if kind in affinity]
    terms = [term for kind in kinds for term in kind.get("requiredDuringSchedulingIgnoredDuringExecution", ())]
    terms += [
        wish["podAffinityTerm"]
        for kind in kinds
        for wish in kind.get("preferredDuringSchedulingIgnoredDuringExecution", ())
    ]
    return any(
        requirement["operator"] in ("NotIn", "DoesNotExist")
        for term in terms
        for requirement in term.get("namespaceSelector", {}).get("matchExpressions", ())
    )


_NAMESPACES: Final = (
    "1.36 compares a namespaceSelector of the pod it places with no labels at all, beside those of namespaces, so that "
    "one with NotIn or DoesNotExist takes in every namespace; here only those that it matches"
)

MEANT: Final[Sequence[Difference[Comparison]]] = (
    Difference(_NAMESPACES, lambda comparison: _excludes_namespaces(comparison.pod)),
)
"""Every disagreement about nodes that is not among these fails the test."""

MEANT_OF_SCORES: Final[Sequence[Difference[Scoring]]] = (
    Difference(
        "its least and most allocated leave out what the pod asks for as a whole; here it counts, as it does for every "
        "pod that runs",
        lambda scoring: (
            scoring.component in ("least allocated", "most allocated") and "resources" in scoring.pod["spec"]
        ),
    ),
    Difference(_NAMESPACES, lambda scoring: scoring.component == "pod affinity" and _excludes_namespaces(scoring.pod)),
)
"""The same for scores."""


def _reason(meant: Sequence[Difference[_T]], found: _T) -> str | None:
    return next((difference.reason for difference in meant if difference.applies(found)), None)


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
    refusals: Counter[str] = field(default_factory=Counter)
    """Nodes by what kube-scheduler says of them; one node may say several things."""
    empty_selectors: Counter[str] = field(default_factory=Counter)
    """How often the pods asked about have each of them (empty_selectors.py)."""
    meant: Counter[str] = field(default_factory=Counter)
    disagreements: list[Comparison] = field(default_factory=list)

    def add(self, clusters: int, comparisons: Sequence[Comparison]) -> None:
        self.clusters += clusters
        for each in comparisons:
            self.pods += 1
            self.nodes += each.nodes
            self.gated += each.theirs is None
            self.refusals.update({text: int(count) for count, text in _REFUSAL.findall(each.message)})
            self.empty_selectors.update(forms_of(each.pod))
            self.choosy += bool(each.theirs) and len(each.theirs or ()) < each.nodes
            if not each.agree:
                self._note(each)

    def _note(self, comparison: Comparison) -> None:
        reason = _reason(MEANT, comparison)
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
        yield f"refusals of nodes: {', '.join(f'{text} {count}' for text, count in self.refusals.most_common())}"
        yield _empty_selectors(self.empty_selectors)
        yield from _meant(self.meant)

    def explanation(self) -> str:
        """The first disagreements with all that is needed to look into them."""
        shown = [_explain(each) for each in self.disagreements[:_MOST_SHOWN]]
        return "\n".join([*self.lines(), *shown])


def _empty_selectors(counts: Counter[str]) -> str:
    return f"selectors without conditions: {', '.join(f'{form} {counts[form]}' for form in FORMS)}"


def _meant(counts: Counter[str]) -> Iterator[str]:
    for reason, count in sorted(counts.items()):
        yield f"{count} times otherwise than kube-scheduler: {reason}"


@dataclass(slots=True)
class ScoreTally:
    """The same for scores."""

    seed: int
    components: Sequence[str] = ()
    missing: Sequence[str] = ()
    clusters: int = 0
    nodes: int = 0
    decisive: Counter[str] = field(default_factory=Counter)
    """Pods for which a score prefers some nodes to others, by score."""
    empty_selectors: Counter[str] = field(default_factory=Counter)
    """How often scores of pods were compared that have each of them."""
    meant: Counter[str] = field(default_factory=Counter)
    disagreements: list[Scoring] = field(default_factory=list)

    def add(self, clusters: int, scorings: Sequence[Scoring]) -> None:
        self.clusters += clusters
        for each in scorings:
            self.nodes += len(each.nodes)
            self.decisive[each.component] += each.decides
            self.empty_selectors.update(forms_of(each.pod))
            if not each.agree:
                self._note(each)

    def _note(self, scoring: Scoring) -> None:
        reason = _reason(MEANT_OF_SCORES, scoring)
        if reason is None:
            self.disagreements.append(scoring)
        else:
            self.meant[reason] += 1

    def lines(self) -> Iterator[str]:
        """For people, at the end of a run."""
        yield (
            f"{self.clusters} clusters (seed {self.seed}), {self.nodes} scores of nodes compared: "
            f"{len(self.disagreements)} disagreements"
        )
        decisive = ", ".join(f"{name} {self.decisive[name]}" for name in self.components)
        yield f"pods for which a score prefers some nodes: {decisive}"
        yield f"not scored yet: {', '.join(self.missing) or 'nothing'}"
        yield _empty_selectors(self.empty_selectors)
        yield from _meant(self.meant)

    def explanation(self) -> str:
        """Disagreements by score, and the first of each with all that is needed to look into them."""
        counts = Counter(each.component for each in self.disagreements)
        first = {each.component: each for each in reversed(self.disagreements)}
        return "\n".join([*self.lines(), str(dict(counts)), *map(_explain_scores, first.values())])


def _explain_scores(scoring: Scoring) -> str:
    return yaml.safe_dump(
        {
            "cluster": scoring.cluster,
            "score": scoring.component,
            "ours": dict(zip(scoring.nodes, scoring.ours, strict=True)),
            "kube-scheduler": dict(zip(scoring.nodes, scoring.theirs, strict=True)),
            "pod": scoring.pod["spec"],
        },
        sort_keys=False,
    )


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
            "kube-scheduler says": comparison.message,
            "gated": ours.gated,
            "pod": {
                "labels": comparison.pod["metadata"]["labels"],
                "namespace": comparison.pod["metadata"]["namespace"],
                "spec": comparison.pod["spec"],
            },
        },
        sort_keys=False,
    )
