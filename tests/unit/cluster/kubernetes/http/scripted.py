"""A server that answers with given bytes, whatever they are."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def compressed(body: bytes, encoding: bytes) -> bytes:
    """As some proxies send whatever passes through them, asked or not."""
    assert b"|" not in body, "a server would send it in two pieces, without this byte"
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: %b\r\nContent-Length: %d\r\n\r\n"
    return head % (encoding, len(body)) + body


@dataclass
class Scripted:
    """Answers the requests of all connections, in the order in which they come, with these bytes."""

    answers: list[bytes] = field(default_factory=list)
    requests: list[tuple[int, bytes]] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    url: str = ""
    written: int = 0
    """How many answers have been sent, with all that came after them."""
    held: asyncio.Event = field(default_factory=asyncio.Event)
    """An empty answer waits for it."""

    @property
    def connections(self) -> int:
        return len(self.writers)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        number = len(self.writers)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or 0)
                self.requests.append((number, head + await reader.readexactly(length)))
                answer = self.answers.pop(0) if self.answers else OK
                if not answer:
                    await self.held.wait()
                    answer = OK
                for piece in answer.split(b"|"):
                    if piece == b"END":
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0.001)  # a packet each
                self.written += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncIterator[Scripted]:
    scripted = Scripted()
    server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0, ssl=context)
    scheme = "https" if context else "http"
    scripted.url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield scripted
    server.close()
