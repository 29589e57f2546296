"""Splits a class where terms of other pods match some of its pods and not others.

The class of a pod is made from what the pod asks for; its labels are left out, as most differ for no reason that
concerns scheduling. Where some pod's term matches one of two equal pods and not the other, the two may have to go to
different nodes. For a cycle, pending pods of one class are therefore divided by their profile (term_book), and by the
pods among which they are spread by default (spread_defaults), which differ from Service to Service.
"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from volcano_py.state.status import TaskStatus
from volcano_py.state.table.ledger import Ledger
from volcano_py.state.table.table import NOWHERE
from volcano_py.state.task_class import TaskClass
from volcano_py.state.terms.term_book import TermPicture


def split_by_company(ledger: Ledger, classes: list[TaskClass | None], picture: TermPicture) -> list[TaskClass | None]:
    """The classes with profile and `spread_among` of their pending tasks each, more of them where need be; pending
    tasks of `ledger`, which is changed, are put into them. Other tasks go nowhere, so that theirs do not matter."""
    tasks, table = ledger.tasks, ledger.classes
    rows = np.flatnonzero(tasks.status == TaskStatus.PENDING)
    profiles, spread = picture.profile_of[tasks.labels[rows]], tasks.spread[rows]
    if not profiles.any() and not (spread != NOWHERE).any():
        return classes
    width, terms = len(picture.profiles), len(picture.terms) + 1
    combined = (tasks.task_class[rows].astype(np.int64) * width + profiles) * terms + (spread - NOWHERE)
    keys, of_row = np.unique(combined, return_inverse=True)
    classes = classes.copy()
    new_rows = np.empty(len(keys), dtype=np.int32)
    seen: set[int] = set()
    for position, key in enumerate(keys.tolist()):
        rest, term = divmod(key, terms)
        base, number = divmod(rest, width)
        origin = classes[base]
        assert origin is not None, "a task without a class"
        row = base
        if base in seen:
            row = table.another(base)
            classes.extend([None] * (row + 1 - len(classes)))
        seen.add(base)
        among = picture.terms[term + NOWHERE] if term else None
        classes[row] = replace(origin, row=row, profile=picture.profiles[number], spread_among=among)
        new_rows[position] = row
    tasks.change(rows).task_class[rows] = new_rows[of_row]
    return classes
