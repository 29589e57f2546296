"""The events of a watch, one by one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from volcano_py.cluster.kubernetes.clock import Clock
from volcano_py.cluster.kubernetes.http.answers import OBJECT
from volcano_py.cluster.kubernetes.http.errors import TooLargeError, UnreachableError


class WatchStream:
    """An open watch: iterate over it for one JSON document (bytes) an event, until the server ends it."""

    def __init__(self, chunks: AsyncIterator[bytes], close: Callable[[], None], path: str, clock: Clock) -> None:
        """`chunks` are the bytes as they come, an OSError where they break off; `close` makes them do so."""
        self._chunks, self._path, self._clock = chunks, path, clock
        self.abort = close
        """Break the connection: the iteration raises UnreachableError."""
        self.last_data = clock.monotonic()
        """When the server last sent anything, by the monotonic clock; at first, when it opened the watch."""
        self.heard = False
        """Whether it has sent anything."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The lines. One that the connection's end cut off is dropped: the next watch brings it again.

        Raises:
            UnreachableError: the connection broke.
            TooLargeError: a line is longer than any object.
        """
        unfinished: list[bytes] = []
        length = 0
        try:
            async for chunk in self._chunks:
                self.last_data, self.heard = self._clock.monotonic(), True
                *lines, rest = chunk.split(b"\n")
                if lines and unfinished:
                    lines[0] = b"".join((*unfinished, lines[0]))
                    unfinished.clear()
                for line in lines:
                    if line:
                        yield line
                length = len(rest) + (0 if lines else length)
                if length > OBJECT:
                    raise TooLargeError("WATCH", self._path, OBJECT)
                if rest:
                    unfinished.append(rest)
        except OSError as error:
            error.__traceback__ = None  # it keeps what was read
            raise UnreachableError("WATCH", self._path, error) from error
