"""Label selectors of the API, evaluated over labels."""

from __future__ import annotations

from collections.abc import Mapping

from volcano_py.api.objects import LabelSelector, SelectorRequirement


def is_empty(selector: LabelSelector | None) -> bool:
    """Whether there is no condition in it."""
    return selector is None or not (selector.match_labels or selector.match_expressions)


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether labels meet every condition; an empty selector selects everything. Unknown operators select nothing."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _meets(requirement, labels) for requirement in selector.match_expressions
    )


def _meets(requirement: SelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    return False
