"""`volcano-py dump` where no daemon answers."""

from __future__ import annotations

import click.testing

from tests.support.ports import silent_port
from volcano_py.cli.main import main


def test_a_daemon_that_is_not_there_is_told_with_the_flag_that_names_another() -> None:
    with silent_port() as port:
        url = f"http://127.0.0.1:{port}"
        result = click.testing.CliRunner().invoke(main, ["dump", "--url", url])
    assert result.exit_code == 1
    assert result.output == (
        f"Error: {url}/dump: Connection refused; is the daemon running there? "
        "--url names its --listen-address, which volcano-py up shows beside Metrics\n"
    )


def test_what_is_no_address_is_refused() -> None:
    result = click.testing.CliRunner().invoke(main, ["dump", "--url", "localhost:8080"])
    assert (result.exit_code, result.output) == (1, "Error: localhost:8080: not an http address\n")
