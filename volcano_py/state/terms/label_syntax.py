"""What label keys, label values and label selectors may look like: Kubernetes' validation of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from volcano_py.api.bounds import SELECTOR_VALUES
from volcano_py.api.objects import LabelSelector
from volcano_py.api.wording.explain import invalid_field

_NAME: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*"
LABEL_KEY: Final = re.compile(rf"(?:(?=.{{1,253}}/){_PREFIX}/)?{_NAME}", re.ASCII)
LABEL_VALUE: Final = re.compile(rf"(?:{_NAME})?", re.ASCII)

OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")

NAME_A_LABEL: Final = "name a label, such as topology.kubernetes.io/zone"
_CORRECT_VALUE: Final = "a label cannot have this value; correct it"


def size_fault(path: str, *selectors: LabelSelector | None, names: int = 0) -> str | None:
    """What is wrong if these selectors, together with this number of `names`, are too many to compare with pods."""
    size = names
    for selector in selectors:
        if selector is not None:
            size += len(selector.match_labels) + sum(1 + len(one.values) for one in selector.match_expressions)
    if size <= SELECTOR_VALUES.most:
        return None
    return f"{path} has {size} conditions, values and names: at most {SELECTOR_VALUES.most} are evaluated; use fewer"


def faults_of_selector(path: str, selector: LabelSelector | None) -> Iterator[str]:
    """Everything wrong with a label selector at `path`, as field, finding and fix."""
    if selector is None:
        return
    for key, value in selector.match_labels.items():
        if not LABEL_KEY.fullmatch(key):
            yield invalid_field(f"{path}.matchLabels", key, "name labels by their keys, such as app")
        if not LABEL_VALUE.fullmatch(value):
            yield invalid_field(f"{path}.matchLabels[{key}]", value, _CORRECT_VALUE)
    for number, one in enumerate(selector.match_expressions):
        yield from _faults_of_expression(f"{path}.matchExpressions[{number}]", one.key, one.operator, one.values)


def _faults_of_expression(path: str, key: str, operator: str, values: list[str]) -> Iterator[str]:
    if not LABEL_KEY.fullmatch(key):
        yield invalid_field(f"{path}.key", key, "name a label, such as app")
    if operator not in OPERATORS:
        yield invalid_field(f"{path}.operator", operator, f"use {', '.join(OPERATORS[:-1])} or {OPERATORS[-1]}")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield invalid_field(f"{path}.values", values, f"{operator} takes none; remove them or use In")
    elif not values:
        yield invalid_field(f"{path}.values", values, f"{operator} needs at least one value")
    for number, value in enumerate(values):
        if not LABEL_VALUE.fullmatch(value):
            yield invalid_field(f"{path}.values[{number}]", value, _CORRECT_VALUE)
