"""The page of bounds on one object, and on one namespace."""

from __future__ import annotations

from typing import Final

from volcano_py.api.bounds import ALL
from volcano_py.cli.reference import MARK

_INTRODUCTION: Final = """\
Every user who may create a pod or a Job makes the scheduler work on it. These bounds keep the work for one object, and
for the objects of one namespace, so small that others do not notice it. What is beyond a bound is refused for that
object alone, with a reason that names the bound. Kubernetes' own limits hold as well.

The bounds are fixed. They are far above what manifests have in practice; if yours has more for a good reason, open an
issue."""


def bounds_page() -> str:
    """docs/reference/bounds.md."""
    rows = [f"| {bound.most:,} | {bound.what} | {bound.refused} |" for bound in ALL]
    return "\n".join(
        ["# Bounds", "", MARK, "", _INTRODUCTION, "", "| At most | of | Beyond it |", "|--:|---|---|", *rows, ""]
    )
