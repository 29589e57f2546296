"""What is wrong with an object, as a value, and the message that reports it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import msgspec

NOT_SET: Final = "(not set)"
"""How the value of a field that is not set is shown."""

# A job with a thousand bad tasks must not make an answer of megabytes.
_MOST_SHOWN: Final = 20
_LONGEST_SHOWN: Final = 500  # characters of a field, a value, a rule and a fix each; names may be of any length


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One broken rule.

    Attributes:
        field: path of the field, as one would write it, e.g. `spec.deserved[cpu]`.
        value: what was found there; "" where something is missing.
        rule: what is wrong with it, a phrase that continues after the value.
        fix: what to do.
        about: what else the rule looked at, e.g. the name of the queue above; part of which rule it is.
        excess: for rules that limit an amount, how far it is exceeded; None for others.
    """

    field: str
    value: str
    rule: str
    fix: str
    about: str = ""
    excess: Fraction | None = None

    def __str__(self) -> str:
        field, value, rule, fix = map(_cut, (self.field, self.value, self.rule, self.fix))
        found = f"{value} {rule}" if value else rule
        return f"{field}: {found}; {fix}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


Violations = tuple[Violation, ...]


def new_violations(after: Sequence[Violation], before: Sequence[Violation]) -> Violations:
    """What an update breaks. What was wrong before and is not made worse must not lock the object."""
    known: dict[tuple[str, str], _Broken] = {}
    for old in before:
        known.setdefault((old.field, old.about), _Broken()).add(old)
    return tuple(each for each in after if not known.get((each.field, each.about), _NOTHING).covers(each))


class _Broken:
    """What of one field was broken before an update."""

    def __init__(self) -> None:
        self._excess: Fraction | None = None
        self._rules: set[tuple[str, str]] = set()
        self._rules_without_excess: set[tuple[str, str]] = set()

    def add(self, old: Violation) -> None:
        self._rules.add((old.value, old.rule))
        if old.excess is None:
            self._rules_without_excess.add((old.value, old.rule))
        elif self._excess is None or self._excess < old.excess:
            self._excess = old.excess

    def covers(self, new: Violation) -> bool:
        """Whether one of them was broken in the same way as this one, or more so."""
        if new.excess is None:
            return (new.value, new.rule) in self._rules
        if self._excess is not None and new.excess <= self._excess:
            return True
        return (new.value, new.rule) in self._rules_without_excess


_NOTHING: Final = _Broken()


def denial_message(kind: str, name: str, violations: Sequence[Violation]) -> str:
    """The answer to the request: everything that is wrong, at once."""
    subject = f"{kind} {name}" if name else kind
    if len(violations) == 1:
        return f"{subject}: {violations[0]}"
    lines = [f"- {each}" for each in violations[:_MOST_SHOWN]]
    if len(violations) > _MOST_SHOWN:
        lines.append(f"- … and {len(violations) - _MOST_SHOWN} more")
    return "\n".join([f"{subject} breaks {len(violations)} rules:", *lines])
