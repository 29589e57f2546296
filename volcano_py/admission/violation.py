"""What is wrong with an object, as a value, and how it is told."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import msgspec

NOT_SET: Final = "nothing"
"""The `value` of a field that is not set."""

# A job with a thousand bad tasks must not make an answer of megabytes.
_MOST_TOLD: Final = 20


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One broken rule.

    Attributes:
        field: path of the field, as one would write it, e.g. `spec.deserved[cpu]`.
        value: what was found there.
        rule: what is wrong with it, a phrase that goes on after the value.
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
        return f"{self.field}: {self.value} {self.rule}; {self.fix}"

    def is_no_worse_than(self, before: Violation) -> bool:
        """Whether the rule was broken in the same way before, or more so."""
        if (self.field, self.about) != (before.field, before.about):
            return False
        if self.excess is None or before.excess is None:
            return (self.value, self.rule) == (before.value, before.rule)
        return self.excess <= before.excess


Violations = tuple[Violation, ...]


def newly_broken(after: Sequence[Violation], before: Sequence[Violation]) -> Violations:
    """What an update breaks. What was wrong before and is not made worse must not lock the object."""
    return tuple(each for each in after if not any(each.is_no_worse_than(old) for old in before))


def told(kind: str, name: str, violations: Sequence[Violation]) -> str:
    """The answer to whoever sent the object: everything at once."""
    subject = f"{kind} {name}" if name else kind
    if len(violations) == 1:
        return f"{subject}: {violations[0]}"
    lines = [f"- {each}" for each in violations[:_MOST_TOLD]]
    if len(violations) > _MOST_TOLD:
        lines.append(f"- … and {len(violations) - _MOST_TOLD} more")
    return "\n".join([f"{subject} breaks {len(violations)} rules:", *lines])
