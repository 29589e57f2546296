"""Telling apart pods that are alike but for who looks at them.

The class of a pod is made from what the pod asks for; its labels are left out, as most differ for no reason that
concerns scheduling. Where some pod's term matches one of two alike pods and not the other, the two may have to go to
different nodes. For a cycle, pending pods of one class are therefore divided by their profile (term_book).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from volcano_py.state.ledger import Ledger
from volcano_py.state.status import TaskStatus
from volcano_py.state.task_class import TaskClass
from volcano_py.state.term_book import TermPicture


def split_by_profile(ledger: Ledger, classes: list[TaskClass | None], picture: TermPicture) -> list[TaskClass | None]:
    """The classes with the profile of their pending tasks each, more of them where need be; pending tasks of `ledger`,
    which is changed, are put into them. What the profile of other tasks is does not matter, as they go nowhere."""
    if len(picture.profiles) == 1:
        return classes
    tasks, table = ledger.tasks, ledger.classes
    rows = np.flatnonzero(tasks.status == TaskStatus.PENDING)
    profiles = picture.profile_of[tasks.labels[rows]]
    if not profiles.any():
        return classes
    width = len(picture.profiles)
    keys, of_row = np.unique(tasks.task_class[rows].astype(np.int64) * width + profiles, return_inverse=True)
    classes = classes.copy()
    new_rows = np.empty(len(keys), dtype=np.int32)
    seen: set[int] = set()
    for position, key in enumerate(keys.tolist()):
        base, number = divmod(key, width)
        origin = classes[base]
        assert origin is not None, "a task without a class"
        row = base
        if base in seen:
            row = table.new_row()
            table.request[row], table.nonzero_request[row] = table.request[base], table.nonzero_request[base]
            classes.extend([None] * (row + 1 - len(classes)))
        seen.add(base)
        classes[row] = replace(origin, row=row, profile=picture.profiles[number])
        new_rows[position] = row
    tasks.task_class[rows] = new_rows[of_row]
    return classes
