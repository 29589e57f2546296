"""The `metrics` section: where the load of nodes is read from, for load-aware plugins."""

from __future__ import annotations

from typing import Final

from volcano_py.api.go_values import parse_bool, parse_duration
from volcano_py.config.text.problems import Code, Problems, Where, quoted
from volcano_py.config.text.tree import MappingNode, ScalarNode

SOURCES: Final = ("prometheus", "metrics-server")
# Volcano reads these, too.
_SOURCES_OF_VOLCANO: Final = ("prometheus_adaptor", "elasticsearch")

# Asked over HTTP at `address`; metrics-server is reached through the API server.
_NEED_ADDRESS: Final = frozenset({"prometheus"})
_BOOLEANS: Final = ("tls.insecureSkipVerify",)


def check_metrics(node: MappingNode, where: Where, problems: Problems) -> None:
    """Checks the keys that every source has; the others are the source's own (credentials, TLS, index names)."""
    kind = _text(node, "type")
    if kind in _SOURCES_OF_VOLCANO:
        message = f"{kind} is not read by this scheduler, so no load is read; use one of: "
        problems.warning(Code.INVALID_VALUE, _at(node, "type", where), message + ", ".join(SOURCES))
    elif kind and kind not in SOURCES:
        message = f"unknown source {quoted(kind)}{problems.suggestion(kind, SOURCES)}, so no load is read; known: "
        problems.warning(Code.INVALID_VALUE, _at(node, "type", where), message + ", ".join(SOURCES))
    if kind in _NEED_ADDRESS and not _text(node, "address"):
        problems.warning(Code.MISSING, where, f"{kind} needs an address, so no load is read; add `address:`")
    for key in _BOOLEANS:
        if text := _text(node, key):
            try:
                parse_bool(text)
            except ValueError as refused:
                problems.error(Code.INVALID_VALUE, _at(node, key, where), str(refused))
    interval = _text(node, "interval")
    if interval:
        try:
            parse_duration(interval)
        except ValueError as refused:
            problems.error(Code.INVALID_VALUE, _at(node, "interval", where), str(refused))


def _text(node: MappingNode, key: str) -> str:
    value = node.get(key)
    return value.text if isinstance(value, ScalarNode) else ""


def _at(node: MappingNode, key: str, where: Where) -> Where:
    return where.key(key, node.entries[key].value.position)
