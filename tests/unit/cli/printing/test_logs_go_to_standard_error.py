"""Standard output is for what was asked for, whatever logs were set up for before."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
import structlog

from volcano_py.cli.printing.output import log_aside
from volcano_py.observe.logs import LogFormat, configure_logs


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


@pytest.mark.parametrize("already", [False, True])
def test_a_remark_goes_to_standard_error(already: bool, capsys: pytest.CaptureFixture[str]) -> None:
    elsewhere = io.BytesIO()
    if already:
        configure_logs(log_format=LogFormat.JSON, stream=elsewhere)

    log_aside()
    structlog.get_logger(__name__).warning("a queue is odd", queue="q")

    said = capsys.readouterr()
    assert said.out == ""
    assert "a queue is odd" in said.err
    assert elsewhere.getvalue() == b""


def test_warnings_can_be_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    log_aside(only_errors=True)
    structlog.get_logger(__name__).warning("a queue is odd", queue="q")
    structlog.get_logger(__name__).error("plugin failed", plugin="p")

    captured = capsys.readouterr()
    assert captured.out == ""
    assert "odd" not in captured.err
    assert "plugin failed" in captured.err
