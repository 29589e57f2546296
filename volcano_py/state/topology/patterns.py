"""Regular expressions over node names, as HyperNodes use them: found anywhere in the name.

Go's syntax (RE2) is that of Rust's `regex`, through pydantic: the time for a name is linear in its length, whatever the
pattern is. Python's own `re` can take exponential time, in which nothing else would be scheduled.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

LONGEST = 1024
"""Characters of a pattern, as in the CRD."""


def fault_of(pattern: str) -> str | None:
    """Why a pattern cannot be used; None when it can."""
    if not pattern:
        return "it is empty"
    if len(pattern) > LONGEST:
        return f"it has more than {LONGEST} characters"
    try:
        _compiled(pattern)
    except SchemaError as error:
        return " ".join(str(error).split())[:200]
    return None


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> SchemaValidator:
    return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))


class Patterns:
    """The names in which each pattern is found. A new name is compared with all patterns, a new pattern with all names,
    and nothing is compared twice."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._found: dict[str, set[str]] = {}

    def follow(self, patterns: Iterable[str], names: Iterable[str]) -> None:
        """These are all patterns, without faults, and all names there are now."""
        now, wanted = set(names), dict.fromkeys(patterns)
        added, gone = now - self._names, self._names - now
        found: dict[str, set[str]] = {}
        for pattern in wanted:
            known = self._found.get(pattern)
            matches = _compiled(pattern).isinstance_python
            if known is None:
                found[pattern] = {name for name in now if matches(name)}
            else:
                known -= gone
                known.update(name for name in added if matches(name))
                found[pattern] = known
        self._names, self._found = now, found

    def may_match(self, pattern: str, names: Iterable[str]) -> bool:
        """Whether the pattern is found in any of these names, of nodes that exist or do not."""
        return any(map(_compiled(pattern).isinstance_python, names))

    def names(self, pattern: str) -> set[str]:
        """Those in which the pattern is found."""
        return self._found[pattern]
