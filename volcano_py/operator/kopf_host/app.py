"""kopf, embedded in our process: it watches queues and Commands, on our loop, under our supervisor.

This module decides when kopf runs, and lists what kopf may have missed; kopf itself is in `embedded.py`.
"""

from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
import structlog

from volcano_py.cluster.kubernetes.backoff import Backoff
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import NotFoundError, RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.protocol import BadObjectHandler
from volcano_py.operator.kopf_host.queue_watch import QueueWatch
from volcano_py.operator.kube_api import BUS_API, queue_path
from volcano_py.operator.queues.commands import Command, CommandController
from volcano_py.operator.queues.feed import QueueFeed
from volcano_py.operator.webhooks.protocol import Webhooks

if TYPE_CHECKING:
    from volcano_py.operator.kopf_host.embedded import EmbeddedKopf

log = structlog.get_logger(__name__)

LIST_EVERY: Final = 30.0
"""Seconds between two lists of the queues."""
_LIST_UNTIL_LOADED_EVERY: Final = 1.0  # seconds; no events arrive meanwhile
_FIRST_LIST_AFTER: Final = 2.0  # seconds; kopf's own first list is then over, and the gap between the two is closed
_LIST_UNWATCHED_EVERY: Final = 1.0
"""Seconds between two lists while kopf has no open watch of queues."""
_STOP_WITHIN: Final = 5.0  # seconds; kopf needs some milliseconds when its handlers are idle

_COMMANDS_PATH: Final = ApiPath(BUS_API, "commands")


class KopfEndedError(RuntimeError):
    """kopf ended without being asked to."""


class KopfApp:
    """Runs kopf, feeds `feed` with queues and `commands` (None: switched off) with Commands; serves `webhooks`.

    `own_signals` takes SIGINT and SIGTERM back, which kopf seizes whenever it starts. kopf is loaded and started once
    the queues have been listed and `load_after` has returned; until then they are listed now and then.
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
        load_after: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._client, self._feed, self._commands, self._webhooks = client, feed, commands, webhooks
        self._own_signals, self._bad_object = own_signals, bad_object
        self._list_every = list_every
        self._load_after = load_after
        self._kopf: EmbeddedKopf | None = None
        self.listed = asyncio.Event()
        """Set when all queues have been handed on for the first time."""
        self.listed_from = float("-inf")
        """Monotonic time at which the newest list that was handed on was begun."""
        self._listing = asyncio.Lock()
        self.on_current: Callable[[], None] = lambda: None
        """Called when the queues are up to date: whenever a list was handed on, or kopf's watch is open again."""
        self._watch = QueueWatch(self._are_current)
        self.watching = False
        """Whether kopf has started, so that changes come as events."""

    async def run(self) -> None:
        """List all queues, then follow them until cancelled.

        Raises:
            KopfEndedError: kopf stopped by itself; it can be run again.
        """
        await self._list_until_it_works()
        if self._kopf is None:
            self._kopf = await self._load()
        while True:
            serves_commands = await self._serves_commands(default=False)
            reason = await self._follow(self._kopf, serves_commands)
            log.info("restarting kopf", reason=reason)

    @property
    def behind(self) -> float:
        """Seconds since the queues were last known to be as the server has them: 0 while kopf's watch is open, and
        until kopf is loaded, which is to open it."""
        if not self._watch.lost.is_set():
            return 0.0
        return time.monotonic() - max(self._watch.lost_at, self.listed_from)

    async def stand_in(self) -> None:
        """List the queues while kopf has no open watch, until cancelled; kopf itself may be down, too."""
        while True:
            await self._watch.lost.wait()
            await asyncio.sleep(_LIST_UNWATCHED_EVERY)
            if self._watch.lost.is_set():
                await self._try_to_list()

    async def list_since(self, moment: float) -> None:
        """Return when a list of the queues that was begun at this monotonic time or later has been handed on."""
        if self.listed_from < moment:
            await self._list_until_it_works()

    async def _load(self) -> EmbeddedKopf:
        """In a thread, as the loop has more urgent things to do."""
        if self._load_after is not None:
            await self._list_until(self._load_after())
        self._watch.expect()
        module = await asyncio.to_thread(importlib.import_module, "volcano_py.operator.kopf_host.embedded")
        kopf: EmbeddedKopf = module.EmbeddedKopf(
            self._client.credentials,
            self._watch,
            on_queue=self._feed.event,
            on_command=self._command_event,
            own_signals=self._own_signals,
            webhooks=self._webhooks,
        )
        return kopf

    async def _follow(self, kopf: EmbeddedKopf, serves_commands: bool) -> str:
        """Run kopf until there is a reason to start it again."""
        stop, ready = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(kopf.run(serves_commands, stop, ready), name="kopf")
        lister = asyncio.create_task(self._keep_listing(serves_commands, ready), name="queue list")
        outdated = asyncio.create_task(self._outdated(ready), name="webhooks outdated")
        try:
            await asyncio.wait((task, lister, outdated), return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                cause = None if task.cancelled() else task.exception()
                raise KopfEndedError(f"kopf ended by itself: {cause}") from cause
            return await lister if lister.done() else await outdated
        finally:
            self.watching = False
            lister.cancel()
            outdated.cancel()
            stop.set()
            await _end(kopf, task)
            await asyncio.gather(lister, outdated, return_exceptions=True)

    def _command_event(self, change: str | None, raw: Mapping[str, Any]) -> None:
        if self._commands is None:
            return
        command = self._command(raw)
        if command is None:
            return
        if change == "DELETED":
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
                log.warning("Queue API not found: install the CustomResourceDefinitions (kubectl apply -k manifests)")
            except RequestError as error:
                log.warning("queues cannot be listed", error=str(error))
            await asyncio.sleep(backoff.delay(at_least=0.5))

    async def _list_until(self, moment: Awaitable[None]) -> None:
        waiting = asyncio.ensure_future(moment)
        try:
            while not (await asyncio.wait((waiting,), timeout=min(_LIST_UNTIL_LOADED_EVERY, self._list_every)))[0]:
                await self._try_to_list()
            await waiting
        finally:
            waiting.cancel()

    async def _keep_listing(self, serves_commands: bool, ready: asyncio.Event) -> str:
        """List now and then; ends with the reason why kopf has to be started again."""
        await ready.wait()
        self.watching = True
        await asyncio.sleep(min(_FIRST_LIST_AFTER, self._list_every))
        while True:
            try:
                if not await self._list_queues():
                    return "its watch of queues delivers no events"
                if await self._serves_commands(default=serves_commands) != serves_commands:
                    return "the Command API was installed" if not serves_commands else "the Command API was removed"
            except RequestError as error:
                log.warning("queues cannot be listed", error=str(error))
            await asyncio.sleep(self._list_every)

    async def _outdated(self, ready: asyncio.Event) -> str:
        """Ends with the reason when a webhook needs kopf to look up the kinds again."""
        await ready.wait()
        if self._webhooks is None:
            await asyncio.Event().wait()
        else:
            self._webhooks.outdated.clear()
            await self._webhooks.outdated.wait()
        return "a kind that webhooks check was installed"

    async def _list_queues(self) -> bool:
        """Compare all queues with what is known. Whether kopf's events keep up."""
        async with self._listing:  # of two at a time, the older one might come last
            begun_at = time.monotonic()
            keeps_up = self._feed.listed(*await self._list(queue_path()))
            self.listed_from = begun_at
        self._are_current()
        return keeps_up

    def _are_current(self) -> None:
        self.on_current()

    async def _try_to_list(self) -> None:
        try:
            await self._list_queues()
        except RequestError as error:
            log.warning("queues cannot be listed", error=str(error))

    async def _list(self, path: ApiPath) -> tuple[list[msgspec.Raw], str]:
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


async def _end(kopf: EmbeddedKopf, task: asyncio.Task[None]) -> None:
    """Let kopf end, in its own order if it can, and without waiting for it forever: a watch of its own that breaks at
    the moment of the cancellation swallows that, and begins again."""
    await asyncio.wait((task,), timeout=_STOP_WITHIN)
    task.cancel()
    await asyncio.wait((task,), timeout=_STOP_WITHIN)
    await kopf.aclose()  # nothing of kopf's continues without its connections
    task.cancel()
    _, left = await asyncio.wait((task,), timeout=_STOP_WITHIN)
    if left:
        log.warning("kopf did not stop; abandoned")
    elif not task.cancelled():
        task.exception()  # raised by _follow already, if it was the reason
