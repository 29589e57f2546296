"""What differs between two boards: rows that are new or other, and keys of those that are gone."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, compress, repeat
from operator import is_not

import msgspec

from volcano_py.ui.board.model import ClusterRow, Row, Tables


class Change(Row, frozen=True):
    """Of one table."""

    set: Mapping[str, Row] = {}
    gone: tuple[str, ...] = ()


def changes(before: Tables, after: Tables) -> dict[str, Change]:
    """Table → its changes, of those that have any. The moment alone is none."""
    found: dict[str, Change] = {}
    for table, rows in after.items():
        change = _change(before.get(table, {}), rows)
        if change.set or change.gone:
            found[table] = change
    return {} if _only_the_moment(found, before, after) else found


def _change(old: Mapping[str, Row], rows: Mapping[str, Row]) -> Change:
    """Most rows are the very same, at the same place: that much is compared in C, for there may be thousands."""
    moved = dict(compress(rows.items(), chain(map(is_not, rows.values(), old.values()), repeat(True))))
    new = {key: row for key, row in moved.items() if (known := old.get(key)) is not row and known != row}
    has_gone = len(old) + sum(key not in old for key in moved) > len(rows)
    return Change(new, tuple(key for key in old if key not in rows) if has_gone else ())


def differ(before: ClusterRow, after: ClusterRow) -> bool:
    """Whether more than the moment differs."""
    return msgspec.structs.replace(before, moment=after.moment) != after


def _only_the_moment(found: dict[str, Change], before: Tables, after: Tables) -> bool:
    if set(found) != {"cluster"} or "cluster" not in before.get("cluster", {}):
        return False
    old, new = before["cluster"]["cluster"], after["cluster"]["cluster"]
    return isinstance(old, ClusterRow) and isinstance(new, ClusterRow) and not differ(old, new)
