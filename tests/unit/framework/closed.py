"""What the end of a cycle writes, read by object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tests.support.sessions import Opened, open_session
from volcano_py.actions.allocate import Allocate
from volcano_py.actions.backfill import Backfill
from volcano_py.actions.enqueue import Enqueue
from volcano_py.api.effects import Effect, Event, PodCondition, PodGroupStatusUpdate, QueueAllocated
from volcano_py.api.objects import ApiObject, Condition
from volcano_py.framework.action import Action
from volcano_py.framework.status.closing import Closing
from volcano_py.plugins.gang import Gang

CYCLE = "cycle-7"


class Closed:
    """A session after its actions and its closing."""

    def __init__(self, opened: Opened, closing: Closing, effects: list[Effect]) -> None:
        self.opened, self.closing, self.effects = opened, closing, effects

    def status(self, group: str) -> PodGroupStatusUpdate | None:
        """The one update of a PodGroup's status, if any."""
        found = [
            effect for effect in self.effects if isinstance(effect, PodGroupStatusUpdate) and effect.group.name == group
        ]
        assert len(found) <= 1
        return found[0] if found else None

    def phase(self, group: str) -> str:
        """The phase that is written; "" when nothing is."""
        update = self.status(group)
        return update.phase if update is not None else ""

    def conditions(self, group: str) -> dict[str, Condition]:
        update = self.status(group)
        return {condition.type: condition for condition in update.conditions} if update is not None else {}

    def pods(self) -> dict[str, tuple[str, str]]:
        """Pod name → reason and message of the conditions that are written."""
        return {
            effect.pod.name: (effect.reason, effect.message)
            for effect in self.effects
            if isinstance(effect, PodCondition)
        }

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """Type, reason and message of the events about an object."""
        return [
            (effect.type, effect.reason, effect.message)
            for effect in self.effects
            if isinstance(effect, Event) and effect.about.name == name
        ]

    def queues(self) -> dict[str, dict[str, str]]:
        """Queue → the allocated amounts that are written."""
        return {effect.queue: dict(effect.allocated) for effect in self.effects if isinstance(effect, QueueAllocated)}


def closed(
    *objects: ApiObject | Iterable[ApiObject],
    tiers: Sequence[Sequence[Any]] = ((Gang,),),
    actions: Sequence[type[Action]] = (Enqueue, Allocate, Backfill),
    decided: bool = True,
    **options: Any,
) -> Closed:
    """The actions have run (unless nothing was decided), and the cycle is closed."""
    opened = open_session(*objects, tiers=tiers, actions=actions, **options)
    if decided:
        for action in actions:
            action(action.arguments_type()).execute(opened.ssn)
    closing = Closing(opened.ssn, CYCLE, decided=decided)
    return Closed(opened, closing, closing.effects())
