"""Trees of a few queues."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from tests.support.sessions import queue

PARENTS: Final = {"a": "", "b": "", "a1": "a", "a2": "a", "b1": "b", "c": ""}
LEAVES: Final = ("a1", "a2", "b1", "c")


@st.composite
def queues(draw: st.DrawFn, amounts: st.SearchStrategy[dict[str, str]], *, root: bool = False) -> list[Any]:
    """`amounts`: of their limits; `root`: some have the queue at the top, with limits of its own."""
    parents = {"root": "", **PARENTS} if root and draw(st.booleans()) else PARENTS
    return [
        queue(
            name,
            weight=draw(st.integers(1, 3)),
            priority=draw(st.integers(0, 1)),
            capability=draw(amounts),
            guarantee=draw(amounts),
            deserved=draw(amounts),
            parent=parent,
        )
        for name, parent in parents.items()
    ]
