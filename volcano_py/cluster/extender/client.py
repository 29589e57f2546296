"""Requests to an extender: bounded in time, size and number, never redirected.

They run in a thread of their own with its own event loop. The cycle waits for the answers in its thread, so it must not
depend on the loop of the daemon, which may be busy, or wait for the cycle.

The address may contain a login or a token; no message shows it.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Final, TypeVar

import aiohttp

from volcano_py.api.extender.answers import read
from volcano_py.api.extender.client import Answers, Failure, Question
from volcano_py.api.objects import ApiObject
from volcano_py.cluster.bounded_body import BodyTooLargeError, bounded_body

T = TypeVar("T")

MOST_BYTES: Final = 10 * 1024 * 1024
"""Of one answer, as in Volcano since CVE-2025-32777."""
AT_A_TIME: Final = 16
"""Requests in flight."""
_SPARE: Final = 5.0
"""Seconds after which a thread that has not kept its own limits is given up."""
_IDLE: Final = 1.0
"""Seconds after which an idle connection is closed: sooner than by most servers, whose end of it would be a failure."""
_OK: Final = 200
_LATE: Final = "did not answer in time"
"""Without the time, which is less at the end of a cycle: messages of pods are written again when they change."""
_HEADERS: Final = {"Content-Type": "application/json"}


class HttpExtender:
    """An `ExtenderClient`. `find` has the objects that are sent whole; `on_answer(verb, outcome, seconds)` is called in
    the thread of the requests; outcome is `answered` or `failed`."""

    def __init__(
        self,
        find: Callable[[str, str], ApiObject | None] = lambda _kind, _key: None,
        on_answer: Callable[[str, str, float], None] = lambda _verb, _outcome, _seconds: None,
    ) -> None:
        self._find, self._on_answer = find, on_answer
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: aiohttp.ClientSession | None = None

    def ask(self, url: str, verb: str, questions: Sequence[Question], kind: type[T], within: float) -> Answers[T]:
        started = time.perf_counter()
        bodies = self.post(url, verb, [question.make() for question in questions], within)
        found = tuple(body if isinstance(body, Failure) else read(body, kind) for body in bodies)
        return Answers(found, time.perf_counter() - started)

    def post(self, url: str, verb: str, bodies: Sequence[bytes], within: float) -> Sequence[bytes | Failure]:
        """The bodies of answers 200, or why there are none."""
        waves = -(-len(bodies) // AT_A_TIME)
        future = asyncio.run_coroutine_threadsafe(self._ask_all(url, verb, bodies, within), self._running())
        try:
            return future.result(within * waves + _SPARE)
        except (FutureTimeoutError, CancelledError):
            future.cancel()
            return [Failure(_LATE)] * len(bodies)

    def find(self, kind: str, key: str) -> ApiObject | None:
        return self._find(kind, key)

    def close(self) -> None:
        """End the thread; a later question begins another one."""
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(loop.stop)

    # -- in the thread -------------------------------------------------------------------------------------------------

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._run, args=(self._loop,), name="extender", daemon=True).start()
            return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            session, self._session = self._session, None
            if session is not None:
                loop.run_until_complete(session.close())
            loop.close()

    async def _ask_all(self, url: str, verb: str, bodies: Sequence[bytes], within: float) -> Sequence[bytes | Failure]:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=AT_A_TIME, keepalive_timeout=_IDLE),
                timeout=aiohttp.ClientTimeout(total=None),
                headers=_HEADERS,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        turns = asyncio.Semaphore(AT_A_TIME)
        asked = (self._ask(self._session, turns, f"{url}/{verb}", body, within) for body in bodies)
        answers = await asyncio.gather(*asked)
        for answer, seconds in answers:
            self._on_answer(verb, "failed" if isinstance(answer, Failure) else "answered", seconds)
        return [answer for answer, _ in answers]

    async def _ask(
        self, session: aiohttp.ClientSession, turns: asyncio.Semaphore, url: str, body: bytes, within: float
    ) -> tuple[bytes | Failure, float]:
        async with turns:
            started = time.perf_counter()
            answer = await _answer(session, url, body, within)
            return answer, time.perf_counter() - started


async def _answer(session: aiohttp.ClientSession, url: str, body: bytes, within: float) -> bytes | Failure:
    try:
        async with (
            asyncio.timeout(within),
            session.post(url, data=body, allow_redirects=False) as response,
        ):
            if response.status != _OK:
                return Failure(f"answered {response.status}")
            return await bounded_body(response, MOST_BYTES)
    except TimeoutError:
        return Failure(_LATE)
    except BodyTooLargeError as error:
        return Failure(str(error))
    except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError):
        return Failure("answered with something that is no valid HTTP")
    except aiohttp.ServerDisconnectedError:
        return Failure("closed the connection without an answer")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return Failure(f"cannot be reached: {reason_of(error)}")


def reason_of(error: Exception) -> str:
    """Why there was no connection, in words without host and address, which the texts of most errors have."""
    cause = error.__cause__ if isinstance(error.__cause__, OSError) else error
    number = getattr(cause, "errno", None)
    if isinstance(cause, ssl.SSLError):
        return f"TLS failed ({(cause.reason or 'no reason').lower().replace('_', ' ')})"
    if isinstance(cause, socket.gaierror):
        return cause.strerror or "no such host"
    return os.strerror(number) if isinstance(number, int) and number > 0 else type(error).__name__
