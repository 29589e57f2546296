"""Readiness: a URL that answers 200, or an error that says why it never will."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port

from tests.support.connections.late_cancellation import cancel_as_time_ends, silent_server
from volcano_py.local.errors import ProcessFailedError
from volcano_py.local.processes import readiness
from volcano_py.local.processes.processes import ManagedProcess
from volcano_py.local.processes.readiness import wait_ready


@pytest.fixture
async def sleeper(tmp_path: Path) -> AsyncIterator[ManagedProcess]:
    process = ManagedProcess("server", ["sleep", "600"], tmp_path / "server.log")
    await process.start()
    yield process
    await process.kill()


class Answers:
    """An HTTP server that gives these answers in turn, the last one forever."""

    def __init__(self, *answers: tuple[int, str]) -> None:
        self._answers = list(answers)
        self.asked = 0

    async def answer(self, request: web.Request) -> web.Response:
        status, text = self._answers[min(self.asked, len(self._answers) - 1)]
        self.asked += 1
        return web.Response(status=status, text=text)


async def _served(answers: Answers) -> TestServer:
    application = web.Application()
    application.router.add_get("/readyz", answers.answer)
    server = TestServer(application)
    await server.start_server()
    return server


async def test_a_process_is_ready_once_it_answers_200(sleeper: ManagedProcess) -> None:
    answers = Answers((500, "[-]etcd failed"), (503, "shutting down"), (200, "ok"))
    server = await _served(answers)
    try:
        await wait_ready(sleeper, str(server.make_url("/readyz")), seconds=60)
        assert answers.asked == 3
    finally:
        await server.close()


async def test_what_the_process_says_is_shown_when_time_is_up(sleeper: ManagedProcess) -> None:
    server = await _served(Answers((500, "[-]informer-sync failed: queues\n")))
    url = str(server.make_url("/readyz"))
    try:
        with pytest.raises(ProcessFailedError) as failure:
            await wait_ready(sleeper, url, seconds=0)
        assert str(failure.value) == (
            f"server was not ready after 0 s; {url} says: 500 [-]informer-sync failed: queues ({sleeper.log})"
        )
    finally:
        await server.close()


async def test_waiting_ends_when_the_process_has_ended(tmp_path: Path) -> None:
    process = ManagedProcess("server", ["sh", "-c", "echo bad flag; exit 1"], tmp_path / "server.log")
    await process.start()
    with pytest.raises(ProcessFailedError, match=r"(?s)^server did not come up; it ended with exit code 1 .*bad flag$"):
        await wait_ready(process, f"http://127.0.0.1:{unused_port()}/readyz", seconds=60)


async def test_the_end_of_what_a_process_needs_is_the_reason(sleeper: ManagedProcess, tmp_path: Path) -> None:
    """An API server without its store waits forever; the store's log says why."""
    store = ManagedProcess("etcd", ["sh", "-c", "echo disk full; exit 1"], tmp_path / "etcd.log")
    await store.start()
    with pytest.raises(ProcessFailedError, match=r"(?s)^etcd did not come up; .*disk full$"):
        await wait_ready(sleeper, f"http://127.0.0.1:{unused_port()}/readyz", seconds=60, needs=[store])


async def test_a_cancellation_is_not_lost_when_the_time_limit_ends_in_the_same_turn(sleeper: ManagedProcess) -> None:
    async with silent_server() as (url, asked):
        waiting = asyncio.create_task(wait_ready(sleeper, url, seconds=1))
        await asked.wait()
        await cancel_as_time_ends(waiting, readiness._ANSWER_SECONDS)
        assert waiting.cancelled()
