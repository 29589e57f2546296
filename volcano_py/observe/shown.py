"""What a process shows of itself over HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from volcano_py.observe.build import build_info
from volcano_py.observe.checks import Checks

Document = Callable[[], object | Awaitable[object]]
"""Gives what to show, on the event loop: a mapping of plain values, dataclasses or API objects."""
Render = Callable[[str], tuple[bytes, str]]
"""Accept header → body and content type, called in a thread (`Metrics.render`)."""


class Shown(msgspec.Struct, frozen=True):
    """The documents and probes of one process.

    Attributes:
        render: the metrics, usually `Metrics.render`.
        checks: what /healthz and /readyz run.
        version: what /version shows.
        status: what /status shows; without it the path does not exist.
        dump: what /dump shows to callers from this machine; without it the path does not exist.
    """

    render: Render
    checks: Checks
    version: Mapping[str, str] = msgspec.field(default_factory=build_info)
    status: Document | None = None
    dump: Document | None = None
