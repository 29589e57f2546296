"""Logs: one chain for our own events and for the libraries', JSON lines in a cluster, colours on a terminal.

Modules log through `structlog.get_logger(__name__)`, with fields instead of formatted text:
`log.info("pod bound", pod="ml/train-0", node="n1")`. Below the configured level a call costs one empty function: no
field is rendered, no lock is taken, so the level cannot change how fast the scheduler decides. In an inner loop, use a
logger that was bound outside (`log = log.bind()`): the module's own looks itself up each time, which is half a
microsecond.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, BinaryIO, Final

import structlog
from structlog.processors import ExceptionRenderer, TimeStamper, add_log_level
from structlog.tracebacks import ExceptionDictTransformer
from structlog.types import EventDict, ExcInfo, Processor

from volcano_py.observe.encoding import to_json

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
}

# A container runtime cuts log lines at 16 KiB into pieces that are no JSON any more; half of it leaves room for the
# other fields.
_LONGEST_TEXT: Final = 8 * 1024
_MOST_FRAMES: Final = 20
# klog's -v 4 and up is what operators of Kubernetes know as "debug level verbosity".
_DEBUG_VERBOSITY: Final = 4

# Libraries that would drown or betray us at our own level: kubernetes_asyncio prints whole response bodies at DEBUG,
# Secrets among them; asyncio and aiohttp log every selector and connection; kopf logs each handler call at INFO.
_QUIETER: Final = {
    "kubernetes_asyncio": logging.INFO,
    "asyncio": logging.INFO,
    "aiohttp": logging.INFO,
    "aiohttp.access": logging.WARNING,
    "urllib3": logging.INFO,
    "kopf.objects": logging.WARNING,
}
_RECORD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LogFormat(StrEnum):
    """`auto` is `console` when the stream is a terminal and `json` otherwise."""

    AUTO = "auto"
    JSON = "json"
    CONSOLE = "console"


def log_level(name: str = "info", verbosity: int | None = None) -> int:
    """The level for `--log-level NAME` and for klog's `-v N` (which wins: 0 to 3 is info, 4 and above debug).

    Raises:
        ValueError: the name is none of `LEVELS`.
    """
    if verbosity is not None:
        return logging.DEBUG if verbosity >= _DEBUG_VERBOSITY else logging.INFO
    level = LEVELS.get(name.strip().lower())
    if level is None:
        raise ValueError(f"log level {name!r} is unknown: use one of {', '.join(LEVELS)}")
    return level


def configure_logs(
    level: int = logging.INFO,
    log_format: LogFormat = LogFormat.AUTO,
    stream: BinaryIO | None = None,
    *,
    colors: bool | None = None,
) -> None:
    """Set up structlog and the standard library's logging for this process, once, before anything is logged.

    Args:
        level: the least level that is written, as in `logging`.
        stream: where bytes go; standard error by default.
        colors: on a console, whether to use colours; by default when it is a terminal and NO_COLOR is not set.
    """
    sink = LineSink(stream if stream is not None else sys.stderr.buffer)
    console = log_format is LogFormat.CONSOLE or (log_format is LogFormat.AUTO and sink.is_terminal)
    if colors is None:
        colors = sink.is_terminal and not os.environ.get("NO_COLOR")
    chain: list[Processor] = [
        add_log_level,
        _add_logger_name,
        TimeStamper(fmt="iso", utc=True, key="ts"),
        _cut_long_texts,
        *(_console_end(colors) if console else _json_end()),
    ]
    structlog.configure(
        processors=chain,
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=sink.named,
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [_ChainHandler(chain, sink)]
    root.setLevel(level)
    for name, least in _QUIETER.items():
        logging.getLogger(name).setLevel(max(level, least))
    logging.captureWarnings(True)


class LineSink:
    """Writes whole lines to one stream, from any thread. A stream that is gone loses lines, never a caller."""

    def __init__(self, stream: BinaryIO, name: str = "", lock: threading.Lock | None = None) -> None:
        self.name = name
        self._stream = stream
        self._lock = lock if lock is not None else threading.Lock()

    def named(self, name: str = "") -> LineSink:
        """The same stream for the logger `name`."""
        return LineSink(self._stream, name, self._lock)

    @property
    def is_terminal(self) -> bool:
        try:
            return self._stream.isatty()
        except ValueError:  # closed
            return False

    def msg(self, line: bytes) -> None:
        try:
            with self._lock:
                self._stream.write(line + b"\n")
                self._stream.flush()
        except (OSError, ValueError):
            # The reader has gone (broken pipe) or the stream is closed: there is nowhere left to say so.
            return

    debug = info = warn = warning = error = critical = exception = fatal = log = msg


class _ChainHandler(logging.Handler):
    """Takes records of the standard library's logging through our chain, so that they look like our own."""

    def __init__(self, chain: list[Processor], sink: LineSink) -> None:
        super().__init__()
        self._chain = chain
        self._sink = sink

    def emit(self, record: logging.LogRecord) -> None:
        try:
            event: Any = {"event": record.getMessage(), **_extras(record)}
            if record.exc_info:
                event["exc_info"] = record.exc_info
            method = _level_name(record.levelno)
            sink = self._sink.named(record.name)
            for processor in self._chain:
                event = processor(sink, method, event)
            sink.msg(event)
        except Exception:
            self.handleError(record)


def _level_name(number: int) -> str:
    """The nearest level at or below, as libraries have levels of their own in between."""
    return next((name for name, least in reversed(LEVELS.items()) if number >= least), "debug")


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    """The fields given as `extra=`; kopf names the object of a message in `k8s_ref`, its own settings are left out."""
    extras = {name: value for name, value in vars(record).items() if name not in _RECORD_FIELDS}
    reference = extras.pop("k8s_ref", None)
    for name in ("k8s_skip", "settings"):
        extras.pop(name, None)
    if isinstance(reference, Mapping):
        parts = (reference.get("namespace"), reference.get("name"))
        extras["kind"] = reference.get("kind")
        extras["object"] = "/".join(str(part) for part in parts if part)
    return extras


def _json_end() -> list[Processor]:
    # Local variables are left out of tracebacks: they hold Secrets and whole tables.
    exceptions = ExceptionDictTransformer(show_locals=False, max_frames=_MOST_FRAMES)

    def cut_exceptions(exc_info: ExcInfo) -> list[dict[str, Any]]:
        return [{**each, "exc_value": _cut(str(each["exc_value"]))} for each in exceptions(exc_info)]

    return [ExceptionRenderer(cut_exceptions), _json_line]


def _console_end(colors: bool) -> list[Processor]:
    render = structlog.dev.ConsoleRenderer(
        colors=colors, timestamp_key="ts", exception_formatter=structlog.dev.plain_traceback
    )

    def console_line(logger: Any, method: str, event: EventDict) -> bytes:
        return render(logger, method, event).encode("utf-8", "backslashreplace")

    return [console_line]


def _json_line(_logger: Any, _method: str, event: EventDict) -> bytes:
    """`ts`, `level` and `msg` first, as in the JSON logs of Kubernetes' own components; then the fields as given."""
    return to_json({"ts": event.pop("ts"), "level": event.pop("level"), "msg": event.pop("event", ""), **event})


def _add_logger_name(logger: Any, _method: str, event: EventDict) -> EventDict:
    if logger.name:
        event.setdefault("logger", logger.name)
    return event


def _cut_long_texts(_logger: Any, _method: str, event: EventDict) -> EventDict:
    for name, value in event.items():
        if isinstance(value, str) and len(value) > _LONGEST_TEXT:
            event[name] = _cut(value)
    return event


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}… ({len(text)} characters)"
