"""Shells themselves, on a terminal: what a user types with Tab is what is run."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.unit.docs.pages import PROJECT
from volcano_py.cli.main import VERBS, main

_PROMPT = "tell-me>"
_PATIENCE = 120.0  # seconds; a shell asks a Python program, on machines of any speed

# (arguments, start-up file below HOME, its text); the completion script is at `{script}`.
_SHELLS = {
    "bash": (["--noprofile", "-i"], ".bashrc", "PS1='tell-me> '\nsource {script}\n"),
    "zsh": (
        ["-i"],
        ".zshrc",
        "PS1='tell-me> '\nfpath=({folder} $fpath)\nautoload -Uz compinit && compinit -u -D\n",
    ),
    "fish": (["-i"], ".config/fish/config.fish", "function fish_prompt; echo 'tell-me> '; end\nsource {script}\n"),
}


def shell_or_skip(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


class Desk:
    """A home directory with a shell set up as the help of `completion` says, and a volcano-py that notes what it is
    asked to do."""

    def __init__(self, folder: Path, shell: str) -> None:
        self._program, self._shell, self._folder = shell_or_skip(shell), shell, folder
        self._done = folder / "done"
        script = folder / "functions" / "_volcano-py"
        script.parent.mkdir()
        script.write_text(CliRunner().invoke(main, ["completion", shell]).stdout, "utf-8")
        self._arguments, name, text = _SHELLS[shell]
        start = folder / name
        start.parent.mkdir(parents=True, exist_ok=True)
        start.write_text(text.format(script=script, folder=script.parent), "utf-8")
        program = folder / "bin" / "volcano-py"
        program.parent.mkdir()
        program.write_text(
            f'#!/bin/sh\n[ -n "$_VOLCANO_PY_COMPLETE" ] && exec {sys.executable} -m volcano_py "$@"\n'
            f'echo "$*" > {self._done}.new && mv {self._done}.new {self._done}\n',
            "utf-8",
        )
        program.chmod(0o755)
        self.environment = {
            "HOME": str(folder),
            "PATH": f"{program.parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(PROJECT),
            "TERM": "xterm",
            "LANG": "C.UTF-8",
        }

    def run(self, typed: str) -> str:
        """What volcano-py is asked to do when this is typed, with Enter behind it."""
        with self._terminal() as terminal:
            _read_until(terminal, lambda seen: _PROMPT in seen)
            os.write(terminal, typed.encode() + b"\r")
            _read_until(terminal, lambda _: self._done.exists())
        return self._done.read_text("utf-8").strip()

    @contextmanager
    def _terminal(self) -> Iterator[int]:
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self._folder)
            os.execve(self._program, [self._shell, *self._arguments], self.environment)
        try:
            yield terminal
        finally:
            os.kill(pid, signal.SIGKILL)
            os.close(terminal)
            os.waitpid(pid, 0)


def _read_until(terminal: int, is_enough: Callable[[str], bool]) -> None:
    seen, deadline = "", time.monotonic() + _PATIENCE
    while not is_enough(seen):
        assert time.monotonic() < deadline, f"on the screen:\n{seen}"
        if select.select([terminal], [], [], 0.05)[0]:
            seen += os.read(terminal, 65536).decode("utf-8", "replace")


@pytest.fixture(params=sorted(_SHELLS))
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    return Desk(tmp_path, request.param)


def test_what_can_only_be_one_thing_is_completed(desk: Desk) -> None:
    assert desk.run("volcano-py queue cl\t--na\tteam-a") == "queue close --name team-a"


def test_files_are_completed_where_files_are_meant(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "a job with blanks.yaml").touch()
    assert desk.run("volcano-py job run -f a\\ jo\t") == "job run -f a job with blanks.yaml"


def test_fish_shows_descriptions_whole(tmp_path: Path) -> None:
    """A comma in one was taken for its end."""
    desk, fish = Desk(tmp_path, "fish"), shell_or_skip("fish")
    asked = [fish, "--no-config", "-c", f"source {tmp_path}/functions/_volcano-py; complete -C 'volcano-py '"]
    reported = subprocess.run(
        asked, env=desk.environment, capture_output=True, text=True, check=True, timeout=_PATIENCE
    )
    assert reported.stdout.splitlines() == [f"{verb}\t{summary}" for verb, (_, _, summary) in sorted(VERBS.items())]
