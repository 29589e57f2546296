"""The page of bounds on one object, on one namespace, and on answers of the API server."""

from __future__ import annotations

from typing import Final

from volcano_py.api.bounds import ALL
from volcano_py.cli.reference import MARK
from volcano_py.cluster.kubernetes.http.answers import BINDING, ERROR, OBJECT, PAGE, WHOLE_LIST

_INTRODUCTION: Final = """\
Every user who may create a pod or a Job makes the scheduler work on it. These bounds keep the work for one object, and
for the objects of one namespace, so small that others do not notice it. What is beyond a bound is refused for that
object alone, with a reason that names the bound. Kubernetes' own limits hold as well.

The bounds are fixed. They are far above what manifests have in practice; if yours has more for a good reason, open an
issue."""

_ANSWERS: Final = """\
## Answers of the API server

Tenants decide how large their objects are, so the scheduler reads an answer no further than its limit. The limit holds
for the bytes that come, and again for what they unpack to. What is beyond it is an error that names the limit; a page
of a list is then asked for with fewer objects."""
_LIMITS: Final = (
    (OBJECT, "one object, and one event of a watch"),
    (PAGE, "a page of a list"),
    (WHOLE_LIST, "a list that is not divided into pages, because the API server forgets them too soon"),
    (BINDING, "the answer to a binding"),
    (ERROR, "the explanation of a refusal"),
)


def bounds_page() -> str:
    """docs/reference/bounds.md."""
    rows = [f"| {bound.most:,} | {bound.what} | {bound.refused} |" for bound in ALL]
    limits = [f"| {limit >> 20:,} MiB | {what} |" for limit, what in _LIMITS]
    return "\n".join(
        [
            *("# Bounds", "", MARK, "", _INTRODUCTION, "", "| At most | of | Beyond it |", "|--:|---|---|", *rows, ""),
            *(_ANSWERS, "", "| At most | for |", "|--:|---|", *limits, ""),
        ]
    )
