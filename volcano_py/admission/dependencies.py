"""Dependencies between named things: all exist, and none waits for itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from volcano_py.admission.violation import Violation
from volcano_py.api.wording.summarize import summarize

_MOST_NAMES: Final = 5  # that a message lists


def dependency_violations(
    what: str, fields: Mapping[str, str], needs: Mapping[str, Sequence[str]]
) -> Iterator[Violation]:
    """What is wrong with `needs` (name → names it waits for); `fields` has the path of each one's list.

    `what` are these things called, in the singular.
    """
    known = list(islice(needs, _MOST_NAMES + 1))
    for name, needed in needs.items():
        for each in needed:
            if each not in needs:
                others = [other for other in known if other != name][:_MOST_NAMES]
                there_are = summarize(others, most=_MOST_NAMES, total=len(needs) - 1) or "no other"
                fix = f"name one of the {what}s ({there_are})"
                yield Violation(field=fields[name], value=each, rule=f"is not a {what} of this object", fix=fix)
    circle = _circle({name: [each for each in needed if each in needs] for name, needed in needs.items()})
    if circle:
        names = circle if len(circle) <= _MOST_NAMES else [*circle[: _MOST_NAMES - 2], "…", circle[-1]]
        yield Violation(
            field=fields[circle[0]],
            value=circle[1],
            rule=f"forms a cycle ({' → '.join(names)})",
            fix="remove one of these dependencies",
        )


def _circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """The first circle by the order of names given, beginning and ending with the same one; [] when there is none.

    Without recursion: a user may send a chain of thousands.
    """
    done: set[str] = set()
    for start in needs:
        way: list[str] = []
        on_way: set[str] = set()
        pending: list[Iterator[str]] = []
        if start not in done:
            way.append(start)
            on_way.add(start)
            pending.append(iter(needs[start]))
        while pending:
            following = next(pending[-1], None)
            if following is None:
                pending.pop()
                finished = way.pop()
                on_way.discard(finished)
                done.add(finished)
            elif following in on_way:
                return [*way[way.index(following) :], following]
            elif following not in done:
                way.append(following)
                on_way.add(following)
                pending.append(iter(needs[following]))
    return []
