"""What was read of a cluster, and what was found in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

import msgspec

from volcano_py.api.names import CONFIG_MAP, DEFAULT_SCHEDULER_NAME, SYSTEM_NAMESPACE

Raw = dict[str, Any]
"""An object as the API has it."""

OURS: Final = "volcano-py"


class Level(StrEnum):
    """How much a finding matters; in the order in which findings are listed."""

    BLOCKS = "blocks"
    """Do not move before this is changed."""
    DIFFERS = "differs"
    """Something will be different afterwards."""
    NOTE = "note"
    """Good to know."""


class Finding(msgspec.Struct, frozen=True):
    """`about` names the object; `message` says what was found there, `fix` what to do, `page` where to read on."""

    level: Level
    about: str
    message: str
    fix: str = ""
    page: str = ""


class Unread(msgspec.Struct, frozen=True):
    """Something that was not read, and why."""

    what: str
    why: str


class Part(StrEnum):
    """A program of Volcano's, by the label `app` of its Deployment."""

    SCHEDULER = "volcano-scheduler"
    CONTROLLERS = "volcano-controller"
    ADMISSION = "volcano-admission"


_IMAGES: Final[Mapping[str, Part]] = {
    "vc-scheduler": Part.SCHEDULER,
    "vc-controller-manager": Part.CONTROLLERS,
    "vc-webhook-manager": Part.ADMISSION,
}


class Workload(msgspec.Struct, frozen=True):
    """A Deployment of Volcano's or ours. `flags` are those of its first container, without dashes; one that has no
    value is "true".

    `config_map` is the one that has its configuration, and `config_key` the key in it; "" when it mounts none.
    """

    part: Part | None
    """None: it is ours."""
    namespace: str
    name: str
    replicas: int
    flags: Mapping[str, str]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    account: str
    config_map: str
    config_key: str

    @property
    def about(self) -> str:
        return f"Deployment {self.namespace}/{self.name}"

    @property
    def scheduler_name(self) -> str:
        return self.flags.get("scheduler-name") or DEFAULT_SCHEDULER_NAME

    @classmethod
    def of(cls, raw: Raw) -> Workload | None:
        """None for a Deployment that is neither Volcano's nor ours."""
        metadata, spec = raw["metadata"], raw.get("spec") or {}
        pod = (spec.get("template") or {}).get("spec") or {}
        containers = pod.get("containers") or [{}]
        labels = metadata.get("labels") or {}
        part = _part(labels, (each.get("image", "") for each in containers))
        if part is None and labels.get("app.kubernetes.io/name") != OURS:
            return None
        flags = _flags([*(containers[0].get("command") or ()), *(containers[0].get("args") or ())])
        path = flags.get("scheduler-conf", "")
        return cls(
            part=part,
            namespace=metadata.get("namespace", ""),
            name=metadata["name"],
            replicas=1 if spec.get("replicas") is None else spec["replicas"],
            flags=flags,
            labels=labels,
            annotations=metadata.get("annotations") or {},
            account=pod.get("serviceAccountName") or pod.get("serviceAccount") or "default",
            config_map=_config_map(pod, containers[0], path),
            config_key=path.rpartition("/")[2],
        )


class Installation(msgspec.Struct, frozen=True):
    """What was read: objects by kind (Jobs and CronJobs are Volcano's), and what could not be read."""

    objects: Mapping[str, tuple[Raw, ...]]
    unread: tuple[Unread, ...] = ()

    def of_kind(self, kind: str) -> tuple[Raw, ...]:
        return self.objects.get(kind, ())

    def workloads(self, part: Part | None) -> list[Workload]:
        """Deployments of a part of Volcano, or (None) ours."""
        found = (Workload.of(each) for each in self.of_kind("Deployment"))
        return [each for each in found if each is not None and each.part is part]

    def schedulers(self) -> list[Workload]:
        return self.workloads(Part.SCHEDULER)

    def scheduler(self) -> Workload | None:
        """The one whose place is to be taken: that of the name `volcano`, else the first."""
        return min(self.schedulers(), key=lambda each: each.scheduler_name != DEFAULT_SCHEDULER_NAME, default=None)

    def configuration(self) -> tuple[str, str | None]:
        """The ConfigMap with the scheduler's configuration, as namespace/name, and the text; None when it has none."""
        scheduler = self.scheduler()
        namespace, name, key = SYSTEM_NAMESPACE, CONFIG_MAP, ""
        if scheduler is not None and scheduler.config_map:
            namespace, name, key = scheduler.namespace, scheduler.config_map, scheduler.config_key
        for each in self.of_kind("ConfigMap"):
            if (each["metadata"].get("namespace"), each["metadata"]["name"]) == (namespace, name):
                data = each.get("data") or {}
                return f"{namespace}/{name}", data.get(key) or next(
                    (text for file, text in sorted(data.items()) if file.endswith(".conf")), None
                )
        return f"{namespace}/{name}", None


def _part(labels: Mapping[str, str], images: Iterable[str]) -> Part | None:
    """By the image, as labels may be another installer's; by the label for an image of another name."""
    for image in images:
        name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
        if name in _IMAGES:
            return _IMAGES[name]
    return next((part for part in Part if labels.get("app") == part), None)


def _flags(words: Iterable[str]) -> dict[str, str]:
    """`--name=value`, `--name value` and `--name`."""
    found: dict[str, str] = {}
    last = ""
    for word in words:
        if word.startswith("-"):
            name, has_value, value = word.lstrip("-").partition("=")
            found[name] = value if has_value else "true"
            last = "" if has_value else name
        elif last:
            found[last], last = word, ""
    return found


def _config_map(pod: Raw, container: Raw, path: str) -> str:
    """The ConfigMap of the volume that is mounted where the configuration is read."""
    volumes = {each["name"]: (each.get("configMap") or {}).get("name", "") for each in pod.get("volumes") or ()}
    for mount in container.get("volumeMounts") or ():
        if path.startswith(mount.get("mountPath", "/?")):
            return str(volumes.get(mount["name"], ""))
    return ""
