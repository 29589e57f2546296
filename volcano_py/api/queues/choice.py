"""The queue of work that names none. Every part that creates work, or checks it, has to choose the same one."""

from __future__ import annotations

from collections.abc import Mapping

from volcano_py.api.names import DEFAULT_QUEUE, QUEUE_NAME


def queue_for(queue: str, namespace: Mapping[str, str], default_queue: str) -> str:
    """The queue that new work goes to: the one it names, else its namespace's own, else `default_queue`.

    The CRDs fill in `default`, so work that names it looks like work that names none. `namespace`:
    annotations of the work's namespace.
    """
    if queue not in ("", DEFAULT_QUEUE):
        return queue
    return namespace.get(QUEUE_NAME) or default_queue
