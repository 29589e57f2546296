"""kopf as a guest in our process: it watches queues and Commands, on our loop, under our supervisor.

kopf is made to own a process. What it does that a guest must not do, and how each is prevented, is written beside the
settings and calls below; the facts are those of kopf 1.45.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, Protocol, cast

import kopf
import msgspec
import structlog

from volcano_py.api.names import SCHEDULING_API
from volcano_py.cluster.kubernetes.backoff import Backoff
from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.cluster.kubernetes.errors import NotFoundError, RequestError
from volcano_py.cluster.protocol import BadObjectHandler
from volcano_py.operator.commands import Command, CommandController
from volcano_py.operator.kopf_login import KopfLogin
from volcano_py.operator.kube_api import BUS_API, queue_path
from volcano_py.operator.queue_feed import QueueFeed

log = structlog.get_logger(__name__)

LIST_EVERY: Final = 30.0
"""Seconds between two lists of the queues."""
_FIRST_LIST_AFTER: Final = 2.0  # seconds; kopf's own first list is then over, and the gap between the two is closed
_STOP_WITHIN: Final = 5.0  # seconds; kopf needs some milliseconds when its handlers are idle

_COMMANDS_PATH: Final = f"/apis/{BUS_API}/commands"
_FINALIZER: Final = "scheduling.volcano.sh/volcano-py-sets-no-finalizer"


class KopfEndedError(RuntimeError):
    """kopf ended although nobody had asked it to."""


class Webhooks(Protocol):
    """Admission webhooks: kopf evaluates reviews, the server that receives them is not kopf's."""

    server: kopf.WebhookServerProtocol
    """To be given to kopf."""
    outdated: asyncio.Event
    """Set when kopf is to be started again, because it does not know a kind that a review is about."""

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """Add the handlers."""


class KopfApp:
    """Runs kopf, feeds `feed` with queues and `commands` (None: switched off) with Commands; serves `webhooks`.

    `own_signals` takes SIGINT and SIGTERM back, which kopf seizes whenever it starts.
    """

    def __init__(
        self,
        client: KubernetesClient,
        feed: QueueFeed,
        commands: CommandController | None,
        *,
        own_signals: Callable[[], None],
        bad_object: BadObjectHandler,
        webhooks: Webhooks | None = None,
        list_every: float = LIST_EVERY,
    ) -> None:
        self._client, self._feed, self._commands, self._webhooks = client, feed, commands, webhooks
        self._own_signals, self._bad_object = own_signals, bad_object
        self._list_every = list_every
        self._login = KopfLogin(client.credentials)
        self.listed = asyncio.Event()
        """Set when all queues have been handed on for the first time."""
        self.watching = False
        """Whether kopf has started, so that changes come as events."""

    async def run(self) -> None:
        """List all queues, then follow them until cancelled.

        Raises:
            KopfEndedError: kopf stopped by itself; it can be run again.
        """
        await self._list_until_it_works()
        while True:
            serves_commands = await self._serves_commands(default=False)
            reason = await self._follow(serves_commands)
            log.info("kopf starts again", reason=reason)

    async def _follow(self, serves_commands: bool) -> str:
        """Run kopf until there is a reason to start it again."""
        stop, ready = asyncio.Event(), asyncio.Event()
        guest = asyncio.create_task(self._run_kopf(serves_commands, stop, ready), name="kopf")
        lister = asyncio.create_task(self._keep_listing(serves_commands, ready), name="queue list")
        outdated = asyncio.create_task(self._outdated(ready), name="webhooks outdated")
        try:
            await asyncio.wait((guest, lister, outdated), return_when=asyncio.FIRST_COMPLETED)
            if guest.done():
                cause = None if guest.cancelled() else guest.exception()
                raise KopfEndedError(f"kopf ended by itself: {cause}") from cause
            return await lister if lister.done() else await outdated
        finally:
            self.watching = False
            lister.cancel()
            outdated.cancel()
            stop.set()
            await asyncio.wait((guest,), timeout=_STOP_WITHIN)
            guest.cancel()
            await asyncio.gather(guest, lister, outdated, return_exceptions=True)
            await self._login.aclose()

    async def _run_kopf(self, serves_commands: bool, stop: asyncio.Event, ready: asyncio.Event) -> None:
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
        # daemon's. Its own are all ended by their parents; the one that is not waits for the stop flag, which we set.
        await kopf.run_tasks(tasks, ignored=_EveryTask())

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

    async def _queue_event(self, event: kopf.RawEvent, **_: object) -> None:
        self._feed.event(event["type"], cast(Any, event["object"]))

    async def _command_event(self, event: kopf.RawEvent, **_: object) -> None:
        if self._commands is None:
            return
        command = self._command(cast(Any, event["object"]))
        if command is None:
            return
        if event["type"] == "DELETED":
            self._commands.delete(command.metadata.uid)
        else:
            self._commands.upsert(command)

    # Lists.

    async def _list_until_it_works(self) -> None:
        backoff = Backoff(0.5, 10.0)
        while True:
            try:
                await self._list_queues()
                self.listed.set()
                return
            except NotFoundError:
                log.warning("there is no Queue API: install the CustomResourceDefinitions (kubectl apply -k manifests)")
            except RequestError as error:
                log.warning("queues cannot be listed", error=str(error))
            await asyncio.sleep(backoff.delay(at_least=0.5))

    async def _keep_listing(self, serves_commands: bool, ready: asyncio.Event) -> str:
        """List now and then; ends with the reason why kopf has to be started again."""
        await ready.wait()
        self.watching = True
        await asyncio.sleep(min(_FIRST_LIST_AFTER, self._list_every))
        while True:
            try:
                if not await self._list_queues():
                    return "its watch of the queues brings nothing any more"
                if await self._serves_commands(default=serves_commands) != serves_commands:
                    return "Commands have come" if not serves_commands else "Commands are no longer served"
            except RequestError as error:
                log.warning("queues cannot be listed", error=str(error))
            await asyncio.sleep(self._list_every)

    async def _outdated(self, ready: asyncio.Event) -> str:
        """Ends with the reason when a webhook needs kopf to look anew what kinds there are."""
        await ready.wait()
        if self._webhooks is None:
            await asyncio.Event().wait()
        else:
            self._webhooks.outdated.clear()
            await self._webhooks.outdated.wait()
        return "a webhook is asked about a kind that has come"

    async def _list_queues(self) -> bool:
        """Compare all queues with what is known. Whether kopf's events keep up."""
        return self._feed.listed(*await self._list(queue_path()))

    async def _list(self, path: str) -> tuple[list[msgspec.Raw], str]:
        """All objects at the path, as JSON, and the version of the list."""
        items: list[msgspec.Raw] = []
        version = ""
        async for page in self._client.pages(path):
            version = page.metadata.resource_version
            items += page.items or ()
        return items, version

    async def _serves_commands(self, *, default: bool) -> bool:
        """Whether the cluster has Commands that we may see; those there are, are handed on.

        `default` is the answer when the server gives none.
        """
        if self._commands is None:
            return False
        try:
            items, version = await self._list(_COMMANDS_PATH)
        except NotFoundError:
            return False
        except RequestError as error:
            # 403 is no final answer either: an API server that has just started forbids everything for a moment.
            log.warning("Commands cannot be listed", error=str(error))
            return default
        commands = [self._command(msgspec.json.decode(item)) for item in items]
        self._commands.listed([command for command in commands if command is not None], version)
        return True

    def _command(self, raw: Mapping[str, Any]) -> Command | None:
        try:
            return msgspec.convert(raw, Command)
        except msgspec.ValidationError as error:
            metadata = raw.get("metadata") or {}
            key = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
            self._bad_object("Command", key, str(metadata.get("uid", "")), error)
            return None


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
    """Pauses in seconds between the tries of one request, without end; kopf iterates anew for each request."""

    def __iter__(self) -> Iterator[float]:
        backoff = Backoff(0.2, 5.0)
        while True:
            yield backoff.delay(at_least=0.05)


class _EveryTask(Collection["asyncio.Task[Any]"]):
    """Contains whatever it is asked for: "leave all of them alone"."""

    def __contains__(self, task: object) -> bool:
        return True

    def __iter__(self) -> Iterator[asyncio.Task[Any]]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _quieten_kopf() -> None:
    """Leave of kopf's log lines what somebody has to act on.

    At INFO it logs each call of a handler, and that "the operator is stopping" when only kopf is. Its client logs every
    try of a request at ERROR; that the server does not answer is in our own log already, once and not four times a
    second, and what the client cannot get over ends kopf with an error.
    """
    logging.getLogger("kopf").setLevel(logging.WARNING)
    logging.getLogger("kopf._cogs.clients").setLevel(logging.CRITICAL)
    # A refusal of a webhook is a handler's error to kopf, and news to nobody but whoever is refused.
    logging.getLogger("kopf.objects").addFilter(_is_no_refusal)


def _is_no_refusal(record: logging.LogRecord) -> bool:
    return not record.getMessage().startswith("Webhook ")
