"""What HyperNodes are discovered from: `networkTopologyDiscovery` of Volcano's `volcano-controller.conf`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import yaml

from volcano_py.api.dns_names import is_subdomain
from volcano_py.api.go_values import parse_duration
from volcano_py.api.names import SYSTEM_NAMESPACE
from volcano_py.cluster.yaml_bounds import BoundError, load_all

CONFIG_KEY: Final = "volcano-controller.conf"
LABEL: Final = "label"
"""The source that reads labels of nodes."""
UFM: Final = "ufm"
"""The source that asks UFM, the manager of an InfiniBand network."""
SOURCE_LABEL: Final = "volcano.sh/network-topology-source"
"""Label of a HyperNode that says what it was discovered from."""
_INTERVAL: Final = 3600.0  # seconds; as Volcano's
_HOSTNAME: Final = "kubernetes.io/hostname"
_SHORTEST_INTERVAL: Final = 1.0  # seconds between two questions
_LONGEST_TYPE: Final = 20  # characters; as Volcano's


class LabelSource(msgspec.Struct, frozen=True):
    """Types of topology by name, each with its labels from top to bottom.

    Attributes:
        keeps: seconds for which a HyperNode stays that no node's labels ask for any more.
    """

    types: Mapping[str, tuple[str, ...]]
    keeps: float = _INTERVAL


class UfmSource(msgspec.Struct, frozen=True):
    """A UFM.

    Attributes:
        endpoint: URL without a path.
        secret: namespace and name of the Secret with `username` and `password`.
        is_insecure: whether any certificate is taken.
        interval: seconds between two questions; also for how long a HyperNode stays that UFM does not name any more.
    """

    endpoint: str
    secret: tuple[str, str]
    is_insecure: bool = False
    interval: float = _INTERVAL


class Sources(msgspec.Struct, frozen=True):
    """What the configuration asks for, and what of it cannot be done."""

    labels: LabelSource | None = None
    ufm: UfmSource | None = None
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
    ufm: UfmSource | None = None
    problems: list[str] = []
    for number, source in enumerate(given if isinstance(given, list) else ()):
        field = f"networkTopologyDiscovery[{number}]"
        try:
            if not isinstance(source, Mapping):
                raise _WrongError(f"{field} is not a map; write source, enabled and config")
            if source.get("enabled") is not True:
                continue
            match source.get("source"):
                case "label":
                    labels = LabelSource(
                        types=dict(_types(field, source.get("config"))), keeps=_interval(field, source)
                    )
                case "ufm":
                    ufm = _ufm(field, source)
                case other:
                    raise _WrongError(f"{field}.source: {other!r} is not discovered here; use {LABEL!r} or {UFM!r}")
        except _WrongError as error:
            problems.append(str(error))
    return Sources(labels, ufm, tuple(problems))


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


def _ufm(field: str, source: Mapping[str, Any]) -> UfmSource:
    config = _map(source.get("config"))
    endpoint = config.get("endpoint")
    if not isinstance(endpoint, str) or not endpoint:
        raise _WrongError(f"{field}.config.endpoint is missing; write the address of UFM")
    url = endpoint if "://" in endpoint else f"https://{endpoint}"
    if not _is_address(url):
        raise _WrongError(f"{field}.config.endpoint: {endpoint!r} is not an address, such as https://ufm.example.com")
    secret = _map(_map(source.get("credentials")).get("secretRef"))
    name, namespace = secret.get("name"), secret.get("namespace") or SYSTEM_NAMESPACE
    if (
        not isinstance(name, str)
        or not isinstance(namespace, str)
        or not is_subdomain(name)
        or not is_subdomain(namespace)
    ):
        raise _WrongError(f"{field}.credentials.secretRef: name the Secret that has username and password")
    insecure = config.get("insecureSkipVerify", False)
    if not isinstance(insecure, bool):
        raise _WrongError(f"{field}.config.insecureSkipVerify: {insecure!r} is not true or false")
    interval = max(_interval(field, source), _SHORTEST_INTERVAL)
    return UfmSource(url.rstrip("/"), (namespace, name), insecure, interval)


def _map(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_plain = not (parts.username or parts.query or parts.fragment)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and is_plain
    except ValueError:  # half an IPv6 address, or a port that is none
        return False


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
