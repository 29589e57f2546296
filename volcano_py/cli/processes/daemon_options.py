"""The daemon's options, read from the flags of `volcano-py run`."""

from __future__ import annotations

import logging
from typing import Any, Final

import click

from volcano_py.cli.options.sharding import sharding_of
from volcano_py.cli.processes.admission_flags import admission_options
from volcano_py.daemon.options import CONTROLLERS, DaemonOptions, LeaderElectionOptions

VOLCANOS_CONTROLLERS: Final = {
    "queue-controller": "queue",
    "pg-controller": "podgroup",
    "job-controller": "job",
    "cronjob-controller": "cronjob",
    "jobflow-controller": "jobflow",
    "hyperNode-controller": "hypernode",
}
"""Names in Volcano's controller-manager → ours."""


def options_of(flags: dict[str, Any]) -> DaemonOptions:
    """The options that these flags stand for.

    Raises:
        click.BadParameter: a flag has no meaning, or they contradict each other.
    """
    options = _read(flags)
    if not (options.scheduling or options.controllers or options.admission.enabled):
        raise click.BadParameter(
            "nothing to run: scheduling, controllers and admission are all off. Leave one of them on.",
            param_hint="--scheduling",
        )
    return options


def _read(flags: dict[str, Any]) -> DaemonOptions:
    from volcano_py.observe.logs import log_level

    return DaemonOptions(
        kubeconfig=flags["kubeconfig"],
        context=flags["context"],
        scheduling=flags["scheduling"],
        scheduler_names=flags["scheduler_names"] or ("volcano",),
        scheduler_conf=flags["scheduler_conf"],
        config_namespace=flags["config_namespace"],
        config_map=flags["config_map"],
        strict=flags["strict"] or flags["disable_default_scheduler_config"],
        use_default_on_invalid=flags["use_default_on_invalid"],
        schedule_period=flags["schedule_period"],
        resync_period=flags["resync_period"],
        default_queue=flags["default_queue"],
        node_selector=tuple(_label(text) for text in flags["node_selectors"]),
        sharding=sharding_of(flags["sharding_mode"], flags["sharding_name"]),
        listen_addresses=_listen_addresses(flags),
        qps=flags["kube_api_qps"],
        burst=flags["kube_api_burst"],
        binds_in_flight=flags["binds_in_flight"],
        controllers=_controllers(flags["controllers"]),
        inherit_owner_annotations=flags["inherit_owner_annotations"],
        per_job_metrics=flags["per_job_metrics"],
        record=flags["record"],
        record_size=_bytes(flags["record_size"]),
        record_age=_positive(flags["record_age"], "--record-age"),
        other_scheduler_silence=flags["other_scheduler_silence"],
        seed=flags["seed"],
        log_level=logging.getLevelName(log_level(flags["log_level"], flags["verbosity"])).lower(),
        log_format=flags["log_format"],
        admission=admission_options(flags),
        election=_election(flags),
    )


def _bytes(text: str) -> int:
    from volcano_py.api.quantity import QuantityError, parse_quantity

    try:
        found = int(parse_quantity(text))
    except QuantityError as error:
        raise click.BadParameter(str(error), param_hint="--record-size") from error
    return int(_positive(found, "--record-size"))


def _positive(value: float, flag: str) -> float:
    if value <= 0:
        raise click.BadParameter("must be more than 0", param_hint=flag)
    return value


def _listen_addresses(flags: dict[str, Any]) -> tuple[str, ...]:
    from volcano_py.observe.listen import ListenAddress

    given = [("--listen-address", address) for address in flags["listen_addresses"] or (":8080",)]
    if flags["healthz_address"]:
        given.append(("--healthz-address", flags["healthz_address"]))
    for flag, address in given:
        try:
            ListenAddress.parse(address)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint=flag) from error
    return tuple(dict.fromkeys(address for _, address in given))


def _election(flags: dict[str, Any]) -> LeaderElectionOptions:
    from volcano_py.cluster.kubernetes.lease import RETRY_JITTER

    election = LeaderElectionOptions(
        enabled=flags["leader_elect"],
        namespace=flags["leader_elect_resource_namespace"],
        name=flags["leader_elect_resource_name"],
        lease_duration=flags["leader_elect_lease_duration"],
        renew_deadline=flags["leader_elect_renew_deadline"],
        retry_period=flags["leader_elect_retry_period"],
    )
    lease, renewal, retry = election.lease_duration, election.renew_deadline, election.retry_period
    if election.enabled and retry < 1:
        raise click.BadParameter(f"{retry:g} s is below 1 s", param_hint="--leader-elect-retry-period")
    if election.enabled and renewal <= RETRY_JITTER * retry:
        raise click.BadParameter(
            f"{retry:g} s, and a fifth more at times, is not below the {renewal:g} s of --leader-elect-renew-deadline",
            param_hint="--leader-elect-retry-period",
        )
    if election.enabled and lease <= renewal:
        raise click.BadParameter(
            f"{renewal:g} s is not below the {lease:g} s of --leader-elect-lease-duration",
            param_hint="--leader-elect-renew-deadline",
        )
    return election


def _controllers(text: str) -> frozenset[str]:
    """`queue,podgroup` names those that run; `-queue` alone means all but that one; `none` means none."""
    names = [_our_name(name.strip()) for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name.removeprefix("-") not in {*CONTROLLERS, "none", "all", "*"}]
    if unknown:
        raise click.BadParameter(f"unknown controller {unknown[0]!r}; there are {', '.join(CONTROLLERS)}")
    without = {name.removeprefix("-") for name in names if name.startswith("-")}
    wanted = {name for name in names if not name.startswith("-")}
    if "none" in wanted:
        return frozenset()
    if not wanted or wanted & {"all", "*"}:
        wanted = set(CONTROLLERS)
    return frozenset(wanted - without)


def _our_name(name: str) -> str:
    """What a controller is called here that may have been given by its name in Volcano's controller-manager."""
    sign, bare = ("-", name[1:]) if name.startswith("-") else ("", name)
    bare = VOLCANOS_CONTROLLERS.get(bare, bare)
    return sign + bare


def _label(text: str) -> tuple[str, str]:
    """`key:value`, as Volcano reads it, or `key=value`, as kubectl writes it."""
    key, found, value = text.partition(":") if ":" in text else text.partition("=")
    if not found or not key.strip():
        raise click.BadParameter(f"{text!r} is not a label; write KEY:VALUE", param_hint="--node-selector")
    return key.strip(), value.strip()
