"""Keeps a sink in step with one kind of objects: list, then watch, resume, and list again when the thread is lost.

What the sink may rely on, whatever the network and the server do: see `protocol.Sink`. How stale news is told from
news is in `versions.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable
from typing import NoReturn

import msgspec
import structlog

from volcano_py.api.objects import ApiObject, ObjectMeta, metadata_of
from volcano_py.cluster.kubernetes.backoff import Backoff
from volcano_py.cluster.kubernetes.client import PAGE_SIZE, KubernetesClient
from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.complaints import Complaints
from volcano_py.cluster.kubernetes.decoding import Decoder
from volcano_py.cluster.kubernetes.early_lists import EarlyList
from volcano_py.cluster.kubernetes.errors import GoneError, NotFoundError, RequestError, UnreachableError
from volcano_py.cluster.kubernetes.kinds import Kind
from volcano_py.cluster.kubernetes.learned import Learned
from volcano_py.cluster.kubernetes.reflector_stats import ReflectorStats
from volcano_py.cluster.kubernetes.unreadable import Identity, RawEvent, identify, stream_error
from volcano_py.cluster.kubernetes.versions import Versions, version_of
from volcano_py.cluster.kubernetes.watch_stream import WatchStream
from volcano_py.cluster.protocol import BadObjectHandler, Sink

log = structlog.get_logger(__name__)

# Seconds; the server ends a watch after a time between this and twice this, as client-go asks it to, so that the
# watches of many clients spread over the API servers behind one address.
WATCH_LASTS = 300.0
# Seconds without any byte. The server sends a bookmark about once a minute, so that twice that means trouble; and to
# be wrong costs one request. Of a kind of which nothing has happened since it started it sends none at all.
STALL_AFTER = 120.0
# Seconds; a watch that ends sooner and brought nothing is a failure, or a broken proxy would be asked in a hot loop.
_SHORTEST_WATCH = 1.0
_BACKOFF_BASE, _BACKOFF_CAP = 0.2, 10.0  # seconds; a restarted API server must not be found late
# Seconds after which a resource that was not served is asked for again: it takes an upgrade to appear.
_ABSENT_FOR = 300.0


class Reflector:
    """One kind into one sink. `synced` is set after the first list; `run` never returns."""

    def __init__(
        self,
        client: KubernetesClient,
        kind: Kind,
        sink: Sink,
        *,
        begun: EarlyList | None = None,
        on_bad_object: BadObjectHandler | None = None,
        page_size: int = PAGE_SIZE,
        watch_lasts: float = WATCH_LASTS,
        stall_after: float = STALL_AFTER,
        resync_every: float | None = None,
        clock: Clock = SYSTEM_CLOCK,
        rng: random.Random | None = None,
    ) -> None:
        """`begun` is a first list that is under way. `resync_every` (seconds): list anew that often even when all seems
        well, against whatever was missed."""
        self.kind = kind
        self.synced = asyncio.Event()
        self.resource_version = ""
        """Where the watch resumes; "" when a list is needed first."""
        self._client, self._sink, self._clock = client, sink, clock
        self._begun = begun
        self._on_bad_object = on_bad_object or _ignore
        self._page_size, self._watch_lasts = page_size, watch_lasts
        self._stall_after, self._resync_every = stall_after, resync_every
        self._rng = rng or random.Random()
        self._backoff = Backoff(_BACKOFF_BASE, _BACKOFF_CAP, self._rng)
        self._versions = Versions()
        self._learned = Learned()
        self._unreadable: dict[str, str] = {}
        self._stream: WatchStream | None = None
        self._wanted: list[asyncio.Future[None]] = []  # who waits for a list that has not begun yet
        self._complaints = Complaints(kind.name, clock)
        self._listed_at = 0.0
        self._heard = clock.monotonic()
        self._lists = self._watches = self._events = self._failures = 0
        self._decoder = Decoder(kind)

    def stats(self) -> ReflectorStats:
        """The numbers now."""
        return ReflectorStats(
            objects=len(self._versions),
            unreadable=len(self._unreadable),
            lists=self._lists,
            watches=self._watches,
            events=self._events,
            stale_events=self._versions.stale,
            failures=self._failures,
            silent_for=max(0.0, self._clock.monotonic() - self._heard),
        )

    def learn(self, obj: ApiObject) -> None:
        """The server has shown this object in an answer to somebody: it counts like an event, if it is newer than what
        is known, and what lists and watches bring later of earlier versions does not take it back."""
        meta = metadata_of(obj)
        if self.synced.is_set() and self._versions.is_news(meta.key, meta.resource_version):
            self._learned.note(obj)
            self._hand_on(meta, meta.key, obj)

    async def relist(self) -> None:
        """Return when the sink has a list that was begun after this call; `run` must be running, or run later."""
        wanted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wanted.append(wanted)
        if self._stream is not None:
            self._stream.abort()
        await wanted

    async def run(self) -> NoReturn:
        """List and watch for ever; cancel to stop."""
        while True:
            try:
                if self._wanted or not self.resource_version:
                    await self._list()
                await self._watch()
            except GoneError as error:
                log.info("the watch has fallen behind, listing again", kind=self.kind.name, error=str(error))
                self.resource_version = ""
                await self._pause(error)
            except RequestError as error:
                if isinstance(error, NotFoundError) and self.kind.optional:
                    await self._do_without()
                    continue
                self._complaints.tell(error)
                await self._pause(error)
            except Exception:
                # A defect of ours, met by some object: the other kinds go on, and this one starts afresh.
                log.exception("a resource could not be followed, trying again", kind=self.kind.name)
                self.resource_version = ""
                await self._pause(None)

    def _all_is_well(self) -> None:
        self._backoff.reset()
        self._complaints.all_is_well()

    async def _pause(self, error: RequestError | None) -> None:
        self._failures += 1
        await self._clock.sleep(self._backoff.delay(at_least=error.retry_after if error else 0.0))

    async def _do_without(self) -> None:
        """The server does not serve the resource: there are no such objects, until it does."""
        if not self.synced.is_set() or len(self._versions):
            log.info("a resource is not served; none of it is taken to exist", kind=self.kind.name)
            self._take_over([], {}, "")
            self.synced.set()
        self.resource_version = ""
        await self._clock.sleep(_ABSENT_FOR)

    # -- list ----------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        wanted, self._wanted = self._wanted, []
        try:
            if wanted and self._begun is not None:  # it began too early for them
                begun, self._begun = self._begun, None
                await begun.aclose()
            objects, bad, version = await self._all_pages()
        except BaseException:
            self._wanted += wanted
            raise
        self._take_over(self._learned.with_newest(objects, version), bad, version)
        self._lists += 1
        self._listed_at = self._heard = self._clock.monotonic()
        self.resource_version = version
        self.synced.set()
        for waiting in wanted:
            if not waiting.done():
                waiting.set_result(None)

    async def _all_pages(self) -> tuple[list[ApiObject], dict[str, str], str]:
        try:
            return await self._pages(self._page_size)
        except GoneError:
            # The server forgot the first page's moment before the last page was read; one large answer cannot age.
            return await self._pages(0)

    async def _pages(self, page_size: int) -> tuple[list[ApiObject], dict[str, str], str]:
        """All objects, the unreadable ones (key → UID), and the version of the list.

        No resourceVersion is asked for, which means the newest: a list from a server's cache may be older than what
        another server has told us already.
        """
        objects: list[ApiObject] = []
        bad: dict[str, str] = {}
        version = ""
        begun, self._begun = self._begun, None
        pages = begun or self._client.pages(
            self.kind.path, self.kind.selectors, page_size=page_size, accept=self.kind.list_accept
        )
        async with contextlib.aclosing(pages):
            async for page in pages:
                version = page.metadata.resource_version
                for item in page.items or ():
                    try:
                        objects.append(self._decoder.item(item))
                    except msgspec.MsgspecError as error:
                        identity = identify(item)
                        bad[identity.key] = identity.uid
                        self._report(identity, error)
        return objects, bad, version

    def _take_over(self, objects: list[ApiObject], bad: dict[str, str], version: str) -> None:
        versions = self._versions
        kept = [key for key, uid in bad.items() if versions.uid_of(key) == uid]
        self._unreadable = bad
        # A replacement would take away the last readable version of objects that still exist.
        if kept or not self._replaced(objects):
            named = {metadata_of(obj).key for obj in objects}
            for key, uid in versions.items():
                if key not in named and key not in kept:
                    self._give(self._sink.delete, self._tombstone(key, uid))
            for obj in objects:
                self._replace_namesake(metadata_of(obj))
                self._give(self._sink.upsert, obj)
        versions.restart(
            ((meta.key, meta.uid, meta.resource_version) for meta in map(metadata_of, objects)), version, kept
        )

    def _replaced(self, objects: list[ApiObject]) -> bool:
        """Whether the sink has taken the list; if not, one by one will show which object it cannot digest."""
        try:
            self._sink.replace(self.kind.name, objects)
        except Exception:
            log.exception("a list could not be taken over as a whole", kind=self.kind.name)
            return False
        return True

    # -- watch ---------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Follow one watch until the server ends it.

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
            self._watches += 1
            self._stream = stream
            guard = asyncio.create_task(self._guard(stream), name=f"guard of {self.kind.name}")
            try:
                if not self._wanted:
                    async for line in stream:
                        self._take(line)
                        self._heard = stream.last_data
            except UnreachableError:
                # It may have been us who broke the connection.
                if not (guard.done() or self._wanted):
                    raise
            finally:
                guard.cancel()
                self._stream = None
        if self._resync_is_due():
            self.resource_version = ""
        elif self._clock.monotonic() - started >= _SHORTEST_WATCH:
            self._all_is_well()
        elif self._events == events:
            raise UnreachableError("WATCH", self.kind.path, "the server ended the watch at once")

    async def _guard(self, stream: WatchStream) -> None:
        """Return, having broken the connection, when nothing was heard for too long or a resync is due."""
        while True:
            now = self._clock.monotonic()
            wait = stream.last_data + self._stall_after - now
            if self._resync_every is not None:
                wait = min(wait, self._listed_at + self._resync_every - now)
            if wait <= 0:
                break
            await self._clock.sleep(wait)
        if stream.heard and not self._resync_is_due():
            log.warning("a watch has stalled, opening it anew", kind=self.kind.name, silent=self._stall_after)
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
        self._all_is_well()
        self._apply(change, obj)

    def _apply(self, change: str, obj: ApiObject) -> None:
        meta = metadata_of(obj)
        key, uid = meta.key, meta.uid
        if change == "DELETED":
            if self._unreadable.get(key) == uid:
                del self._unreadable[key]
            gone = self._versions.forget(key, uid, meta.resource_version)
            if gone is not None:
                self._give(self._sink.delete, obj if gone == uid else self._tombstone(key, gone))
        elif self._versions.is_news(key, meta.resource_version):
            self._hand_on(meta, key, obj)
        self._learned.passed(key, meta)
        self._advance(meta.resource_version)

    def _hand_on(self, meta: ObjectMeta, key: str, obj: ApiObject) -> None:
        self._unreadable.pop(key, None)
        self._replace_namesake(meta)
        self._versions.note(key, meta.uid, meta.resource_version)
        self._give(self._sink.upsert, obj)

    def _replace_namesake(self, meta: ObjectMeta) -> None:
        """The deletion of a predecessor may have been lost, or may come late and then finds nothing."""
        before = self._versions.uid_of(meta.key)
        if before is not None and before != meta.uid:
            self._give(self._sink.delete, self._tombstone(meta.key, before))

    def _take_unusual(self, line: bytes, error: Exception | None) -> None:
        """A bookmark, an error of the server, or an object that cannot be read."""
        try:
            event = msgspec.json.decode(line, type=RawEvent)
        except msgspec.MsgspecError as broken:
            raise UnreachableError("WATCH", self.kind.path, f"this is no event: {line[:100]!r}") from broken
        if event.type == "ERROR":
            raise stream_error(self.kind.path, bytes(event.object))
        identity = identify(event.object)
        if event.type == "BOOKMARK":
            self._all_is_well()
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
            self._unreadable[identity.key] = identity.uid
            self._report(identity, error)
        self._advance(identity.resource_version)

    def _advance(self, version: str) -> None:
        """Resume after this version; never before one that was seen, should events come out of order."""
        if version and (version_of(version) < 0 or version_of(version) > version_of(self.resource_version)):
            self.resource_version = version

    # -- the sink ------------------------------------------------------------------------------------------------

    def _give(self, method: Callable[[str, ApiObject], None], obj: ApiObject) -> None:
        try:
            method(self.kind.name, obj)
        except Exception as error:
            # One object that the sink cannot digest must stop neither the others nor the daemon.
            meta = metadata_of(obj)
            log.exception("an object could not be taken over", kind=self.kind.name, object=meta.key)
            self._unreadable[meta.key] = meta.uid
            self._on_bad_object(self.kind.name, meta.key, meta.uid, error)

    def _report(self, identity: Identity, error: Exception) -> None:
        log.warning("an object cannot be read", kind=self.kind.name, object=identity.key, error=str(error))
        self._on_bad_object(self.kind.name, identity.key, identity.uid, error)

    def _tombstone(self, key: str, uid: str) -> ApiObject:
        return self._decoder.bare(ObjectMeta.known_by(key, uid))


def _ignore(kind: str, key: str, uid: str, error: Exception) -> None:
    """The log has it; nobody else wants to know."""
