"""Queues with a place in a tree, for tests of hierarchical fair share."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.support.sessions import queue
from volcano_py.api.names import HIERARCHY, HIERARCHY_WEIGHTS
from volcano_py.api.objects import Queue


def placed_queue(name: str, path: str, weights: str, **fields: Any) -> Queue:
    """A queue with both annotations; further fields as for `queue`."""
    made = queue(name, **fields)
    annotations = {HIERARCHY: path, HIERARCHY_WEIGHTS: weights}
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, annotations=annotations))
