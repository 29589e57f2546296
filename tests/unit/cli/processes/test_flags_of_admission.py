"""`volcano-py run --admission…` and `volcano-py admission`: what the flags mean, and which are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click.testing
import pytest

from volcano_py.cli.main import main
from volcano_py.cli.processes import admission as admission_module
from volcano_py.cli.processes import run as run_module
from volcano_py.daemon.admission.process import admission_arguments
from volcano_py.daemon.options import AdmissionOptions, DaemonOptions


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the command up to where the daemon would start."""
    made: list[DaemonOptions] = []
    monkeypatch.setattr(run_module, "serve", made.append)

    def run(*arguments: str) -> AdmissionOptions:
        result = click.testing.CliRunner().invoke(main, ["run", *arguments])
        if result.exit_code:
            raise ValueError(result.output)
        return made[-1].admission

    return run


def test_it_is_off_unless_asked_for(options: Any) -> None:
    assert options() == AdmissionOptions()
    assert not options().enabled


def test_a_flag_alone_switches_it_on_with_certificates_of_its_own(options: Any) -> None:
    asked = options("--admission")
    assert asked.enabled
    assert asked.manage_certificates
    assert (asked.address, asked.namespace, asked.name) == (":8443", "volcano-system", "volcano-py-admission")
    assert not options("--admission=false").enabled


def test_everything_can_be_chosen(options: Any, tmp_path: Path) -> None:
    asked = options(
        "--admission", "--admission-address=127.0.0.1:9443", "--admission-service=here/door", "--admission-host=a",
        "--admission-host=127.0.0.1", "--admission-manage-certificates=false", f"--admission-cert-dir={tmp_path}",
        "--max-queue-depth=7",
    )  # fmt: skip
    assert asked == AdmissionOptions(
        enabled=True,
        address="127.0.0.1:9443",
        namespace="here",
        name="door",
        hosts=("a", "127.0.0.1"),
        manage_certificates=False,
        certificate_directory=tmp_path,
        max_queue_depth=7,
    )


def test_a_process_of_its_own_is_started_with_the_same_options(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "ca.crt"
    file.touch()
    wanted = AdmissionOptions(
        enabled=True,
        address="127.0.0.1:9443",
        namespace="here",
        name="door",
        hosts=("a", "127.0.0.1"),
        manage_certificates=False,
        certificate_directory=tmp_path,
        client_ca_file=file,
        client_names=("kube-apiserver", "other"),
        max_queue_depth=7,
    )
    options = DaemonOptions(
        kubeconfig=file,
        context="mine",
        scheduler_names=("trial",),
        default_queue="q",
        resync_period=90.0,
        log_level="debug",
        log_format="json",
        admission=wanted,
    )
    made: list[tuple[DaemonOptions, int | None]] = []
    monkeypatch.setattr(admission_module, "_run", lambda *given: made.append(given))
    monkeypatch.setattr("volcano_py.observe.logs.configure_logs", lambda *_: None)
    for each in (options, DaemonOptions(admission=AdmissionOptions(enabled=True))):
        arguments = [*admission_arguments(each), "--reports=7"]
        result = click.testing.CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert made.pop() == (each, 7)


@pytest.mark.parametrize(
    ("flag", "expected"),
    [
        ("--admission-address=nowhere", "listen address 'nowhere' is not HOST:PORT"),
        ("--admission-service=door", "'door' is not NAMESPACE/NAME"),
        ("--admission-service=a/b/c", "'a/b/c' is not NAMESPACE/NAME"),
        ("--admission-manage-certificates=false", "name the directory of the certificates"),
        ("--admission-client-name=kube-apiserver", "name the authorities of the certificates, too"),
        ("--admission-client-ca-file=/does/not/exist", "does not exist"),
        ("--max-queue-depth=0", "0 is not in the range"),
        ("--admission-cert-dir=/does/not/exist", "does not exist"),
    ],
)
def test_what_cannot_be_is_refused(options: Any, flag: str, expected: str) -> None:
    with pytest.raises(ValueError, match=expected.replace("(", r"\(")):
        options("--admission", flag)
