"""Reports objects that exist and cannot be read: in the log, in a metric, and by an event on the object itself."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import structlog

from volcano_py.api.effects import Event, ObjectRef
from volcano_py.cluster.kubernetes.watching.kinds import CRON_JOB, VOLCANO_JOB

log = structlog.get_logger(__name__)

REASON: Final = "Unreadable"

_API_KINDS: Final[Mapping[str, str]] = MappingProxyType({VOLCANO_JOB.name: "Job", CRON_JOB.name: "CronJob"})
"""What the API calls those kinds that have another name here."""
# Objects whose error was reported; when more are broken at the same time, some are reported again.
_REMEMBERED: Final = 4096


class UnreadableObjects:
    """`found` is a `BadObjectHandler`. The same error of the same object is reported once, however often it is met.

    `record` takes events. `count` is called with the kind of whatever is found.
    """

    def __init__(self, record: Callable[[Event], None], *, count: Callable[[str], None]) -> None:
        self._record, self._count = record, count
        self._known: OrderedDict[tuple[str, str], str] = OrderedDict()  # (kind, UID or key) → what is wrong

    def found(self, kind: str, key: str, uid: str, error: Exception) -> None:
        """The object `key` (namespace/name) exists and cannot be read."""
        self._count(kind)
        what, wrong = (kind, uid or key), _in_words(error)
        if self._known.get(what) == wrong:
            return
        self._known[what] = wrong
        self._known.move_to_end(what)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        log.error("object unreadable; keeping its last readable version", kind=kind, object=key, uid=uid, error=wrong)
        self._record(_event(kind, key, uid, wrong))


def _in_words(error: Exception) -> str:
    """Field first, and the same for an object of a list as for that of an event, which has it in a field of its own."""
    text, _, path = str(error).partition(" - at `$")
    field = path.rstrip("`").removeprefix(".object").removeprefix(".")
    return f"{field}: {text[:1].lower()}{text[1:]}" if field else text


def _event(kind: str, key: str, uid: str, wrong: str) -> Event:
    namespace, _, name = key.rpartition("/")
    shown = _API_KINDS.get(kind, kind)
    text = (
        f"this {shown} cannot be read: {wrong}; correct that field. Until then it is ignored, or counts as in its last"
        " readable version"
    )
    return Event(ObjectRef(shown, namespace, name, uid), "Warning", REASON, text)
