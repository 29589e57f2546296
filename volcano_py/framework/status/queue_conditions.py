"""The condition and the event of queues with fields that the configuration does not use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from volcano_py.api import names
from volcano_py.api.effects import Effect, Event, ObjectRef, QueueConditions
from volcano_py.api.objects import Condition
from volcano_py.api.wording.explain import invalid_queue
from volcano_py.framework.status.ignored_fields import FieldUse, IgnoredField, SharingFields, fields_without_effect
from volcano_py.state.infos import QueueInfo

if TYPE_CHECKING:
    from volcano_py.framework.session import Session

_KNOWN: Final = "ignored fields"
_RECORDED: Final = "recorded"


def ignored_by_queue(ssn: Session) -> Mapping[str, tuple[IgnoredField, ...]]:
    """The ignored fields of each queue, by its name. Worked out again only for queues that were edited."""
    use = FieldUse.of(ssn.configuration, {plugin.name: type(plugin) for plugin in ssn.dispatch.plugins})
    memory = ssn.memory(__name__)
    known_use, known = memory.get(_KNOWN, (None, {}))
    found: dict[str, tuple[QueueInfo, tuple[IgnoredField, ...]]] = {}
    for name, queue in ssn.queues.items():
        before = known.get(name)
        if before is not None and before[0] is queue and known_use == use:
            found[name] = before
        else:
            found[name] = queue, fields_without_effect(use, SharingFields.of_info(queue))
    memory[_KNOWN] = use, found
    return {name: ignored for name, (_, ignored) in found.items()}


def queue_conditions(ssn: Session) -> Iterator[Effect]:
    """The condition of each queue where it differs from what the API server has, and an event when the text is new.

    That is by what this process has recorded: a server whose definition of queues has no conditions drops them.
    """
    memory = ssn.memory(__name__)
    before: Mapping[ObjectRef, str] = memory.get(_RECORDED, {})
    recorded: dict[ObjectRef, str] = {}
    for name, ignored in ssn.shared(ignored_by_queue).items():
        queue = ssn.queues[name]
        text = "; ".join(field.message for field in ignored)
        if text:
            recorded[queue.ref] = text
            if before.get(queue.ref) != text and not _is_written(queue, text):
                yield Event(queue.ref, "Warning", names.FIELDS_IGNORED, invalid_queue(name, text))
        known = next((each for each in queue.conditions if each.type == names.FIELDS_IGNORED), None)
        condition = _changed(known, text, ssn.now)
        if condition is not None:
            others = (each for each in queue.conditions if each is not known)
            yield QueueConditions(queue.ref, (*others, condition))
    memory[_RECORDED] = recorded


def _changed(known: Condition | None, text: str, now: float) -> Condition | None:
    """The condition as it should be, with `text` for the ignored fields, "" for none; None when `known` says so, or
    when there is nothing to say."""
    if known is None and not text:
        return None
    status = "True" if text else "False"
    reason = names.NOT_USED_BY_CONFIGURATION if text else names.USED_BY_CONFIGURATION
    if known is not None and (known.status, known.reason, known.message) == (status, reason, text):
        return None
    since = known.last_transition_time if known is not None and known.status == status else None
    return Condition(
        type=names.FIELDS_IGNORED,
        status=status,
        reason=reason,
        message=text,
        last_transition_time=since or datetime.fromtimestamp(now, tz=UTC),
    )


def _is_written(queue: QueueInfo, text: str) -> bool:
    return any(each.type == names.FIELDS_IGNORED and each.message == text for each in queue.conditions)
