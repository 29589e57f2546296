"""What is logged while a trial runs its two copies of a cluster: what the changes bring, once."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, Final

import structlog

_ERRORS: Final = frozenset({"error", "exception", "critical", "fatal"})


class News:
    """A processor of log lines. Those of the copy without the changes, such as warnings about other objects, are only
    remembered. Of the copy with them, what the first copy has not logged is printed. Errors are printed at once."""

    def __init__(self) -> None:
        self._known: set[str] = set()
        self._changed = False

    def of_changes(self) -> None:
        """From now on the copy with the changes logs."""
        self._changed = True

    def __call__(self, logger: object, method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ARG002
        line = repr(sorted((key, value) for key, value in event.items() if key != "exc_info"))
        if line in self._known or not (self._changed or method in _ERRORS):
            self._known.add(line)
            raise structlog.DropEvent
        self._known.add(line)
        return event


@contextmanager
def only_news() -> Iterator[News]:
    """Print of the log only what the changes of a trial bring, as long as the context lasts."""
    before = structlog.get_config()["processors"]
    news = News()
    structlog.configure(processors=[news, *before])
    try:
        yield news
    finally:
        structlog.configure(processors=before)
