"""What job plugins do to a pod's manifest: environment, ports, volumes. Pods are changed in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from volcano_py.api.effects import JsonObject


def containers(pod: JsonObject) -> list[JsonObject]:
    """The ordinary containers."""
    return _of(pod, "containers")


def all_containers(pod: JsonObject) -> list[JsonObject]:
    """The ordinary containers and the init containers."""
    return [*_of(pod, "containers"), *_of(pod, "initContainers")]


def add_env(targets: Iterable[JsonObject], *variables: JsonObject) -> None:
    """Append variables (`name` with `value` or `valueFrom`); they replace those of the same name."""
    names = {variable["name"] for variable in variables}
    for container in targets:
        kept = [variable for variable in container.get("env") or () if variable.get("name") not in names]
        container["env"] = [*kept, *(dict(variable) for variable in variables)]


def variable(name: str, value: object) -> JsonObject:
    """An environment variable."""
    return {"name": name, "value": str(value)}


def env_value(pod: JsonObject, name: str) -> str:
    """The first value that an ordinary container has for the variable; "" when there is none."""
    for container in containers(pod):
        for each in container.get("env") or ():
            if each.get("name") == name:
                return str(each.get("value", ""))
    return ""


def open_port(container: JsonObject, name: str, port: int) -> None:
    """Declare a port unless the container declares it already."""
    ports: list[Any] = list(container.get("ports") or ())
    if all(each.get("containerPort") != port for each in ports):
        container["ports"] = [*ports, {"name": name, "containerPort": port}]


def add_volume(pod: JsonObject, name: str, source: JsonObject) -> None:
    """Give the pod a volume."""
    spec = pod["spec"]
    spec["volumes"] = [*(spec.get("volumes") or ()), {"name": name, **source}]


def mount(targets: Iterable[JsonObject], volume: str, path: str, **more: object) -> None:
    """Mount a volume of the pod, unless something else is mounted at that path."""
    for container in targets:
        mounts: list[Any] = list(container.get("volumeMounts") or ())
        if all(each.get("mountPath") != path for each in mounts):
            container["volumeMounts"] = [*mounts, {"name": volume, "mountPath": path, **more}]


def _of(pod: JsonObject, field: str) -> list[JsonObject]:
    found: list[JsonObject] = pod["spec"].get(field) or []
    return found
