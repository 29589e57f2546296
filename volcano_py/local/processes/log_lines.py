"""Log lines of the processes that are run, for people."""

from __future__ import annotations

from typing import Final

import orjson

_MOST_CHARACTERS: Final = 600
"""A structured line with a long traceback in it would hide all the others."""


def readable(line: str) -> str:
    """A line of the daemon's JSON log as `10:15:02 info cycle  binds=4 pending=1`, any other as it is; both cut."""
    text = _text(line)
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} … ({len(text)} characters)"


def _text(line: str) -> str:
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        return line
    if not isinstance(record, dict) or "msg" not in record:
        return line
    moment, level, message = (str(record.pop(field, "")) for field in ("ts", "level", "msg"))
    record.pop("logger", None)
    fields = " ".join(f"{name}={value}" for name, value in record.items())
    return f"{moment[11:19]} {level} {message}  {fields}".strip()
