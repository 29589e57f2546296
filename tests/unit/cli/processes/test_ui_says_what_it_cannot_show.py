"""`volcano-py ui` with options that contradict each other, or that lead nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from volcano_py.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--record", "r", "--from", "x.yaml"], "--record shows a record: leave out --from"),
        (["--at", "3"], "--at names a cycle of a record"),
        (["--record", "nowhere"], "nowhere: no record here"),
        (["--listen-address", "here"], "listen address 'here' is not HOST:PORT"),
        (["--from", "examples/sample", "--listen-address", "192.0.2.1:1"], "cannot listen on 192.0.2.1:1"),
        (["--sign-in"], "--sign-in requires TLS"),
        (["--sign-in", "--tls-cert-dir", "d", "--behind-tls-proxy"], "--sign-in requires TLS"),
        (["--sign-in", "--behind-tls-proxy", "--from", "examples/sample"], "--sign-in is for a live cluster"),
        (["--behind-tls-proxy"], "are for a page with --sign-in"),
        (["--tls-cert-dir", "d"], "are for a page with --sign-in"),
        (["--kubeconfig", "nowhere.kubeconfig"], "nowhere.kubeconfig"),
    ],
)
def test_it_ends_with_what_is_wrong(arguments: list[str], says: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[4])
    result = CliRunner().invoke(main, ["ui", "--no-browser", *arguments])
    assert result.exit_code in (1, 2)
    assert says in result.output
    assert "Traceback" not in result.output
