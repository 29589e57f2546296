"""https: a server of an authority that the system trusts, or that of SSL_CERT_FILE, is asked, and no other."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Final

import pytest

from volcano_py.local.workdir.certificates import CertificateAuthority, write_private

ASKING: Final = """
import sys
from volcano_py.cluster.extender.client import HttpExtender
client = HttpExtender()
print(client.post(sys.argv[1], "predicate", [b"{}"], 10.0)[0])
client.close()
"""


class _Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def authority() -> CertificateAuthority:
    return CertificateAuthority("of the cluster")


@pytest.fixture
def port(authority: CertificateAuthority, tmp_path: Path) -> Iterator[int]:
    """A server whose certificate is for localhost."""
    serving = authority.serving("extender", ["localhost"], [])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(write_private(tmp_path / "server.pem", serving.certificate + serving.key))
    server = HTTPServer(("127.0.0.1", 0), _Answering)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port
    server.shutdown()
    thread.join()
    server.server_close()


def asked(address: str, trusted: Path | None) -> str:
    """What a process finds that trusts these authorities beyond those of the system."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SSL_CERT")}
    if trusted is not None:
        environment["SSL_CERT_FILE"] = str(trusted)
    command = [sys.executable, "-c", ASKING, address]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.strip()


def test_a_server_of_a_trusted_authority_is_asked(port: int, authority: CertificateAuthority, tmp_path: Path) -> None:
    trusted = tmp_path / "authority.pem"
    trusted.write_bytes(authority.certificate)
    assert asked(f"https://localhost:{port}/base", trusted) == "b'{}'"


def test_a_server_of_any_other_authority_is_not_asked(port: int) -> None:
    expected = "Failure(why='cannot be reached: TLS failed (certificate verify failed)')"
    assert asked(f"https://localhost:{port}/base", None) == expected


def test_a_server_of_another_name_is_not_asked(port: int, authority: CertificateAuthority, tmp_path: Path) -> None:
    trusted = tmp_path / "authority.pem"
    trusted.write_bytes(authority.certificate)
    assert "TLS failed (certificate verify failed)" in asked(f"https://127.0.0.1:{port}/base", trusted)
