"""Selectors without conditions in what a pod says of other pods: missing ones, and empty ones. Each place where one may
stand has a rule of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_PLACES: Final = ("DoNotSchedule", "ScheduleAnyway", "podAffinity", "podAntiAffinity")
FORMS: Final = (
    *(f"{place}: {how}" for place in _PLACES for how in ("missing", "empty")),
    *(f"{kind}: every namespace" for kind in ("podAffinity", "podAntiAffinity")),
)
"""All that `forms_of` knows."""


def forms_of(pod: Mapping[str, Any]) -> Iterator[str]:
    """Those in the manifest of a pod."""
    spec = pod["spec"]
    for constraint in spec.get("topologySpreadConstraints", ()):
        yield from _form(constraint["whenUnsatisfiable"], constraint)
    for kind in ("podAffinity", "podAntiAffinity"):
        for term in _terms(spec.get("affinity", {}).get(kind, {})):
            yield from _form(kind, term)
            if term.get("namespaceSelector") == {}:
                yield f"{kind}: every namespace"


def _form(place: str, holder: Mapping[str, Any]) -> Iterator[str]:
    if not holder.get("labelSelector"):
        yield f"{place}: {'empty' if 'labelSelector' in holder else 'missing'}"


def _terms(affinity: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from affinity.get("requiredDuringSchedulingIgnoredDuringExecution", ())
    for wish in affinity.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
        yield wish["podAffinityTerm"]
