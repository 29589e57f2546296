"""Shell completion, and `kubectl volcano`."""

from __future__ import annotations

import importlib
import sys
import tomllib
from typing import Any

import pytest
from click.shell_completion import get_completion_class
from click.testing import CliRunner

from tests.unit.docs.pages import PROJECT
from volcano_py.cli.main import VERBS, main


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_a_shell_asks_the_program_itself(shell: str) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert result.exit_code == 0, result.output
    assert f"_VOLCANO_PY_COMPLETE={shell}_complete" in result.stdout
    assert "volcano-py" in result.stdout


def test_a_shell_that_is_not_known_is_reported() -> None:
    result = CliRunner().invoke(main, ["completion", "tcsh"])
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == (
        "Error: Invalid value for '{bash|zsh|fish}': 'tcsh' is not one of 'bash', 'zsh', 'fish'."
    )


def completed(*words: str) -> list[str]:
    kind = get_completion_class("bash")
    assert kind is not None
    shell = kind(main, {}, "volcano-py", "_VOLCANO_PY_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


def test_verbs_and_options_are_completed() -> None:
    assert completed("") == list(VERBS)
    assert completed("queue", "c") == ["close", "create"]
    assert completed("queue", "create", "--re") == ["--reclaimable"]
    assert completed("jobflow", "") == ["create", "delete", "describe", "get", "list"]
    assert completed("jobtemplate", "describe", "--na") == ["--name", "--namespace"]
    assert completed("podgroup", "list", "-o", "") == ["table", "json", "yaml"]


def run_script(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """What is installed as the program `name`."""
    scripts: dict[str, Any] = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    module, _, function = scripts[name].partition(":")
    monkeypatch.setattr(sys, "argv", [f"/usr/bin/{name}", *arguments])
    getattr(importlib.import_module(module), function)()


def test_kubectl_finds_the_same_verbs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """kubectl runs a program kubectl-volcano that is on PATH for `kubectl volcano`."""
    with pytest.raises(SystemExit) as end:
        run_script("kubectl-volcano", monkeypatch, "queue", "list", "--help")
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("Usage: kubectl volcano queue list [OPTIONS]\n")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (("job", "s"), ["suspend\tSuspend a job: its unfinished pods are...", ":4"]),
        (("podgroup", "list", "-o", "j"), ["json", ":4"]),
        (("job", "run", "--filename", ""), [":0"]),
    ],
    ids=["a verb", "a value", "files"],
)
def test_kubectl_completes_the_plugin(
    typed: tuple[str, ...], answer: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For `kubectl volcano …<Tab>` kubectl runs a program kubectl_complete-volcano that is on PATH."""
    run_script("kubectl_complete-volcano", monkeypatch, *typed)
    assert capsys.readouterr().out.splitlines() == answer
