"""`--from FILE` and `--from-cluster`: the cluster that a verb looks at without changing it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec

from volcano_py.api.names import DEFAULT_QUEUE, DEFAULT_SCHEDULER_NAME
from volcano_py.cli.options.cluster_access import cluster_options, namespace_of, on_cluster
from volcano_py.cli.options.cluster_configuration import config_namespace_option, configuration_or_built_in
from volcano_py.cli.options.sharding import sharding_of, sharding_options
from volcano_py.cli.printing.one_line import plain

if TYPE_CHECKING:
    from volcano_py.api.shards.sharding import Sharding
    from volcano_py.capture.model import Capture
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.config import SchedulerConfiguration
    from volcano_py.framework.registry import Registry
    from volcano_py.operator.podgroups.generated_group import GroupRules

_LIVE: Final = ("kubeconfig", "context", "config_namespace")


class Source(msgspec.Struct, frozen=True):
    """Where a capture comes from: files, or the live cluster. What the options leave open is None."""

    files: tuple[Path, ...]
    from_cluster: bool
    kubeconfig: Path | None
    context: str | None
    config_namespace: str
    scheduler_names: tuple[str, ...]
    default_queue: str | None
    sharding: Sharding | None = None

    @property
    def is_given(self) -> bool:
        """Whether the command line names a file or the cluster."""
        return bool(self.files) or self.from_cluster or self.names_cluster

    @property
    def names_cluster(self) -> bool:
        """Whether it says which cluster."""
        return self.kubeconfig is not None or self.context is not None

    def rules(self) -> GroupRules:
        """Scheduler names and default queue of the command line, for what is no capture."""
        from volcano_py.operator.podgroups.generated_group import GroupRules

        return GroupRules(
            scheduler_names=frozenset(self.scheduler_names or (DEFAULT_SCHEDULER_NAME,)),
            default_queue=self.default_queue or DEFAULT_QUEUE,
            sharding=self.sharding,
        )

    def capture(self, *, with_events: bool = False, namespace: str | None = None, says_unread: bool = True) -> Capture:
        """The capture: of the files, else of the cluster, then with its events if asked. What could not be read is
        reported on standard error, unless the answer does it (not `says_unread`). What may not be read in all
        namespaces is read in `namespace`, by default that of the kubeconfig's context.

        Raises:
            click.ClickException: a file cannot be read, or there is no cluster, or it refuses.
            click.UsageError: both are named.
        """
        found = self._of_files() if self.files else self._of_cluster(namespace, with_events=with_events)
        if says_unread:
            say_unread(found)
        return found

    def _of_files(self) -> Capture:
        from volcano_py.capture.file import is_capture, read
        from volcano_py.capture.manifests import of_manifests
        from volcano_py.capture.model import CaptureError
        from volcano_py.cli.options.manifests import read_documents

        if self.from_cluster or self.names_cluster:
            raise click.UsageError("--from names files, the other options a live cluster: use only one of them")
        captures = [file for file in self.files if is_capture(file)]
        if captures and len(self.files) > 1:
            raise click.UsageError(f"{captures[0]} is a capture of a whole cluster: name no other file with --from")
        try:
            found = read(captures[0]) if captures else of_manifests(read_documents(self.files))
        except CaptureError as error:
            raise click.ClickException(str(error)) from error
        changes: dict[str, Any] = {}
        if self.scheduler_names:
            changes["scheduler_names"] = frozenset(self.scheduler_names)
        if self.default_queue is not None:
            changes["default_queue"] = self.default_queue
        if self.sharding is not None:
            changes["sharding"] = self.sharding
        return msgspec.structs.replace(found, **changes)

    def _of_cluster(self, namespace: str | None, *, with_events: bool) -> Capture:
        from volcano_py.capture.live import of_cluster

        async def work(client: KubernetesClient) -> Capture:
            return await of_cluster(
                client,
                scheduler_names=self.scheduler_names or (DEFAULT_SCHEDULER_NAME,),
                default_queue=self.default_queue or DEFAULT_QUEUE,
                sharding=self.sharding,
                config_namespace=self.config_namespace,
                namespace=namespace_of(client, namespace),
                with_events=with_events,
            )

        return on_cluster(self.kubeconfig, self.context, work)


def say_unread(capture: Capture) -> None:
    """Report on standard error what could not be read."""
    for each in capture.unread:
        click.echo(plain(str(each)), err=True)


def captured_configuration(capture: Capture, conf: Path | None, registry: Registry) -> SchedulerConfiguration:
    """That of the file `conf`, which must be valid; else the capture's, or the built-in one where that is invalid.

    Raises:
        click.ClickException: the file is invalid.
    """
    from volcano_py.cli.options.configuration import load_configuration

    if conf is not None:
        return load_configuration(conf, registry)
    return configuration_or_built_in(capture.configuration, capture.source, registry)


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--from FILE | --from-cluster` and the options of the cluster, as one argument `source` (`Source`)."""

    @wraps(command)
    def with_source(
        *arguments: Any,
        from_files: tuple[Path, ...],
        from_cluster: bool,
        scheduler_names: tuple[str, ...],
        **named: Any,
    ) -> Any:
        source = Source(
            files=from_files,
            from_cluster=from_cluster,
            scheduler_names=scheduler_names,
            default_queue=named.pop("default_queue"),
            sharding=sharding_of(named.pop("sharding_mode"), named.pop("sharding_name")),
            **{name: named.pop(name) for name in _LIVE},
        )
        return command(*arguments, source=source, **named)

    options = (
        click.option(
            "--from",
            "from_files",
            multiple=True,
            type=click.Path(path_type=Path, allow_dash=True),
            metavar="FILE",
            help="A file that `volcano-py capture` has written; or manifests, files or folders (repeatable).",
        ),
        click.option("--from-cluster", is_flag=True, help="The live cluster, read with your own rights."),
        cluster_options,
        config_namespace_option,
        scheduler_options,
        sharding_options,
    )
    decorated: Callable[..., Any] = with_source
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


def scheduler_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--scheduler-name` and `--default-queue`; () and None where they are not given."""
    names = click.option(
        "--scheduler-name",
        "scheduler_names",
        multiple=True,
        help="schedulerName of the pods to schedule (repeatable). [default: that of the capture, or else volcano]",
    )
    queue = click.option(
        "--default-queue",
        help="Queue for work that names none, or names `default`. [default: that of the capture, or else default]",
    )
    return names(queue(command))
