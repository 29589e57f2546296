"""The `metrics` section: where the load of nodes is read from, for load-aware plugins."""

from __future__ import annotations

import re
from typing import Final

import yaml

from volcano_py.api.go_values import parse_bool, parse_duration
from volcano_py.config.text.logins import without_login
from volcano_py.config.text.problems import Code, Problems, Where, quoted
from volcano_py.config.text.tree import MappingNode, ScalarNode

SOURCES: Final = ("prometheus", "metrics-server", "prometheus_adaptor", "elasticsearch")
# What Volcano's documentation calls prometheus_adaptor.
_OTHER_NAMES: Final = ("prometheus_adapt",)

# Asked over HTTP at `address`; the others are reached through the API server.
_NEED_ADDRESS: Final = frozenset({"prometheus", "elasticsearch"})
SECRETS: Final = frozenset({"elasticsearch.password"})
"""Keys whose values are shown nowhere."""
_SECRET_LINE: Final = re.compile(r"(password[^:\n]{0,40}:\s*)\S.*", re.IGNORECASE)
_PASSWORD: Final = "password"
_BOOLEANS: Final = ("tls.insecureSkipVerify",)


def check_metrics(node: MappingNode, where: Where, problems: Problems) -> None:
    """Checks the keys that every source has; the others are the source's own (credentials, TLS, index names)."""
    kind = _text(node, "type")
    if kind and kind not in (*SOURCES, *_OTHER_NAMES):
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


def without_secrets(text: str) -> str:
    """A configuration without passwords, for files that others read: as it is, if it has none. Any text can be one.
    Logins in addresses are left out everywhere: that of an extender is among the arguments of a plugin."""
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):  # no YAML; dates and numbers that cannot be; too deep
        return without_login(_SECRET_LINE.sub(r"\1***", text))
    section = content.get("metrics") if isinstance(content, dict) else None
    if not isinstance(section, dict):
        return without_login(text)
    kept = _kept(section)
    return without_login(text if kept == section else yaml.safe_dump({**content, "metrics": kept}, sort_keys=False))


def _kept(value: object, levels: int = 2) -> object:
    """The value without secrets; also of a section that is written wrongly, as nested mappings. What is nested more
    deeply is left out: with aliases, YAML can be nested without end."""
    if isinstance(value, dict | list) and not levels:
        return None
    if isinstance(value, dict):
        return {key: _kept(each, levels - 1) for key, each in value.items() if _PASSWORD not in str(key).lower()}
    if isinstance(value, list):
        return [_kept(each, levels - 1) for each in value]
    return without_login(value) if isinstance(value, str) else value


def _text(node: MappingNode, key: str) -> str:
    value = node.get(key)
    return value.text if isinstance(value, ScalarNode) else ""


def _at(node: MappingNode, key: str, where: Where) -> Where:
    return where.key(key, node.entries[key].value.position)
