"""Keeps a sink in step with one kind of objects: list, then watch, resume, and list again when the watch cannot go on.

What the sink may rely on, whatever the network and the server do: see `protocol.Sink`. What it gets of a list, an event
or an answer: see `sink_feed.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

import msgspec
import structlog

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.cluster.kubernetes.backoff import Backoff
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock, wait_at_most
from volcano_py.cluster.kubernetes.http.client import PAGE_SIZE, KubernetesClient
from volcano_py.cluster.kubernetes.http.errors import (
    ForbiddenError,
    GoneError,
    NotFoundError,
    RequestError,
    UnreachableError,
)
from volcano_py.cluster.kubernetes.http.unreadable import RawEvent, identify, stream_error
from volcano_py.cluster.kubernetes.http.watch_stream import WatchStream
from volcano_py.cluster.kubernetes.watching.decoding import Decoder
from volcano_py.cluster.kubernetes.watching.early_lists import EarlyList
from volcano_py.cluster.kubernetes.watching.failure_log_throttle import FailureLogThrottle
from volcano_py.cluster.kubernetes.watching.kinds import Kind
from volcano_py.cluster.kubernetes.watching.reflector_stats import ReflectorStats
from volcano_py.cluster.kubernetes.watching.sink_feed import SinkFeed
from volcano_py.cluster.kubernetes.watching.versions import version_of
from volcano_py.cluster.protocol import BadObjectHandler, Sink

log = structlog.get_logger(__name__)

# Seconds; the server ends a watch after a time between this and twice this, as client-go asks it to, so that the
# watches of many clients spread over the API servers behind one address.
WATCH_LASTS = 300.0
# Seconds without any byte. The server sends a bookmark about once a minute, so two minutes of silence mean a broken
# watch; a wrong guess costs one request. For a kind without a change since the server started it sends none at all.
STALL_AFTER = 120.0
# Seconds; a watch that ends sooner and brought nothing is a failure, or a broken proxy would be asked in a hot loop.
_SHORTEST_WATCH = 1.0
_BACKOFF_BASE, _BACKOFF_CAP = 0.2, 10.0  # seconds; a restarted API server must not be found late
_SLICE_BYTES = 1 << 18  # of a list, decoded and handed on before others have their turn; some 5 ms
# Seconds after which a resource that was not served, or forbidden, is asked for again: it takes an upgrade to appear.
_ABSENT_FOR = 300.0
# Seconds for which an optional resource has to be forbidden before it is done without: a server that has just started
# forbids everything for a moment.
_FORBIDDEN_FOR = 30.0
FRESH_FOR = 2.0
"""Seconds without an open watch after which a kind counts as behind. It is listed again then, which shows for certain
what was missed; before that the watch resumes. Watches that end in their time are open again within milliseconds."""
# Seconds from the beginning of a list for which its watch may wait; opening one takes far less than what is left.
_WATCH_WITHIN = 0.5 * FRESH_FOR


class Reflector:
    """One kind into one sink. `synced` is set after the first list; `run` never returns."""

    def __init__(
        self,
        client: KubernetesClient,
        kind: Kind,
        sink: Sink,
        *,
        begun: EarlyList | None = None,
        go_before: asyncio.Event | None = None,
        on_bad_object: BadObjectHandler | None = None,
        on_followed: Callable[[bool], None] = lambda _was_behind: None,
        page_size: int = PAGE_SIZE,
        watch_lasts: float = WATCH_LASTS,
        stall_after: float = STALL_AFTER,
        resync_every: float | None = None,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`begun` is a first list that is under way. Until `go_before` is set, something is more urgent than a watch:
        it is opened later, while the list is fresh. `on_followed` is called whenever a watch has been opened: with
        whether the kind was behind after it had been followed before. `resync_every` (seconds): list again that often
        even when all seems well, against whatever was missed."""
        self.kind = kind
        self.synced = asyncio.Event()
        self.resource_version = ""
        """Where the watch resumes; "" when a list is needed first."""
        self.listed_from = float("-inf")
        """Monotonic time at which the newest list that the sink has was begun."""
        self._client, self._clock = client, clock
        self._begun, self._go_before = begun, go_before
        self._on_followed = on_followed
        self._page_size, self._watch_lasts = page_size, watch_lasts
        self._stall_after, self._resync_every = stall_after, resync_every
        self._rng = rng or random.Random()
        self._backoff = Backoff(_BACKOFF_BASE, _BACKOFF_CAP, self._rng)
        self._stream: WatchStream | None = None
        self._wanted: list[asyncio.Future[None]] = []  # callers that wait for a list that has not begun yet
        self._failure_log = FailureLogThrottle(kind.name, clock)
        self._listed_at = 0.0
        self._heard = clock.monotonic()
        self._current_until = float("-inf")
        self._forbidden_since: float | None = None
        self._does_without = self._was_behind = False
        self._hurry = asyncio.Event()
        self._lists = self._watches = self._events = self._failures = 0
        self._decoder = Decoder(kind)
        self._feed = SinkFeed(kind.name, sink, self._decoder, clock, on_bad_object or _ignore)

    def stats(self) -> ReflectorStats:
        """The numbers now."""
        return ReflectorStats(
            objects=len(self._feed),
            unreadable=self._feed.unreadable,
            lists=self._lists,
            watches=self._watches,
            events=self._events,
            stale_events=self._feed.stale,
            failures=self._failures,
            behind=self.behind if self.synced.is_set() else 0.0,
            silent_for=max(0.0, self._clock.monotonic() - self._heard),
        )

    @property
    def behind(self) -> float:
        """Seconds since the sink was last known to have what the server has: 0 while a watch is open, or while there is
        nothing that could be watched."""
        if self._stream is not None or self._does_without:
            return 0.0
        return self._clock.monotonic() - self._current_until

    def hurry(self) -> None:
        """The server answers again: if this waits for the next attempt, make it now."""
        self._hurry.set()

    def learn(self, obj: ApiObject) -> None:
        """The server has shown this object in an answer. If that is newer than what is known, it counts like an event,
        and older versions that lists and watches bring later do not undo it."""
        if self.synced.is_set():
            self._feed.answered(obj)

    async def relist(self) -> None:
        """Return when the sink has a list that was begun after this call, or the server has said again that there is
        nothing to list; `run` must be running, or run later."""
        wanted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wanted.append(wanted)
        if self._stream is not None:
            self._stream.abort()
        self.hurry()
        await wanted

    async def run(self) -> NoReturn:
        """List and watch until cancelled."""
        while True:
            try:
                if self.resource_version and self.behind > FRESH_FOR:
                    self._give_up_resuming()
                resumes = bool(self.resource_version) and not self._wanted
                if not resumes:
                    await self._list()
                    await self._let_go_before()
                await self._watch(resumes)
            except GoneError as error:
                log.info("watch expired; listing again", kind=self.kind.name, error=str(error))
                self.resource_version = ""
                await self._pause(error)
            except RequestError as error:
                if self.kind.optional and self._can_do_without(error):
                    await self._do_without(error)
                    continue
                self._failure_log.failed(error)
                await self._pause(error)
            except Exception:
                # A bug of ours, triggered by some object: the other kinds are not affected, and this one starts again.
                log.exception("unexpected error while watching; retrying", kind=self.kind.name)
                self.resource_version = ""
                await self._pause(None)

    def _recovered(self) -> None:
        self._backoff.reset()
        self._failure_log.recovered()

    async def _pause(self, error: RequestError | None) -> None:
        self._failures += 1
        asked = error.retry_after if error else 0.0
        delay = self._backoff.delay(at_least=asked)
        if asked:
            await self._clock.sleep(delay)
            return
        await self._rest(delay)

    async def _rest(self, seconds: float, *until: asyncio.Event) -> None:
        """Wait until a list is urgent or one of these is set, or for this many seconds."""
        self._hurry.clear()
        await wait_at_most(self._clock, seconds, self._hurry, *until)

    def _can_do_without(self, error: RequestError) -> bool:
        now = self._clock.monotonic()
        if isinstance(error, ForbiddenError):
            self._forbidden_since = now if self._forbidden_since is None else self._forbidden_since
            return now - self._forbidden_since >= _FORBIDDEN_FOR
        return isinstance(error, NotFoundError)

    async def _do_without(self, error: RequestError) -> None:
        """Where the server does not serve the resource there are no such objects, until it does. Where we may not see
        them, those that were seen are taken to exist."""
        if isinstance(error, ForbiddenError) and not self._does_without:
            log.warning("not allowed to watch; deciding without these objects", kind=self.kind.name, error=str(error))
        is_gone = isinstance(error, NotFoundError) and len(self._feed) > 0
        if is_gone or not self.synced.is_set():
            log.info("kind not available; assuming there are no objects", kind=self.kind.name, error=str(error))
            self._feed.begin_list("", is_first=not self.synced.is_set())
            await self._feed.end_list()
            self.synced.set()
        self.resource_version = ""
        self._follow(None)
        wanted, self._wanted = self._wanted, []
        _release(wanted)
        await self._rest(_ABSENT_FOR)

    def _follow(self, stream: WatchStream | None) -> None:
        """From now on the kind is up to date: this watch is open, or (None) there is nothing to watch."""
        self._note_behind()
        was_behind, self._was_behind = self._was_behind, False
        self._stream, self._does_without = stream, stream is None
        self._on_followed(was_behind)

    def _give_up_resuming(self) -> None:
        """The next step is a list; the log says why."""
        self._note_behind()
        self.resource_version = ""
        log.info("no watch was open for too long; listing again", kind=self.kind.name, seconds=round(self.behind, 1))

    def _note_behind(self) -> None:
        self._was_behind = self._was_behind or (self._watches > 0 and self.behind > FRESH_FOR)

    # -- list ----------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        self._note_behind()
        wanted, self._wanted = self._wanted, []
        begun_at = self._clock.monotonic() if self._begun is None or wanted else self._begun.begun_at
        try:
            if wanted and self._begun is not None:  # it began too early for them
                begun, self._begun = self._begun, None
                await begun.aclose()
            version = await self._take_all_pages()
        except BaseException:
            self._wanted += wanted
            raise
        self._lists += 1
        self.listed_from = begun_at
        self._current_until = max(self._current_until, begun_at)
        self._listed_at = self._heard = self._clock.monotonic()
        self.resource_version = version
        self.synced.set()
        _release(wanted)

    async def _take_all_pages(self) -> str:
        try:
            return await self._take_pages(self._page_size)
        except GoneError:
            # The server forgot the first page's moment before the last page was read; one large answer cannot age.
            return await self._take_pages(0)

    async def _take_pages(self, page_size: int) -> str:
        """Hand on a list while it is read; returns its version.

        No resourceVersion is asked for, which means the newest: a list from a server's cache may be older than what
        another server has sent us already.
        """
        version: str | None = None
        begun, self._begun = self._begun, None
        pages = begun or self._client.pages(
            self.kind.path, self.kind.selectors, page_size=page_size, accept=self.kind.list_accept
        )
        async with contextlib.aclosing(pages):
            async for page in pages:
                if version is None:
                    version = page.metadata.resource_version
                    self._feed.begin_list(version, is_first=not self.synced.is_set())
                for part in _in_parts(page.items or ()):
                    await self._feed.take_listed(*self._decoded(part))
                    await asyncio.sleep(0)
        assert version is not None, "a list without a page"
        await self._feed.end_list()
        return version

    def _decoded(self, items: Sequence[msgspec.Raw]) -> tuple[list[ApiObject], dict[str, str]]:
        """The objects, and those that cannot be read (key → UID), which are reported."""
        with contextlib.suppress(msgspec.MsgspecError):
            return self._decoder.items(items), {}
        objects: list[ApiObject] = []
        bad: dict[str, str] = {}
        for item in items:
            try:
                objects.append(self._decoder.item(item))
            except msgspec.MsgspecError as error:
                identity = identify(item)
                bad[identity.key] = identity.uid
                self._feed.report(identity, error)
        return objects, bad

    # -- watch ---------------------------------------------------------------------------------------------------

    async def _let_go_before(self) -> None:
        if self._go_before is not None and not self._wanted:
            await self._rest(_WATCH_WITHIN - self.behind, self._go_before)

    async def _watch(self, resumes: bool) -> None:
        """Follow one watch until the server ends it; one that `resumes` another only if it is opened soon after it.

        Raises:
            GoneError: the version to resume from is too old.
            RequestError: the connection broke, or the server refused.
        """
        parameters: dict[str, str | int] = {
            **self.kind.selectors,
            "resourceVersion": self.resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": int(self._rng.uniform(self._watch_lasts, 2 * self._watch_lasts)),
        }
        started, events = self._clock.monotonic(), self._events
        async with self._client.watch(self.kind.path, parameters, accept=self.kind.watch_accept) as stream:
            self._forbidden_since = None
            if resumes and self.behind > FRESH_FOR:
                # Opened late: it does not say when it has caught up, or may end with 410 at once.
                self._give_up_resuming()
                return
            unfollowed = self._current_until
            followed_until: float | None = None
            self._follow(stream)
            self._watches += 1
            guard = asyncio.create_task(self._guard(stream), name=f"guard of {self.kind.name}")
            try:
                if not self._wanted:
                    async for line in stream:
                        self._take(line)
                        self._heard = stream.last_data
            except GoneError:
                followed_until = unfollowed  # its version was too old: it has shown nothing
                raise
            except UnreachableError:
                # It may have been us who broke the connection.
                if not (guard.done() or self._wanted):
                    raise
            finally:
                guard.cancel()
                self._stream = None
                self._current_until = self._clock.monotonic() if followed_until is None else followed_until
        if self._resync_is_due():
            self.resource_version = ""
        elif self._clock.monotonic() - started >= _SHORTEST_WATCH:
            self._recovered()
        elif self._events == events:
            raise UnreachableError("WATCH", str(self.kind.path), "the server ended the watch at once")

    async def _guard(self, stream: WatchStream) -> None:
        """Break the connection and return when the watch was silent for too long or a resync is due."""
        while True:
            now = self._clock.monotonic()
            wait = stream.last_data + self._stall_after - now
            if self._resync_every is not None:
                wait = min(wait, self._listed_at + self._resync_every - now)
            if wait <= 0:
                break
            await self._clock.sleep(wait)
        if stream.heard and not self._resync_is_due():
            log.warning("watch stalled; reopening it", kind=self.kind.name, silent=self._stall_after)
            self._failures += 1
        stream.abort()

    def _resync_is_due(self) -> bool:
        due = self._resync_every
        return bool(self._wanted) or (due is not None and self._clock.monotonic() >= self._listed_at + due)

    def _take(self, line: bytes) -> None:
        """Digest one line of a watch."""
        try:
            change, obj = self._decoder.event(line)
        except msgspec.MsgspecError as error:
            self._take_unusual(line, error)
            return
        if change not in ("ADDED", "MODIFIED", "DELETED"):
            self._take_unusual(line, None)
            return
        self._events += 1
        self._recovered()
        self._apply(change, obj)

    def _apply(self, change: str, obj: ApiObject) -> None:
        self._feed.changed(change, obj)
        self._advance(metadata_of(obj).resource_version)

    def _take_unusual(self, line: bytes, error: Exception | None) -> None:
        """A bookmark, an error of the server, or an object that cannot be read."""
        try:
            event = msgspec.json.decode(line, type=RawEvent)
        except msgspec.MsgspecError as broken:
            raise UnreachableError("WATCH", str(self.kind.path), f"not a watch event: {line[:100]!r}") from broken
        if event.type == "ERROR":
            raise stream_error(str(self.kind.path), bytes(event.object))
        identity = identify(event.object)
        if event.type == "BOOKMARK":
            self._recovered()
        elif event.type == "DELETED":
            # Whatever else it holds, its name says what is gone.
            self._events += 1
            gone = ObjectMeta(
                name=identity.name,
                namespace=identity.namespace,
                uid=identity.uid,
                resource_version=identity.resource_version,
            )
            self._apply("DELETED", self._decoder.bare(gone))
            return
        elif error is not None:
            self._events += 1
            self._feed.changed_unreadably(identity, error)
        self._advance(identity.resource_version)

    def _advance(self, version: str) -> None:
        """Resume after this version; never before one that was seen, should events come out of order."""
        if version and (version_of(version) < 0 or version_of(version) > version_of(self.resource_version)):
            self.resource_version = version


def _in_parts(items: Sequence[msgspec.Raw]) -> Iterator[Sequence[msgspec.Raw]]:
    """What is decoded before others have their turn, one part after the other."""
    begin = size = 0
    for end, item in enumerate(items, start=1):
        size += len(memoryview(item))
        if size > _SLICE_BYTES or end == len(items):
            yield items[begin:end]
            begin, size = end, 0


def _release(waiting: list[asyncio.Future[None]]) -> None:
    for each in waiting:
        if not each.done():
            each.set_result(None)


def _ignore(kind: str, key: str, uid: str, error: Exception) -> None:
    """The default: nothing beyond the log."""
