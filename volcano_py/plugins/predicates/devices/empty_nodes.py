"""How many pods of a class the devices of each node would do for, if nobody used any."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np

from volcano_py.framework.session import Session
from volcano_py.framework.views import Counts
from volcano_py.plugins.predicates.devices.counting import counting
from volcano_py.plugins.predicates.devices.matching import matches_in
from volcano_py.plugins.predicates.devices.places import places
from volcano_py.plugins.predicates.devices.use import all_free
from volcano_py.plugins.predicates.devices.wanted import Wanted
from volcano_py.state.devices.needs import OpenDevices
from volcano_py.state.task_class import TaskClass

_encode: Final = msgspec.msgpack.Encoder().encode


def room_on_empty_nodes(ssn: Session, memory: dict[str, Any], task_class: TaskClass) -> Counts | None:
    """[N] for claims that each pod has to itself; None where that cannot be said without a search. `memory` is that of
    the plugin that chooses devices. Kept while nodes and devices stay as they are."""
    needs = tuple(need for need in task_class.devices if isinstance(need, OpenDevices) and not need.claim)
    if not needs:
        return None
    key = ("pods with devices on empty nodes", str(ssn.snapshot.devices.version), _encode(needs))
    room = ssn.nodes.kept.keep(key, lambda: _room(ssn, memory, needs))
    return room if len(room) else None


def _room(ssn: Session, memory: dict[str, Any], needs: tuple[OpenDevices, ...]) -> Counts:
    """Empty where it is not known."""
    picture, size = ssn.snapshot.devices, len(ssn.nodes.nodes)
    where, counts = places(ssn.nodes, picture), counting(ssn.nodes, picture)
    wanted = Wanted(needs, picture, where, counts, matches_in(memory, picture), size)
    room = wanted.room(np.arange(size), all_free(picture))
    return np.zeros(0, dtype=np.int64) if room is None else room
