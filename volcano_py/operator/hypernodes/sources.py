"""What HyperNodes are discovered from: `networkTopologyDiscovery` of Volcano's `volcano-controller.conf`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import yaml

from volcano_py.api.go_values import parse_duration
from volcano_py.cluster.yaml_bounds import BoundError, load_all

CONFIG_KEY: Final = "volcano-controller.conf"
LABEL: Final = "label"
"""The source that reads labels of nodes."""
_INTERVAL: Final = 3600.0  # seconds; as Volcano's
_HOSTNAME: Final = "kubernetes.io/hostname"
_LONGEST_TYPE: Final = 20  # characters; as Volcano's


class LabelSource(msgspec.Struct, frozen=True):
    """Types of topology by name, each with its labels from top to bottom.

    Attributes:
        keeps: seconds for which a HyperNode stays that no node's labels ask for any more.
    """

    types: Mapping[str, tuple[str, ...]]
    keeps: float = _INTERVAL


class Sources(msgspec.Struct, frozen=True):
    """What the configuration asks for, and what of it cannot be done."""

    labels: LabelSource | None = None
    problems: tuple[str, ...] = ()


def read_sources(text: str) -> Sources:
    """From the text of the configuration. What is wrong costs the source it is in, and no other."""
    try:
        documents = load_all(text)
    except (yaml.YAMLError, BoundError) as error:
        return Sources(problems=(f"{CONFIG_KEY} cannot be read: {' '.join(str(error).split())}",))
    root = documents[0] if documents else {}
    given = root.get("networkTopologyDiscovery") if isinstance(root, Mapping) else None
    labels: LabelSource | None = None
    problems: list[str] = []
    for number, source in enumerate(given if isinstance(given, list) else ()):
        field = f"networkTopologyDiscovery[{number}]"
        try:
            if not isinstance(source, Mapping):
                raise _WrongError(f"{field} is no map; write source, enabled and config")
            if source.get("enabled") is not True:
                continue
            if source.get("source") != LABEL:
                name = source.get("source")
                raise _WrongError(f"{field}.source: {name!r} is not discovered here; only {LABEL!r} is")
            labels = LabelSource(types=dict(_types(field, source.get("config"))), keeps=_interval(field, source))
        except _WrongError as error:
            problems.append(str(error))
    return Sources(labels, tuple(problems))


class _WrongError(ValueError):
    """The source cannot be used; the message names the field."""


def _interval(field: str, source: Mapping[str, Any]) -> float:
    text = source.get("interval")
    if text is None:
        return _INTERVAL
    try:
        return max(parse_duration(str(text)).total_seconds(), 0.0)
    except ValueError as error:
        raise _WrongError(f"{field}.interval: {error}") from error


def _types(field: str, config: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    field = f"{field}.config.networkTopologyTypes"
    types = config.get("networkTopologyTypes") if isinstance(config, Mapping) else None
    if not isinstance(types, Mapping) or not types:
        raise _WrongError(f"{field} is missing; name a type and its labels from top to bottom")
    for name, levels in types.items():
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_TYPE:
            raise _WrongError(f"{field}: {name!r} is not a name of 1 to {_LONGEST_TYPE} characters")
        keys = [each.get("nodeLabel") if isinstance(each, Mapping) else None for each in levels or ()]
        if not keys or not all(isinstance(key, str) and key for key in keys):
            raise _WrongError(f"{field}.{name} is not a list of {{nodeLabel: KEY}}, from top to bottom")
        if keys[-1] == _HOSTNAME:
            keys.pop()
        if len(set(keys)) < len(keys):
            raise _WrongError(f"{field}.{name} names a label twice; name each once")
        yield name, tuple(map(str, keys))
