"""What differs between two boards: rows that are new or other, and keys of those that are gone."""

from __future__ import annotations

from collections.abc import Mapping

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
        old = before.get(table, {})
        new = {key: row for key, row in rows.items() if (known := old.get(key)) is not row and known != row}
        gone = tuple(key for key in old if key not in rows)
        if new or gone:
            found[table] = Change(new, gone)
    return {} if _only_the_moment(found, before, after) else found


def differ(before: ClusterRow, after: ClusterRow) -> bool:
    """Whether more than the moment differs."""
    return msgspec.structs.replace(before, moment=after.moment) != after


def _only_the_moment(found: dict[str, Change], before: Tables, after: Tables) -> bool:
    if set(found) != {"cluster"} or "cluster" not in before.get("cluster", {}):
        return False
    old, new = before["cluster"]["cluster"], after["cluster"]["cluster"]
    return isinstance(old, ClusterRow) and isinstance(new, ClusterRow) and not differ(old, new)
