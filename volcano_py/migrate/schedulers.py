"""The schedulers that run: whether a Lease keeps the two apart, and which of their flags would be lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

import msgspec

from volcano_py.api.names import CONFIG_MAP, DEFAULT_SCHEDULER_NAME, SYSTEM_NAMESPACE
from volcano_py.migrate.model import Finding, Installation, Level, Part, Raw, Workload

TAKE_OVER: Final = "docs/guide/volcano.md#in-its-place"
_FLAGS: Final = "docs/reference/cli.md#volcano-py-run"
_ACCOUNT: Final = "volcano-scheduler"

# Flags that the overlay sets itself, that only concern where things are, or how much is logged.
_OF_THE_OVERLAY: Final = frozenset(
    {"scheduler-conf", "leader-elect", "leader-elect-resource-namespace", "listen-address", "healthz-address", "v"}
    | {"kubeconfig", "master", "logtostderr"}
)


class Flags(msgspec.Struct, frozen=True):
    """The flags of `volcano-py run`: name → default, None for none; and those that are accepted without effect."""

    defaults: Mapping[str, str | None]
    without_effect: frozenset[str]


def of_schedulers(installation: Installation, flags: Flags, now: datetime) -> Iterator[Finding]:
    """What is to be known of the schedulers of Volcano that are installed."""
    schedulers = installation.schedulers()
    if not schedulers:
        yield Finding(
            Level.NOTE,
            "the cluster",
            "no Deployment of a Volcano scheduler was found",
            "if one runs in another way (as a static pod, for example), make sure that it has ended before "
            "volcano-py starts",
            TAKE_OVER,
        )
    for each in schedulers:
        yield from _running(each, installation, now)
    for each in schedulers:
        yield from _place(each)
        yield from _lost_flags(each, flags)
    yield from _controllers(installation)


def _running(scheduler: Workload, installation: Installation, now: datetime) -> Iterator[Finding]:
    if scheduler.replicas == 0:
        yield Finding(Level.NOTE, scheduler.about, "it has no replicas, so volcano-py may be started")
        return
    ours = [each for each in installation.workloads(None) if each.replicas]
    if _keeps_out(scheduler, installation, now):
        yield Finding(Level.NOTE, scheduler.about, "it holds a Lease, which keeps volcano-py out until it has ended")
        return
    both = f", while {ours[0].about} runs, too" if ours else ""
    yield Finding(
        Level.BLOCKS,
        scheduler.about,
        f"it runs without a Lease{both}: only volcano-py's own check for other schedulers keeps both from binding "
        "at the same time",
        f"kubectl -n {scheduler.namespace} scale deployment {scheduler.name} --replicas=0, and wait until its pods are "
        "gone, before volcano-py has replicas",
        TAKE_OVER,
    )


def _keeps_out(scheduler: Workload, installation: Installation, now: datetime) -> bool:
    """Whether it holds the Lease that volcano-py asks for. Versions differ in whether they do without being asked."""
    asked = scheduler.flags.get("leader-elect", "")
    if asked == "false":
        return False
    for lease in installation.of_kind("Lease"):
        place = lease["metadata"].get("namespace"), lease["metadata"]["name"]
        if place == (SYSTEM_NAMESPACE, scheduler.scheduler_name) and _is_held(lease, now):
            return True
    return False


def _is_held(lease: Raw, now: datetime) -> bool:
    spec = lease.get("spec") or {}
    renewed = spec.get("renewTime")
    if not spec.get("holderIdentity") or not renewed:
        return False
    age = (now - datetime.fromisoformat(renewed.replace("Z", "+00:00"))).total_seconds()
    return age <= float(spec.get("leaseDurationSeconds") or 15)


def _place(scheduler: Workload) -> Iterator[Finding]:
    """The overlay uses Volcano's ConfigMap and account under their usual names."""
    if scheduler.namespace != SYSTEM_NAMESPACE:
        yield Finding(
            Level.BLOCKS,
            scheduler.about,
            f"it is not in {SYSTEM_NAMESPACE}, where the overlay take-over-from-volcano installs volcano-py",
            f"install the chart in {scheduler.namespace}, with custom.take_over=true",
            "manifests/README.md#with-helm",
        )
    for kind, found, usual in (
        ("ConfigMap", scheduler.config_map, CONFIG_MAP),
        ("ServiceAccount", scheduler.account, _ACCOUNT),
    ):
        if found and found != usual:
            yield Finding(
                Level.BLOCKS,
                scheduler.about,
                f"its {kind} is called {found}; volcano-py uses {usual}",
                f"create a {kind} {usual} in {scheduler.namespace}"
                + (" with the same volcano-scheduler.conf" if kind == "ConfigMap" else ""),
                TAKE_OVER,
            )


def _lost_flags(scheduler: Workload, flags: Flags) -> Iterator[Finding]:
    for name, value in sorted(scheduler.flags.items()):
        if name in _OF_THE_OVERLAY or name in flags.without_effect or value == flags.defaults.get(name):
            continue
        if name == "scheduler-name" and value == DEFAULT_SCHEDULER_NAME:
            continue
        if name in flags.defaults:
            yield Finding(
                Level.DIFFERS,
                scheduler.about,
                f"it runs with --{name}={value}, which the overlay does not set",
                f"add --{name}={value} to the arguments of Deployment volcano-py",
                _FLAGS,
            )
        else:
            yield Finding(
                Level.DIFFERS,
                scheduler.about,
                f"it runs with --{name}={value}, a flag that volcano-py does not have",
                "check whether you need what it does",
                _FLAGS,
            )


def _controllers(installation: Installation) -> Iterator[Finding]:
    for each in installation.workloads(Part.CONTROLLERS):
        yield Finding(
            Level.NOTE,
            each.about,
            "Volcano's controllers may stay; the overlay leaves Jobs, CronJobs, JobFlows and HyperNodes to them",
            page="docs/guide/volcano.md#whose-controllers",
        )
