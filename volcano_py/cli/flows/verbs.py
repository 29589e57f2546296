"""The verbs that JobFlows, JobTemplates and CronJobs share: create, list, get, describe, delete."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec
from rich.console import Console

from volcano_py.api.effects import JsonObject
from volcano_py.cli.api_objects import ObjectKind, UnfitObjectError, on_objects
from volcano_py.cli.jobs.viewing import print_events
from volcano_py.cli.options.cluster_access import (
    cluster_options,
    namespace_of,
    namespace_option,
)
from volcano_py.cli.options.listing import Listed, list_options
from volcano_py.cli.options.live_names import names_of
from volcano_py.cli.options.manifests import CannotMakeError, objects_of, read_documents
from volcano_py.cli.options.names import SUBDOMAIN
from volcano_py.cli.options.object_names import Decorator, name_option
from volcano_py.cli.printing.changes import listed
from volcano_py.cli.printing.listing import Cells, Listing
from volcano_py.cli.printing.output import console, output_option, print_data
from volcano_py.cli.printing.show import Shown
from volcano_py.cluster.kubernetes.http.client import KubernetesClient


@dataclass(frozen=True, slots=True, kw_only=True)
class KindView:
    """A kind, and how its objects are printed. `describe` prints one, as of a moment in seconds since the epoch.

    Attributes:
        header: of the table; `row` are the cells of an object at a moment.
        state_column: the cell that becomes `Deleted` in the last row of an object that is watched.
        numbers: the columns that are aligned to the right.
        flows: whether the last column is a sentence.
    """

    kind: ObjectKind
    header: Sequence[str]
    row: Callable[[JsonObject, float], Cells]
    state_column: int
    numbers: Sequence[str]
    describe: Callable[[Console, JsonObject, float], None]
    flows: bool = False

    def shown(self, namespace: str) -> Shown:
        """Those of a namespace ("": of all)."""
        return Shown(
            api_version=self.kind.api_version,
            kind=self.kind.kind,
            path=self.kind.path(namespace),
            header=self.header,
            row=self.row,
            state_column=self.state_column,
            numbers=self.numbers,
            flows=self.flows,
        )


def add_verbs(group: click.Group, view: KindView) -> None:
    """Give the group its verbs."""
    for verb in (_create, _list, _get, _describe, _delete):
        group.add_command(verb(view))


def name_of_kind(what: ObjectKind, *, required: bool = False, otherwise: str = "") -> Decorator:
    """The verb's argument `name`."""
    text, names = f"Name of the {what.kind}.{otherwise}", names_of(what.api_version, what.kind)
    return name_option("-N", SUBDOMAIN, names, required=required, text=text, noun=what.kind)


def _files(*, required: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        "--filename",
        "--file",
        "-f",
        "filenames",
        multiple=True,
        required=required,
        type=click.Path(path_type=Path, allow_dash=True),
        help="Manifest file or folder (repeatable); - reads standard input.",
    )


def _create(view: KindView) -> click.Command:
    @click.command("create", help=f"Create the {view.kind.kind}s of a manifest.")
    @_files(required=True)
    @namespace_option
    @cluster_options
    @output_option()
    def create(
        filenames: tuple[Path, ...], namespace: str | None, kubeconfig: Path | None, context: str | None, output: str
    ) -> None:
        documents = read_documents(filenames)

        async def work(client: KubernetesClient) -> list[JsonObject]:
            where = namespace_of(client, namespace)
            made = []
            for each in objects_of(documents, view.kind.kind, view.kind.api_version, namespace, where):
                made.append(await view.kind.create(client, each))
                if output == "table":
                    click.echo(f"{_named(view.kind, made[-1])} created")
            return made

        made = on_objects(kubeconfig, context, work)
        if output != "table":
            print_data(_one_or_list(made), output)

    return create


def _list(view: KindView) -> click.Command:
    @click.command("list", help=f"List {view.kind.kind}s.")
    @list_options
    def list_(listed: Listed) -> None:
        listed.show(lambda _, namespace: view.shown(namespace))

    return list_


def _get(view: KindView) -> click.Command:
    @click.command("get", help=f"Show one {view.kind.kind}, as in the list.")
    @name_of_kind(view.kind, required=True)
    @namespace_option
    @cluster_options
    @output_option()
    def get(name: str, namespace: str | None, kubeconfig: Path | None, context: str | None, output: str) -> None:
        async def work(client: KubernetesClient) -> JsonObject:
            return await view.kind.read(client, namespace_of(client, namespace), name)

        found = on_objects(kubeconfig, context, work)
        if output == "table":
            Listing(console(), view.header, view.numbers).print([view.row(found, time.time())])
        else:
            print_data(found, output)

    return get


def _describe(view: KindView) -> click.Command:
    @click.command("describe", help=f"Show all details of a {view.kind.kind}, or of each.")
    @name_of_kind(view.kind, otherwise=" [default: all of the namespace]")
    @namespace_option
    @cluster_options
    @output_option()
    def describe(
        name: str | None, namespace: str | None, kubeconfig: Path | None, context: str | None, output: str
    ) -> None:
        async def work(client: KubernetesClient) -> list[JsonObject]:
            where = namespace_of(client, namespace)
            if name is not None:
                found = [await view.kind.read(client, where, name)]
            else:
                found = sorted(
                    await listed(client, view.kind.path(where)), key=lambda each: str(each["metadata"]["name"])
                )
            if output == "table":
                await _print(client, view, found)
            return found

        found = on_objects(kubeconfig, context, work)
        if output != "table":
            print_data(found[0] if name is not None else _one_or_list(found, always_list=True), output)

    return describe


async def _print(client: KubernetesClient, view: KindView, found: Sequence[JsonObject]) -> None:
    if not found:
        click.echo(f"There is no {view.kind.kind} to show.", err=True)
    for number, each in enumerate(found):
        events = await view.kind.events_of(client, each)
        if number:
            click.echo("\n")
        out, now = console(), time.time()
        try:
            view.describe(out, each, now)
        except msgspec.ValidationError as error:
            raise UnfitObjectError(
                f"{_named(view.kind, each)} cannot be read: {error}; --output yaml shows it as it is"
            ) from error
        print_events(out, events, now)


def _delete(view: KindView) -> click.Command:
    @click.command("delete", help=f"Delete a {view.kind.kind}, or those of a manifest.")
    @name_of_kind(view.kind)
    @_files(required=False)
    @namespace_option
    @cluster_options
    def delete(
        name: str | None,
        filenames: tuple[Path, ...],
        namespace: str | None,
        kubeconfig: Path | None,
        context: str | None,
    ) -> None:
        if (name is None) == (not filenames):
            raise click.UsageError(f"name the {view.kind.kind}, or its manifest with --filename, but not both")
        documents = read_documents(filenames)

        async def work(client: KubernetesClient) -> None:
            where = namespace_of(client, namespace)
            targets = [(where, name)] if name is not None else []
            if documents:
                targets = _targets(objects_of(documents, view.kind.kind, view.kind.api_version, namespace, where))
            missing = []
            for target in targets:
                try:
                    await view.kind.delete(client, *target)
                    click.echo(f"{view.kind.verb} {'/'.join(target)} deleted")
                except UnfitObjectError as error:
                    missing.append(str(error))  # the others go all the same
            if missing:
                raise UnfitObjectError("\n".join(missing))

        on_objects(kubeconfig, context, work)

    return delete


def _targets(objects: Sequence[JsonObject]) -> list[tuple[str, str]]:
    for each in objects:
        name = each["metadata"].get("name")
        if not SUBDOMAIN.allows(name):
            raise CannotMakeError(f"metadata.name is {name!r}: only objects with a name can be deleted")
    return [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in objects]


def _named(kind: ObjectKind, found: JsonObject) -> str:
    return f"{kind.verb} {found['metadata']['namespace']}/{found['metadata']['name']}"


def _one_or_list(found: Sequence[JsonObject], *, always_list: bool = False) -> JsonObject:
    if len(found) == 1 and not always_list:
        return found[0]
    return {"apiVersion": "v1", "kind": "List", "items": list(found)}
