"""Which pods share no card: those of a PodGroup that say so, and those of one exclusive rule.

A pod is of a rule if it has all labels of the rule. Pods of different rules share cards, and so do pods of none. Cards
that the hardware divides are shared in any case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from volcano_py.framework.cluster_copy import ClusterCopy
from volcano_py.state.table.table import Rows

GroupKey = tuple[str, int]
"""Pods of which no two are on one card: `("job", row)` or `("rule", number)`."""
_FORM: Final = "write a list of label maps, such as [{app: train}, {team: a, tier: x}]"


class Rules:
    """The exclusive rules of a configuration: labels with their values."""

    def __init__(self, rules: Sequence[Mapping[str, str]] = ()) -> None:
        self._rules = [frozenset(rule.items()) for rule in rules]

    def __len__(self) -> int:
        return len(self._rules)

    def of(self, labels: Mapping[str, str]) -> tuple[int, ...]:
        """Numbers of the rules that a pod with these labels is of."""
        if not (self._rules and labels):
            return ()
        return tuple(number for number, rule in enumerate(self._rules) if rule <= labels.items())

    def text(self, number: int) -> str:
        """`team=a,tier=x`"""
        return ",".join(f"{key}={value}" for key, value in sorted(self._rules[number]))


class Apart(msgspec.Struct, frozen=True):
    """What pods of a class are kept apart from: pods of the job in that row, and of rules."""

    job: int | None = None
    rules: tuple[int, ...] = ()

    @property
    def keys(self) -> list[GroupKey]:
        return [*([] if self.job is None else [("job", self.job)]), *(("rule", number) for number in self.rules)]


TOGETHER: Final = Apart()
"""Of pods that share cards with any other."""


class KeptApart:
    """Says of the classes of one cycle what their pods are kept apart from: that makes classes differ."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._by_job: frozenset[int] = frozenset()
        self._by_rule: frozenset[int] = frozenset()
        """Rows of classes whose pods are kept apart from others of their job, or may be by a rule."""
        self._found: dict[str, Apart] = {}
        """By variant of a class."""

    def look_at(self, cluster: ClusterCopy) -> bool:
        """Whether any pods are kept apart."""
        asking = [each for each in cluster.snapshot.classes if each is not None and each.cards is not None]
        self._by_job = frozenset(each.row for each in asking if each.cards is not None and each.cards.apart)
        self._by_rule = frozenset(each.row for each in asking) if len(self._rules) else frozenset()
        return bool(self._by_job or self._by_rule)

    def variants(self, cluster: ClusterCopy, job_row: int, rows: Rows) -> list[str] | None:
        """As `Plugin.task_variants`."""
        classes = cluster.ledger.tasks.task_class[rows].tolist()
        if (self._by_job | self._by_rule).isdisjoint(classes):
            return None
        return [self._variant(cluster, job_row, row, of) for row, of in zip(rows.tolist(), classes, strict=True)]

    def of(self, variant: str) -> Apart:
        return self._found.get(variant, TOGETHER)

    def _variant(self, cluster: ClusterCopy, job_row: int, row: int, class_row: int) -> str:
        info = cluster.snapshot.tasks[row] if class_row in self._by_rule else None
        apart = Apart(
            job=job_row if class_row in self._by_job else None,
            rules=() if info is None else self._rules.of(info.labels),
        )
        if apart == TOGETHER:
            return ""
        job = "" if apart.job is None else cluster.snapshot.job_keys[job_row]
        variant = f"{job}:{','.join(map(str, apart.rules))}"
        self._found[variant] = apart
        return variant


def read_rules(value: Any) -> Sequence[Mapping[str, str]]:
    """Raises ValueError: this is no list of label maps."""
    try:
        rules = msgspec.convert(value or [], list[dict[str, str]])
    except msgspec.ValidationError as error:
        raise ValueError(f"cannot be read ({error}): {_FORM}") from error
    if not all(rules):
        raise ValueError(f"has a rule without labels, which would be of all pods: {_FORM}")
    return rules
