"""Our events and the libraries' records come out of one chain, as JSON or for a terminal."""

from __future__ import annotations

import io
import json
import logging
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import structlog

from volcano_py.observe.logs import LogFormat, configure_logs, log_level

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def stream() -> io.BytesIO:
    return io.BytesIO()


@pytest.fixture
def lines(stream: io.BytesIO) -> Lines:
    """JSON logs at info; call it to read what was written."""
    configure_logs(logging.INFO, LogFormat.JSON, stream)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_a_line_has_time_level_message_and_fields(lines: Lines) -> None:
    structlog.get_logger("volcano_py.scheduler").info("pod bound", pod="ml/a-0", node="n1", took=0.5)
    (line,) = lines()
    assert line.pop("ts").endswith("Z")
    assert line == {
        "level": "info",
        "msg": "pod bound",
        "pod": "ml/a-0",
        "node": "n1",
        "took": 0.5,
        "logger": "volcano_py.scheduler",
    }


def test_the_first_fields_of_a_line_are_always_the_same(lines: Lines) -> None:
    structlog.get_logger("x").warning("hello", a=1)
    assert list(lines()[0])[:3] == ["ts", "level", "msg"]


def test_libraries_take_the_same_chain(lines: Lines) -> None:
    logger = logging.getLogger("kopf.reactor")
    logger.setLevel(logging.INFO)  # an operator that ran before in this process may have quietened kopf
    logger.info("resumed %s of %d", "queues", 3)
    (line,) = lines()
    assert (line["level"], line["msg"], line["logger"]) == ("info", "resumed queues of 3", "kopf.reactor")


def test_kopfs_objects_are_named(lines: Lines) -> None:
    reference = {"apiVersion": "v1", "kind": "Queue", "name": "team-a", "uid": "u", "namespace": None}
    logging.getLogger("kopf.objects").error("failed", extra={"k8s_ref": reference, "k8s_skip": False, "settings": None})
    (line,) = lines()
    assert (line["kind"], line["object"]) == ("Queue", "team-a")
    assert not {"k8s_ref", "k8s_skip", "settings"} & line.keys()


@pytest.mark.parametrize(("number", "name"), [(5, None), (25, "info"), (35, "warning"), (60, "critical")])
def test_unknown_log_levels_are_logged_as_the_nearest_below(lines: Lines, number: int, name: str | None) -> None:
    logging.getLogger("library").log(number, "odd")
    assert [line["level"] for line in lines()] == ([name] if name else [])


def test_warnings_of_python_are_lines_as_well(lines: Lines) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)
        warnings.warn("old habit", DeprecationWarning, stacklevel=1)
    (line,) = lines()
    assert line["logger"] == "py.warnings"
    assert "DeprecationWarning: old habit" in line["msg"]


def test_exceptions_are_fields_without_local_variables(lines: Lines) -> None:
    secret = "hunter2"
    for log in (structlog.get_logger("x"), logging.getLogger("library")):
        try:
            try:
                raise KeyError("cause")
            except KeyError as error:
                raise ValueError(f"bad {len(secret)}") from error
        except ValueError:
            log.exception("cycle failed")
    for line in lines():
        reported, cause = line["exception"]
        assert (reported["exc_type"], reported["exc_value"]) == ("ValueError", "bad 7")
        assert cause["exc_type"] == "KeyError"
        assert reported["frames"][-1]["name"] == "test_exceptions_are_fields_without_local_variables"
        assert "hunter2" not in json.dumps(line)


def test_long_texts_are_cut_wherever_they_are(lines: Lines) -> None:
    log = structlog.get_logger("x")
    log.info("y" * 100_000, field="z" * 100_000)
    try:
        raise ValueError("e" * 100_000)
    except ValueError:
        log.exception("oops")
    cut, failed = lines()
    assert cut["msg"].endswith("y… (100000 characters)")
    assert len(cut["field"]) < 9000
    assert len(failed["exception"][0]["exc_value"]) < 9000


def test_what_is_below_the_level_is_an_empty_function(stream: io.BytesIO) -> None:
    configure_logs(logging.INFO, LogFormat.JSON, stream)
    log = structlog.get_logger("x").bind()
    called: list[str] = []

    class Field:
        def __repr__(self) -> str:
            called.append("rendered")
            return ""

    log.debug("never", field=Field())
    assert called == []
    assert stream.getvalue() == b""
    assert log.debug.__func__.__name__ == "_nop"


def test_logs_of_the_kubernetes_client_never_reach_debug(stream: io.BytesIO) -> None:
    """It prints response bodies there, Secrets among them."""
    configure_logs(logging.DEBUG, LogFormat.JSON, stream)
    logging.getLogger("kubernetes_asyncio.client.rest").debug("response body: %s", "hunter2")
    structlog.get_logger("x").debug("ours")
    assert [json.loads(line)["msg"] for line in stream.getvalue().splitlines()] == ["ours"]


def test_a_terminal_gets_readable_lines_and_all_others_json() -> None:
    class Terminal(io.BytesIO):
        def isatty(self) -> bool:
            return True

    terminal, pipe = Terminal(), io.BytesIO()
    for target in (terminal, pipe):
        structlog.reset_defaults()
        configure_logs(logging.INFO, LogFormat.AUTO, target)
        structlog.get_logger("x").info("pod bound", node="n1")
    assert b"\x1b[" in terminal.getvalue()
    assert b"pod bound" in terminal.getvalue()
    assert json.loads(pipe.getvalue())["node"] == "n1"


def test_colours_are_left_out_on_request(stream: io.BytesIO) -> None:
    configure_logs(logging.INFO, LogFormat.CONSOLE, stream, colors=False)
    try:
        raise ValueError("bad")
    except ValueError:
        structlog.get_logger("x").exception("oops", node="n1")
    text = stream.getvalue().decode()
    assert "\x1b[" not in text
    assert "node=n1" in text
    assert "ValueError: bad" in text


def test_a_reader_that_has_gone_costs_lines_and_nothing_else() -> None:
    class Broken(io.BytesIO):
        def write(self, _data: Any) -> int:
            raise BrokenPipeError

    configure_logs(logging.INFO, LogFormat.JSON, Broken())
    structlog.get_logger("x").info("into the void")
    logging.getLogger("library").warning("into the void")
    closed = io.BytesIO()
    closed.close()
    structlog.reset_defaults()
    configure_logs(logging.INFO, LogFormat.AUTO, closed)
    structlog.get_logger("x").info("into the void")


def test_lines_of_several_threads_do_not_mix(lines: Lines) -> None:
    def write(name: str) -> None:
        log = structlog.get_logger(name)
        for number in range(50):
            log.info("x" * 500, number=number)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines()) == 150


@pytest.mark.parametrize(
    ("name", "verbosity", "level"),
    [
        ("info", None, logging.INFO),
        ("DEBUG", None, logging.DEBUG),
        ("warning", None, logging.WARNING),
        ("error", 0, logging.INFO),
        ("error", 3, logging.INFO),
        ("error", 4, logging.DEBUG),
    ],
)
def test_levels_by_name_and_by_klogs_verbosity(name: str, verbosity: int | None, level: int) -> None:
    assert log_level(name, verbosity) == level


def test_an_unknown_level_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"log level 'loud' is unknown: use one of debug, info, warning, error, crit"):
        log_level("loud")
