"""Supervised processes: started, stopped, killed, explained, and gone when we are."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from volcano_py.local.errors import LocalError, ProcessFailedError
from volcano_py.local.processes.processes import ManagedProcess

_STUBBORN = "trap '' TERM; echo ready; while :; do sleep 0.05; done"


def _exists(pid: int) -> bool:
    """Whether the process is there and is no zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _command(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[0]


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - another process sets no event of ours
        await asyncio.sleep(0.01)


async def _logged(process: ManagedProcess, text: str) -> None:
    await _until(lambda: text in process.log_tail())


async def test_a_process_runs_until_it_is_stopped(tmp_path: Path) -> None:
    process = ManagedProcess("sleeper", ["sleep", "600"], tmp_path / "sleeper.log")
    assert (process.pid, process.exit_code) == (None, None)
    await process.start()
    pid = process.pid
    assert pid is not None
    assert _exists(pid)
    await process.stop(grace_seconds=30)
    assert (process.pid, process.exit_code) == (None, -signal.SIGTERM)
    assert not _exists(pid)


async def test_a_process_that_ignores_sigterm_is_killed_after_the_grace(tmp_path: Path) -> None:
    process = ManagedProcess("stubborn", ["sh", "-c", _STUBBORN], tmp_path / "log")
    await process.start()
    await _logged(process, "ready")
    await process.stop(grace_seconds=0.05)
    assert process.exit_code == -signal.SIGKILL


async def test_a_cancelled_stop_still_leaves_nothing_running(tmp_path: Path) -> None:
    """A second Ctrl-C must not save a process from the first."""
    process = ManagedProcess("stubborn", ["sh", "-c", _STUBBORN], tmp_path / "log")
    await process.start()
    await _logged(process, "ready")
    stopping = asyncio.create_task(process.stop(grace_seconds=600))
    await asyncio.sleep(0)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert process.exit_code == -signal.SIGKILL


async def test_a_killed_process_gets_no_chance_to_say_goodbye(tmp_path: Path) -> None:
    process = ManagedProcess(
        "polite", ["sh", "-c", "trap 'echo bye' EXIT TERM; echo ready; sleep 600"], tmp_path / "log"
    )
    await process.start()
    await _logged(process, "ready")
    await process.kill()
    assert process.exit_code == -signal.SIGKILL
    assert process.log_tail() == "ready"


async def test_children_of_a_process_end_with_it(tmp_path: Path) -> None:
    process = ManagedProcess("parent", ["sh", "-c", "sleep 600 & echo child $!; wait"], tmp_path / "log")
    await process.start()
    await _logged(process, "child")
    child = int(process.log_tail().split()[1])
    assert _exists(child)
    await process.kill()
    await _until(lambda: not _exists(child))


async def test_stopping_what_does_not_run_does_nothing(tmp_path: Path) -> None:
    process = ManagedProcess("short", ["true"], tmp_path / "log")
    await process.stop(grace_seconds=1)
    await process.kill()
    await process.start()
    await process.wait_unexpected_end()
    await process.stop(grace_seconds=1)
    assert process.exit_code == 0


async def test_a_running_process_is_not_started_twice(tmp_path: Path) -> None:
    process = ManagedProcess("sleeper", ["sleep", "600"], tmp_path / "log")
    await process.start()
    try:
        with pytest.raises(LocalError, match=rf"^sleeper is already running, as process {process.pid}$"):
            await process.start()
    finally:
        await process.kill()


async def test_a_stopped_process_can_be_started_again_and_its_log_goes_on(tmp_path: Path) -> None:
    process = ManagedProcess("echo", ["echo", "hello"], tmp_path / "log")
    for _ in range(2):
        await process.start()
        await process.wait_unexpected_end()
    assert process.log_tail() == "hello\nhello"


async def test_only_an_end_without_a_request_is_unexpected(tmp_path: Path) -> None:
    process = ManagedProcess("sleeper", ["sleep", "600"], tmp_path / "log")
    await process.start()
    waiting = asyncio.create_task(process.wait_unexpected_end())
    await process.stop(grace_seconds=30)
    await process.start()
    await asyncio.sleep(0)
    assert not waiting.done()
    process.send_signal(signal.SIGKILL)
    await waiting
    assert process.exit_code == -signal.SIGKILL


async def test_a_process_that_is_gone_gets_no_signal(tmp_path: Path) -> None:
    process = ManagedProcess("sleeper", ["sleep", "600"], tmp_path / "log")
    with pytest.raises(LocalError, match=r"^sleeper is not running, so it cannot be sent SIGSTOP$"):
        process.send_signal(signal.SIGSTOP)


async def test_a_failure_shows_how_it_ended_and_the_end_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "etcd.log"
    process = ManagedProcess("etcd", ["sh", "-c", "echo starting; echo bind: address already in use; exit 3"], log)
    await process.start()
    await process.wait_unexpected_end()
    failure = process.failure("did not come up")
    assert isinstance(failure, ProcessFailedError)
    assert str(failure) == (
        f"etcd did not come up; it ended with exit code 3 ({log})\n"
        "--- end of etcd's log ---\n"
        "starting\n"
        "bind: address already in use"
    )


async def test_a_failure_names_the_signal_that_ended_the_process(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = ManagedProcess("etcd", ["sleep", "600"], log)
    await process.start()
    await process.kill()
    assert str(process.failure("stopped unexpectedly")) == (
        f"etcd stopped unexpectedly; it was ended by SIGKILL ({log})"
    )


async def test_of_a_long_log_only_the_last_lines_are_shown(tmp_path: Path) -> None:
    process = ManagedProcess("seq", ["seq", "100000"], tmp_path / "log")
    await process.start()
    await process.wait_unexpected_end()
    assert process.log_tail(lines=3).split() == ["99998", "99999", "100000"]


async def test_a_long_line_does_not_hide_the_others(tmp_path: Path) -> None:
    process = ManagedProcess("log", ["sh", "-c", "echo cause; printf '%02000d' 0; echo; echo end"], tmp_path / "log")
    await process.start()
    await process.wait_unexpected_end()
    assert process.log_tail() == f"cause\n{'0' * 600} … (2000 characters)\nend"


async def test_the_end_of_a_log_of_json_lines_is_in_a_form_for_people_however_long_they_are(tmp_path: Path) -> None:
    short = '{"ts":"2026-01-01T10:15:02.123Z","level":"info","msg":"cycle","binds":4}'
    long = f'{{"ts":"2026-01-01T10:15:03.5Z","level":"error","msg":"no","error":"{"x" * 2000}"}}'
    process = ManagedProcess("volcano-py", ["printf", f"{short}\n{long}\n"], tmp_path / "log")
    await process.start()
    await process.wait_unexpected_end()
    first, second = process.log_tail().splitlines()
    assert first == "10:15:02 info cycle  binds=4"
    assert second.startswith("10:15:03 error no  error=xxx")
    assert second.endswith("x … (2025 characters)")


async def test_a_process_sees_only_the_environment_it_is_given(tmp_path: Path) -> None:
    process = ManagedProcess("env", ["/usr/bin/env"], tmp_path / "log", {"ONLY": "this"})
    await process.start()
    await process.wait_unexpected_end()
    assert "ONLY=this" in process.log_tail().split()
    assert "PATH=" not in process.log_tail()


_PARENT = """
import asyncio, os, sys, time
from pathlib import Path
from volcano_py.local.processes.processes import ManagedProcess

async def main():
    process = ManagedProcess("sleeper", ["sleep", "600"], Path(sys.argv[1]))
    await process.start()
    print(process.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_processes_die_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    """SIGKILL leaves us no moment to stop anything; the kernel does it."""
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _PARENT, str(tmp_path / "log"), stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    child = int(await parent.stdout.readline())
    # Until the launcher has become the program, the wish to die with the parent may not be known to the kernel.
    await _until(lambda: _command(child) == "sleep")
    os.kill(parent.pid, signal.SIGKILL)
    await parent.wait()
    await _until(lambda: not _exists(child))
