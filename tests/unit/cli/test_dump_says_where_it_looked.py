"""`volcano-py dump` where no daemon answers."""

from __future__ import annotations

import click.testing

from volcano_py.cli.main import main
from volcano_py.local.ports import free_port


def test_a_daemon_that_is_not_there_is_told_with_the_flag_that_names_another() -> None:
    url = f"http://127.0.0.1:{free_port(set())}"
    result = click.testing.CliRunner().invoke(main, ["dump", "--url", url])
    assert result.exit_code == 1
    assert result.output == (
        f"Error: {url}/dump: Connection refused; is the daemon running there? "
        "--url names its --listen-address, which volcano-py up shows beside Metrics\n"
    )


def test_what_is_no_address_is_refused() -> None:
    result = click.testing.CliRunner().invoke(main, ["dump", "--url", "localhost:8080"])
    assert (result.exit_code, result.output) == (1, "Error: localhost:8080: not an http address\n")
