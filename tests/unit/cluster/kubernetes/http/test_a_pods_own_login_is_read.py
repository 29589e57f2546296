"""In a pod the login is a token and a CA in files, and the server is named by two variables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from volcano_py.cluster.kubernetes.http.logins import ACCOUNT_VARIABLE, read_in_cluster


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "token").write_text("abc\n")
    (tmp_path / "ca.crt").write_text("a certificate")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv(ACCOUNT_VARIABLE, str(tmp_path))
    return tmp_path


def test_server_token_and_ca_are_those_of_the_pod(mounted: Path) -> None:
    login = read_in_cluster()

    assert (login.host, login.authorization) == ("https://10.0.0.1:443", "Bearer abc")
    assert (login.ssl_ca_cert, login.cert_file, login.key_file) == (str(mounted / "ca.crt"), None, None)
    assert login.verify_ssl


def test_an_ipv6_address_is_put_in_brackets(mounted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")

    assert read_in_cluster().host == "https://[fd00::1]:443"


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_a_file_that_is_missing_or_empty_is_named(name: str, mounted: Path) -> None:
    (mounted / name).write_text("")
    with pytest.raises(ValueError, match=f"{name} is empty"):
        read_in_cluster()

    (mounted / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        read_in_cluster()


@pytest.mark.parametrize("port", ["", None])
def test_host_and_port_must_both_be_set(port: str | None, mounted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_PORT") if port is None else monkeypatch.setenv(
        "KUBERNETES_SERVICE_PORT", port
    )

    with pytest.raises(ValueError, match="KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not both set"):
        read_in_cluster()


def test_a_pod_does_without_the_kubeconfig_loader() -> None:
    program = (
        "import asyncio, sys, volcano_py.daemon.daemon\n"
        "from volcano_py.cluster.kubernetes.http.credentials import Credentials, CredentialsError\n"
        "try:\n    asyncio.run(Credentials.load())\n"
        "except CredentialsError as error:\n    print(error)\n"
        "assert 'kubernetes_asyncio' not in sys.modules\n"
    )
    environment = {**os.environ, "KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": ""}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)

    assert ended.stdout.startswith("in-cluster configuration cannot be used: KUBERNETES_SERVICE_HOST and")
