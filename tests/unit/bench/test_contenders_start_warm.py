"""What a scheduler loads is read before it is measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from volcano_py.bench.contenders import Contender, ours

KUBECONFIG = Path("/nowhere/kubeconfig")


def test_a_rehearsal_is_run_to_its_end(tmp_path: Path) -> None:
    reported = tmp_path / "reported"
    program = f"import pathlib; pathlib.Path({str(reported)!r}).write_text('done')"
    Contender("mine", "volcano", ("unused",), KUBECONFIG, (sys.executable, "-c", program)).warm_up()
    assert reported.read_text() == "done"


def test_a_rehearsal_that_fails_is_reported() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        Contender("mine", "volcano", ("unused",), KUBECONFIG, (sys.executable, "-c", "raise SystemExit(3)")).warm_up()


def test_without_one_the_program_is_read_not_run(tmp_path: Path) -> None:
    reported = tmp_path / "reported"
    program = tmp_path / "scheduler"
    program.write_text(f"#!/bin/sh\ntouch {reported}\n")
    program.chmod(0o755)
    Contender("mine", "volcano", (str(program),), KUBECONFIG).warm_up()
    assert not reported.exists()


def test_a_program_that_is_missing_is_left_to_the_start() -> None:
    Contender("mine", "volcano", ("/nowhere/scheduler",), KUBECONFIG).warm_up()


def test_ours_loads_what_its_rehearsal_names() -> None:
    ours({}).warm_up()


def test_what_stands_in_braces_in_a_command_and_is_not_ours_stays(tmp_path: Path) -> None:
    contender = Contender("peer", "volcano", ("x", "--kubeconfig={kubeconfig}", '--gates={"a": true}'), KUBECONFIG)
    assert contender.process(tmp_path).command == ["x", f"--kubeconfig={KUBECONFIG}", '--gates={"a": true}']
