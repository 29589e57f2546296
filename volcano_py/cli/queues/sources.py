"""Where the queues come from: manifests, which are simulated, or a live cluster, which is listed once."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path

import click

from volcano_py.api.effects import Effect
from volcano_py.api.objects import ApiObject
from volcano_py.capture.model import Capture
from volcano_py.capture.start import rules_of
from volcano_py.cli.options.captured import captured_configuration
from volcano_py.cli.options.cluster_configuration import (
    built_in,
    configuration_of_cluster,
    configuration_or_built_in,
    source_name,
)
from volcano_py.cli.options.configuration import load_configuration
from volcano_py.cli.options.manifests import read_documents
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.unreadable import Identity
from volcano_py.cluster.kubernetes.watching.kinds import NODE, POD, POD_GROUP, QUEUE, Kind
from volcano_py.cluster.manifests import ManifestError, Stored, stored
from volcano_py.config import SchedulerConfiguration
from volcano_py.framework.registry import Registry
from volcano_py.operator.podgroups.generated_group import GroupRules
from volcano_py.scheduler import Scheduler, builtin_registry
from volcano_py.simulation import Simulation
from volcano_py.standing import Standing, standings
from volcano_py.state.cluster_state import ClusterState


def of_manifests(filenames: Sequence[Path], conf: Path | None, rules: GroupRules) -> list[Standing]:
    """The queues after the scheduler has placed what it can."""
    registry = builtin_registry().with_installed()
    configuration = load_configuration(conf, registry)
    try:
        items = stored(read_documents(filenames))
    except ManifestError as error:
        raise click.ClickException(str(error)) from error
    # Logs of other parts would get between the lines of the output.
    with redirect_stdout(sys.stderr):
        result = Simulation(items, configuration, registry, rules=rules).run()
    report = result.reports[-1]
    return standings(report.queues, configuration, report.missing_queues)


async def of_cluster(
    kubeconfig: Path | None, context: str | None, conf: Path | None, namespace: str, rules: GroupRules
) -> list[Standing]:
    """The queues now: the scheduler's own sums over what the API server lists. Nothing is written."""
    registry = builtin_registry().with_installed()
    async with await KubernetesClient.connect(kubeconfig, context) as client:
        if conf is not None:
            configuration = load_configuration(conf, registry)
        else:
            configuration = await _configuration_of(client, namespace, registry)
        items: list[Stored] = []
        for kind in (NODE, QUEUE, POD_GROUP, POD):
            items.extend((kind.name, obj) for obj in await readable(client, kind))
    return _standing_now(items, configuration, registry, rules, time.time())


def of_capture(capture: Capture, conf: Path | None) -> list[Standing]:
    """The queues at the moment of the capture."""
    registry = builtin_registry().with_installed()
    configuration = captured_configuration(capture, conf, registry)
    return _standing_now(capture.items, configuration, registry, rules_of(capture), capture.taken)


def _standing_now(
    items: Iterable[Stored], configuration: SchedulerConfiguration, registry: Registry, rules: GroupRules, now: float
) -> list[Standing]:
    """Nothing is decided; `now` is in seconds since the epoch."""
    state = ClusterState(scheduler_names=rules.scheduler_names, default_queue=rules.default_queue)
    with redirect_stdout(sys.stderr):
        for kind, obj in items:
            state.upsert(kind, obj)
        report = Scheduler(registry, _carry_out_nothing).run_cycle(state.snapshot(now), configuration, decide=False)
    return standings(report.queues, configuration, report.missing_queues)


async def readable(client: KubernetesClient, kind: Kind) -> list[ApiObject]:
    """All objects of the kind. Those that cannot be read are reported and left out, as the scheduler does it."""

    def report(identity: Identity, error: Exception) -> None:
        click.echo(f"{kind.name} {identity.key} cannot be read and is left out: {error}", err=True)

    return await client.list(kind.path, kind.type, on_unreadable=report)


async def _configuration_of(client: KubernetesClient, namespace: str, registry: Registry) -> SchedulerConfiguration:
    """That of the scheduler's ConfigMap; the built-in one, with a warning, when it cannot be read or is invalid."""
    text, why = await configuration_of_cluster(client, namespace)
    if text is None:
        return built_in(f"{why}\nThe built-in configuration is used instead.", registry)
    return configuration_or_built_in(text, source_name(namespace), registry)


def _carry_out_nothing(effects: Sequence[Effect]) -> None:
    """Looking changes nothing."""
