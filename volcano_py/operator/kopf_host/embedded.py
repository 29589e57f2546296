"""kopf in our process: its registry and settings, one run of it, and its end.

kopf is built to own a process. What an embedded kopf must not do, and how each is prevented, is written next to the
settings and calls below; the facts are those of kopf 1.45.

Only `kopf_app` imports this, and late: kopf takes a tenth of a second to load, which no decision has to wait for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import kopf

from volcano_py.api.names import SCHEDULING_API
from volcano_py.cluster.kubernetes.backoff import Backoff
from volcano_py.cluster.kubernetes.http.credentials import Credentials
from volcano_py.operator.kopf_host.login import KopfLogin
from volcano_py.operator.kopf_host.queue_watch import QueueWatch
from volcano_py.operator.kube_api import BUS_API
from volcano_py.operator.webhooks.protocol import Webhooks

# Where kopf asks at its start what kinds there are.
_SCANNING: Final = str(Path(kopf.__file__).parent / "_cogs" / "clients" / "scanning.py")
_FINALIZER: Final = "scheduling.volcano.sh/volcano-py-sets-no-finalizer"

OnEvent = Callable[[str | None, Mapping[str, Any]], None]
"""Takes the type of a watch event (None: from kopf's own first list) and the object."""


class EmbeddedKopf:
    """Runs kopf, which calls `on_queue` and, if asked to, `on_command`.

    `own_signals` takes SIGINT and SIGTERM back, which kopf seizes whenever it starts. `watch` sees what it asks for.
    """

    def __init__(
        self,
        credentials: Credentials,
        watch: QueueWatch,
        *,
        on_queue: OnEvent,
        on_command: OnEvent,
        own_signals: Callable[[], None],
        webhooks: Webhooks | None,
    ) -> None:
        self._on_queue, self._on_command = on_queue, on_command
        self._own_signals, self._webhooks = own_signals, webhooks
        self._login = KopfLogin(credentials, watch)

    async def run(self, serves_commands: bool, stop: asyncio.Event, ready: asyncio.Event) -> None:
        """Until `stop` is set; `ready` is set once it watches."""
        _quieten_kopf()
        # `kopf.operator()` is these two calls; only apart can signals be taken back before any can arrive, as nothing
        # runs on the loop between the end of the one and the next line.
        tasks = await kopf.spawn_tasks(
            # Its own, empty registry: the default one is shared by the process, and finds login handlers by itself.
            registry=self._registry(serves_commands),
            settings=_settings(self._webhooks),
            clusterwide=True,
            # Without an identity kopf makes one out of the user's name, which a container's user does not have, and of
            # a DNS query that blocks the loop. It is used for peering only, and there is none.
            identity=cast(Any, "volcano-py"),
            standalone=True,
            stop_flag=stop,
            ready_flag=ready,
        )
        self._own_signals()
        # When it stops, kopf cancels every task of the loop that is younger than itself, and that would be most of the
        # daemon's. Its own are nearly all ended by their parents.
        try:
            await kopf.run_tasks(tasks, ignored=_EveryTask())
        finally:
            await _end_questions()

    def _registry(self, serves_commands: bool) -> kopf.OperatorRegistry:
        """Handlers are all `async`: kopf calls plain functions in threads. They return nothing: kopf writes what a
        handler returns into the object's status."""
        registry = kopf.OperatorRegistry()
        # Errors of a login handler are retried after a minute by default.
        kopf.on.login(registry=registry, id="login", backoff=1.0)(cast(Any, self._login.log_in))
        group, version = SCHEDULING_API.split("/")
        # `on.event` only: the other kinds of handlers keep their state in annotations and finalizers of the object.
        kopf.on.event(group, version, "queues", registry=registry, id="queue")(cast(Any, self._queue_event))
        if serves_commands:
            group, version = BUS_API.split("/")
            kopf.on.event(group, version, "commands", registry=registry, id="command")(cast(Any, self._command_event))
        if self._webhooks is not None:
            self._webhooks.register(registry)
        return registry

    async def aclose(self) -> None:
        """Close what kopf has left open."""
        await self._login.aclose()

    async def _queue_event(self, event: kopf.RawEvent, **_: object) -> None:
        self._on_queue(event["type"], cast(Any, event["object"]))

    async def _command_event(self, event: kopf.RawEvent, **_: object) -> None:
        self._on_command(event["type"], cast(Any, event["object"]))


def _settings(webhooks: Webhooks | None = None) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    if webhooks is not None:
        # Without `admission.managed` kopf leaves the webhook configurations alone: they are manifests.
        settings.admission.server = webhooks.server
    # Ours says in an event what happened to a queue; kopf's would be its log lines.
    settings.posting.enabled = False
    # kopf would kill the process with SIGKILL ten minutes after it was cancelled without its stop flag.
    settings.process.ultimate_exiting_timeout = None
    # Without this, kopf watches all CustomResourceDefinitions to see kinds come and go, and needs rights on them. That
    # Commands come or go is noticed by our own list.
    settings.scanning.disabled = True
    # kopf takes its finalizer off objects that it has no deletion handler for. The default name is every other kopf
    # operator's as well, whose objects we must leave alone.
    settings.persistence.finalizer = _FINALIZER
    # The defaults are no limit for connecting, and five minutes for an answer.
    settings.networking.connect_timeout = 10.0
    settings.networking.request_timeout = 60.0
    # By default requests fail after nine tries, and with them all of kopf when the server answered 403, 429 or 5xx, as
    # one that is starting does. The pauses grow to 21 s, while a restarted server must be found soon.
    settings.networking.error_backoffs = _Pauses()
    # A watch is asked to end by itself, so that those of many clients spread over the API servers again. The field is
    # declared as float, but goes into the query as it is, where the API server wants an integer.
    settings.watching.server_timeout = 300
    return settings


class _Pauses:
    """Pauses in seconds between the tries of one request, without end; kopf iterates again for each request."""

    def __iter__(self) -> Iterator[float]:
        backoff = Backoff(0.2, 5.0)
        while True:
            yield backoff.delay(at_least=0.05)


class _EveryTask(Collection["asyncio.Task[Any]"]):
    """Contains everything, which means "leave all of them alone"."""

    def __contains__(self, task: object) -> bool:
        return True

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        return iter(())

    def __len__(self) -> int:
        return 0


async def _end_questions() -> None:
    """Cancel requests of kopf that nothing awaits: when one of its questions about kinds has failed, the others. They
    would go on, or be reported as destroyed while pending.

    No other task of kopf's: those end in an order, and wait forever for one that has ended too early.
    """
    left = [task for task in asyncio.all_tasks() if _asks_what_there_is(task)]
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _asks_what_there_is(task: asyncio.Task[Any]) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename == _SCANNING


def _quieten_kopf() -> None:
    """Keep those of kopf's log lines that call for action.

    At INFO it logs each call of a handler, and that "the operator is stopping" when only kopf is. Its client logs every
    try of a request at ERROR; that the server does not answer is in our own log already, once and not four times a
    second, and what the client cannot get over ends kopf with an error.
    """
    logging.getLogger("kopf").setLevel(logging.WARNING)
    logging.getLogger("kopf._cogs.clients").setLevel(logging.CRITICAL)
    # Where the kinds are found out, at its start, the client logs under the name of the caller.
    logging.getLogger("kopf._core.reactor.observation").addFilter(_is_no_attempt)
    # A refusal of a webhook is a handler's error to kopf; only the refused client needs it.
    logging.getLogger("kopf.objects").addFilter(_is_no_refusal)


def _is_no_attempt(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Request attempt ")


def _is_no_refusal(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Webhook ")
