"""`volcano-py dump` where no daemon answers."""

from __future__ import annotations

import socket
import struct
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import click.testing
import pytest

from tests.support.connections.ports import silent_port
from volcano_py.cli.main import main


class Answers(BaseHTTPRequestHandler):
    """A daemon with nothing in its state."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_: object) -> None: ...


def test_a_daemon_that_is_not_there_is_reported_with_the_flag_that_names_another() -> None:
    with silent_port() as port:
        url = f"http://127.0.0.1:{port}"
        result = click.testing.CliRunner().invoke(main, ["dump", "--url", url])
    assert result.exit_code == 1
    assert result.output == (
        f"Error: {url}/dump: Connection refused; is the daemon running there? "
        "--url names its --listen-address, which volcano-py up shows after Metrics\n"
    )


@pytest.mark.parametrize("url", ["http://127.0.0.1:bad", "http://[::1"])
def test_an_address_that_cannot_be_parsed_is_reported(url: str) -> None:
    result = click.testing.CliRunner().invoke(main, ["dump", "--url", url])
    assert (result.exit_code, result.output.partition(": ")[2].startswith(f"{url}/dump: ")) == (1, True)


def test_a_connection_that_breaks_is_reported() -> None:
    """As that of a port-forward whose pod has gone."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

        other = threading.Thread(target=hang_up)
        other.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        result = click.testing.CliRunner().invoke(main, ["dump", "--url", url])
        other.join()
    assert result.exit_code == 1
    assert f"Error: {url}/dump: " in result.output
    assert "is the daemon running there?" in result.output


def test_what_is_no_address_is_refused() -> None:
    result = click.testing.CliRunner().invoke(main, ["dump", "--url", "localhost:8080"])
    assert (result.exit_code, result.output) == (1, "Error: localhost:8080: not an http address\n")


def test_a_file_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "nowhere" / "state.json"
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        other = threading.Thread(target=server.handle_request)
        other.start()
        url = f"http://127.0.0.1:{server.server_port}"
        result = click.testing.CliRunner().invoke(main, ["dump", "--url", url, "--output-file", str(file)])
        other.join()
    assert (result.exit_code, result.output) == (1, f"Error: {file}: No such file or directory\n")
