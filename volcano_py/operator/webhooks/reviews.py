"""A review on its way through kopf.

kopf copies and compares the objects that it is given, and makes patches by comparing the copies: seconds for an object
of 3 MiB. It finds the handler by the kind alone. So it is given no more than the objects' names; the handler takes the
objects from here, and leaves its patch here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

Raw: TypeAlias = Mapping[str, Any]
Operations: TypeAlias = list[dict[str, Any]]
"""A JSON patch (RFC 6902)."""

_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class Review:
    """One request: the objects as they came; `old` is None on CREATE, `new` on DELETE."""

    operation: str
    name: str
    namespace: str
    new: Raw | None
    old: Raw | None
    is_rehearsal: bool = False
    """A dry run: nothing is going to be stored."""

    @classmethod
    def of(cls, request: Raw) -> Review:
        """From the `request` of an AdmissionReview."""
        new, old = request.get("object"), request.get("oldObject")
        metadata = (new or old or {}).get("metadata") or {}
        return cls(
            operation=str(request.get("operation")),
            name=metadata.get("name") or request.get("name") or "",
            namespace=metadata.get("namespace") or request.get("namespace") or "",
            new=new,
            old=old,
            is_rehearsal=bool(request.get("dryRun")),
        )

    @property
    def is_farewell(self) -> bool:
        """An object that is being deleted is only taken apart any more, and that must never be stopped."""
        metadata = (self.new or {}).get("metadata") or {}
        return self.operation == "UPDATE" and bool(metadata.get("deletionTimestamp"))


@dataclass(slots=True)
class UnderReview:
    """A review, and the changes of the object that its handler asks for."""

    review: Review
    patch: Operations | None = None
    warnings: list[str] = field(default_factory=list)
    """Warnings to the author though the request is admitted."""


CURRENT: ContextVar[UnderReview] = ContextVar("review")
"""That of this task."""


def for_kopf(review: Raw) -> dict[str, Any]:
    """The AdmissionReview with the names of its objects alone.

    Without UIDs, as kopf keeps a memory for every UID it meets, and would forever for objects it does not watch.
    """
    request = dict(review["request"])
    for key in ("object", "oldObject"):
        if (found := request.get(key)) is not None:
            names = {name: found["metadata"][name] for name in ("name", "namespace") if name in found["metadata"]}
            request[key] = {"metadata": names}
    return {**review, "request": request}


def operations(before: Raw, patch: Raw) -> Operations:
    """What a merge patch (RFC 7386) changes of the object, as a JSON patch.

    The cost follows the patch, and the parts of it that the object has already: those are compared by identity first.
    """
    return list(_differences("", before, _merged(before, patch)))


def _merged(before: Any, patch: Any) -> Any:
    """The value with the patch applied; what is not changed is shared."""
    if not isinstance(patch, Mapping):
        return patch
    merged = dict(before) if isinstance(before, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merged(merged.get(name), value)
    return merged


def _differences(path: str, before: Any, after: Any) -> Iterator[dict[str, Any]]:
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in before:
            if name not in after:
                yield {"op": "remove", "path": f"{path}/{_escaped(name)}"}
        for name, value in after.items():
            yield from _differences(f"{path}/{_escaped(name)}", before.get(name, _MISSING), value)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (was, now) in enumerate(zip(before, after, strict=True)):
            yield from _differences(f"{path}/{index}", was, now)
    elif before is _MISSING:
        yield {"op": "add", "path": path, "value": after}
    elif before != after:
        yield {"op": "replace", "path": path, "value": after}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
