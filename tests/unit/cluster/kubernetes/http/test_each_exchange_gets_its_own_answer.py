"""Whatever breaks off, comes late or is given up: an answer is that of its own request, or there is none."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvloop

from volcano_py.cluster.kubernetes.http.heads import Head, Headers
from volcano_py.cluster.kubernetes.http.http1_pool import Http1Pool, Server

REQUESTS = 400
AT_ONCE = 8

Run = Callable[[Coroutine[Any, Any, Counter[str]]], Counter[str]]


async def fickle(rng: random.Random, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with the path that was asked for: whole, in pieces, late, twice, cut off, or not at all."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            path = head.split(b" ", 2)[1]
            answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(path), path)
            match rng.randrange(9):
                case 0:
                    return
                case 1:
                    writer.write(answer[: rng.randrange(len(answer))])
                    return
                case 2:
                    await asyncio.sleep(rng.random() * 0.01)
                    writer.write(answer)
                case 3:
                    writer.write(answer + answer)
                case 4:
                    writer.write(answer + answer[:-1])
                    await asyncio.sleep(0.001)
                    writer.write(answer[-1:])
                case 5:
                    cut = rng.randrange(len(answer))
                    writer.write(answer[:cut])
                    await asyncio.sleep(0)
                    writer.write(answer[cut:])
                case 6:
                    writer.write(answer)
                    return
                case _:
                    writer.write(answer)
    except (asyncio.IncompleteReadError, ConnectionError, RuntimeError):  # the last is uvloop's, of what is closed
        pass
    finally:
        writer.close()


async def storm(seed: int) -> Counter[str]:
    """What became of many requests, of which some are given up."""
    rng, became = random.Random(seed), Counter[str]()
    listening = await asyncio.start_server(lambda *streams: fickle(rng, *streams), "127.0.0.1", 0)
    server = Server(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", ssl=True)
    pool, left = Http1Pool(AT_ONCE), iter(range(REQUESTS))

    async def ask() -> None:
        for number in left:
            patience = rng.choice((0.001, 0.005, 5.0))
            try:
                async with asyncio.timeout(patience):
                    answer = await pool.exchange(server, Head("POST", f"/{number}", Headers({})), b"", limit=2**20)
            except TimeoutError:
                became["given up"] += 1
            except OSError:
                became["broken off"] += 1
            else:
                became["its own" if answer.body == b"/%d" % number else "another's"] += 1

    await asyncio.gather(*(ask() for _ in range(2 * AT_ONCE)))
    await pool.aclose()
    listening.close()
    return became


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
@pytest.mark.parametrize("seed", range(3))
def test_answers_are_not_mixed_up(seed: int, run: Run) -> None:
    """On Python's own loop, and on the daemon's."""
    became = run(storm(seed))

    assert became["another's"] == 0
    assert became.total() == REQUESTS
    # On a busy machine most are given up; some of each kind there are all the same.
    assert min(became["its own"], became["broken off"]) > REQUESTS / 100
