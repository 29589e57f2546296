"""All controllers of the daemon put together: what they are fed with, what runs, and which of them are switched off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import structlog

from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.cluster.protocol import BadObjectHandler, Sink
from volcano_py.operator.commands import CommandController
from volcano_py.operator.generated_group import GroupRules
from volcano_py.operator.kopf_app import KopfApp
from volcano_py.operator.kube_api import IsActive, Record
from volcano_py.operator.pod_groups import PodGroupController
from volcano_py.operator.queue_feed import QueueFeed
from volcano_py.operator.queues import MAX_REQUEUES, QueueController

log = structlog.get_logger(__name__)

QUEUE: Final = "queue"
POD_GROUP: Final = "podgroup"
COMMAND: Final = "command"
ALL: Final = frozenset({QUEUE, POD_GROUP, COMMAND})

# As Volcano's controller-manager calls its controllers, and what of ours does their work.
_ALIASES: Final[Mapping[str, frozenset[str]]] = {
    "queue-controller": frozenset({QUEUE, COMMAND}),
    "pg-controller": frozenset({POD_GROUP}),
}


class ControllersError(ValueError):
    """`--controllers` cannot be read; the text says what is wrong and what is possible."""


def parse_controllers(text: str) -> frozenset[str]:
    """The controllers to run, out of a list with commas: `*` is all, `name` one of them, `-name` not this one.

    A list that only switches off, such as `-podgroup`, leaves the others on; an empty one leaves none.

    Raises:
        ControllersError: a name is unknown, or one is on that needs another which is off.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    named, off = set[str](), set[str]()
    for word in words:
        if word == "*":
            named |= ALL
        elif word.startswith("-"):
            off |= _meant_by(word[1:])
        else:
            named |= _meant_by(word)
    on = (named or (ALL if off else set())) - off
    if QUEUE not in on and COMMAND in on:
        if QUEUE not in off:
            raise ControllersError("--controllers: command needs queue, which opens and closes the queues; add queue")
        # Who has another queue controller has one that takes the Commands as well.
        on -= {COMMAND}
    return frozenset(on)


def _meant_by(name: str) -> frozenset[str]:
    if name in ALL:
        return frozenset({name})
    if name not in _ALIASES:
        raise ControllersError(f"--controllers: there is no controller {name!r}; there are {', '.join(sorted(ALL))}")
    return _ALIASES[name]


@dataclass(frozen=True, slots=True)
class OperatorOptions:
    """What of the operator can be chosen.

    `max_requeues`: tries before an open or close request is given up; negative means for ever.
    """

    controllers: frozenset[str] = ALL
    groups: GroupRules = field(default_factory=GroupRules)
    max_requeues: int = MAX_REQUEUES


class Operator:
    """The controllers that are switched on, and kopf.

    Queues reach `state` (the scheduler's) and the queue controller through kopf alone; so kopf runs in any case. All
    other kinds come from the informers, which feed `sinks`.

    Arguments:
        state: gets the queues.
        active: whether this replica holds the Lease; only then anything is written.
        record: posts events.
        own_signals: takes the process's signals back from kopf.
        bad_object: hears of objects that cannot be read.
        synced: returns when the informers have listed everything; the controllers wait for it.
    """

    def __init__(
        self,
        client: KubernetesClient,
        state: Sink,
        options: OperatorOptions,
        *,
        active: IsActive,
        record: Record,
        own_signals: Callable[[], None],
        bad_object: BadObjectHandler,
        synced: Callable[[], Awaitable[object]],
    ) -> None:
        self._synced = synced
        on = options.controllers
        self.pod_groups = (
            PodGroupController(client, options.groups, active=active, record=record) if POD_GROUP in on else None
        )
        self.queues = (
            QueueController(
                client,
                active=active,
                record=record,
                default_queue=options.groups.default_queue,
                max_requeues=options.max_requeues,
            )
            if QUEUE in on
            else None
        )
        self.commands = (
            CommandController(client, self.queues, active=active) if COMMAND in on and self.queues is not None else None
        )
        feed = QueueFeed([sink for sink in (state, self.queues) if sink is not None], bad_object)
        self.kopf = KopfApp(client, feed, self.commands, own_signals=own_signals, bad_object=bad_object)

    @property
    def sinks(self) -> tuple[Sink, ...]:
        """Who wants to hear what the informers say, of the kinds `pod_group_index.KINDS`; never of queues."""
        return tuple(sink for sink in (self.pod_groups, self.queues) if sink is not None)

    @property
    def children(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        """What is to be run, by name; each runs until cancelled and may be run again after a failure."""
        children: dict[str, Callable[[], Awaitable[None]]] = {"kopf": self.kopf.run}
        for name, controller in ((POD_GROUP, self.pod_groups), (QUEUE, self.queues), (COMMAND, self.commands)):
            if controller is not None:
                children[f"{name} controller"] = self._when_synced(controller.run)
        return children

    def leadership_gained(self) -> None:
        """To be called when this replica gets the Lease."""
        for controller in (self.pod_groups, self.queues, self.commands):
            if controller is not None:
                controller.leadership_gained()

    def _when_synced(self, run: Callable[[], Awaitable[None]]) -> Callable[[], Awaitable[None]]:
        async def wait_and_run() -> None:
            await self.kopf.listed.wait()
            await self._synced()
            await run()

        return wait_and_run
