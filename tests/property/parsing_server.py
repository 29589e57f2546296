"""A server on a raw socket: h11, a parser that the daemon does not use, says which requests have come."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod

import h11


class ParsingServer(ABC):
    """Parses what comes on all connections; what answers is a class of its own."""

    def __init__(self) -> None:
        self.broken: list[str] = []
        """What was no request."""
        self.port = 0
        self._server: asyncio.Server | None = None

    @abstractmethod
    async def handle(self, request: h11.Request, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""

    async def start(self) -> str:
        """Its address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{self.port}"

    async def stop(self) -> None:
        """Take no more connections."""
        assert self._server is not None
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = h11.Connection(h11.SERVER)
        try:
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    connection.receive_data(await reader.read(65536))
                elif isinstance(event, h11.Request):
                    request, body = event, b""
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    writer.write(await self._answer(connection, request, body))
                    if connection.our_state is h11.MUST_CLOSE:
                        return
                    connection.start_next_cycle()
                else:
                    return
        except h11.RemoteProtocolError as error:
            self.broken.append(str(error))
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, connection: h11.Connection, request: h11.Request, body: bytes) -> bytes:
        status, content = await self.handle(request, body)
        head = h11.Response(status_code=status, headers=[("Content-Length", str(len(content)))])
        parts = connection.send(head), connection.send(h11.Data(data=content)), connection.send(h11.EndOfMessage())
        return b"".join(part or b"" for part in parts)
