"""Prints the objects of one kind: once, or until interrupted; as rows, or as the objects themselves."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import click
import msgspec
import orjson
import yaml
from rich.text import Text

from volcano_py.api.effects import JsonObject
from volcano_py.api.json_values import without_nulls
from volcano_py.cli.printing.listing import Cells, Listing, phase_text
from volcano_py.cli.printing.one_line import plain
from volcano_py.cli.printing.output import console, print_data
from volcano_py.cluster.kubernetes.http.paths import ApiPath

if TYPE_CHECKING:
    from volcano_py.cli.printing.changes import Change
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient

_NAMESPACE: Final = "NAMESPACE"

watch_option: Final = click.option("--watch", "-w", is_flag=True, help="Keep showing changes until Ctrl-C.")


async def _nothing(_: Sequence[JsonObject]) -> None:
    """For rows that need only the objects."""


def _every(_: JsonObject) -> bool:
    return True


def _name(obj: JsonObject) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One kind of objects, and how they are printed.

    Attributes:
        path: of the list.
        noun: what one of them is called where that is not its kind.
        row: the cells of an object at a moment (seconds since the epoch). It may raise msgspec.ValidationError: what
            cannot be read is a row of its name.
        state_column: the cell that becomes `Deleted` in the last row of an object, and `Unreadable` in such a row.
        numbers: the columns that are aligned to the right.
        spare: those that are left out on a narrow terminal, the first one first. NAMESPACE is the very first of one
            namespace, where it is the same in all rows, and stays of several.
        flows: whether the last one is a sentence, which goes on below itself.
        keep: which objects of the list are shown.
        order: the key by which objects are sorted.
        prepare: called with objects before `keep` and `row` are.
    """

    api_version: str
    kind: str
    path: ApiPath
    header: Sequence[str]
    row: Callable[[JsonObject, float], Cells]
    state_column: int
    noun: str = ""
    numbers: Sequence[str] = ()
    spare: Sequence[str] = ()
    flows: bool = False
    params: Mapping[str, str | int] = field(default_factory=dict)
    keep: Callable[[JsonObject], bool] = _every
    order: Callable[[JsonObject], Any] = _name
    prepare: Callable[[Sequence[JsonObject]], Awaitable[None]] = _nothing

    def spared(self) -> Sequence[str]:
        """What is left out of this list on a narrow terminal, the first one first."""
        others = [name for name in self.spare if name != _NAMESPACE]
        return [_NAMESPACE, *others] if self.path.namespace and _NAMESPACE in self.spare else others


async def show(client: KubernetesClient, shown: Shown, output: str, *, watch: bool) -> None:
    """Print what there is; with `watch` never return, and print what changes.

    Raises:
        RequestError: the server refuses, or cannot be reached.
    """
    from volcano_py.cli.printing.changes import Change, changes, listed

    if watch:
        printer = _Rows(shown) if output == "table" else _Documents(shown, output)
        async with aclosing(changes(client, shown.path, shown.params)) as news:
            async for batch in news:
                await shown.prepare([change.object for change in batch if not change.deleted])
                printer.print(batch)
        return
    found = await listed(client, shown.path, shown.params)
    await shown.prepare(found)
    if output == "table":
        _Rows(shown).print([Change(obj) for obj in found])
    else:
        items = [_whole(shown, obj) for obj in sorted(found, key=shown.order) if shown.keep(obj)]
        print_data({"apiVersion": "v1", "kind": "List", "items": items}, output)


class _Rows:
    """A line for each object, and another one when what it says has changed; a greater age alone is no change."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._listing = Listing(console(), shown.header, shown.numbers, spare=shown.spared(), flows=shown.flows)
        self._said: dict[tuple[str, str], Cells] = {}
        self._begun = False

    def print(self, batch: Sequence[Change]) -> None:
        now = time.time()
        in_order = sorted(batch, key=lambda change: self._shown.order(change.object))
        rows = [row for change in in_order for row in self._of(change, now)]
        if not rows and not self._begun:
            click.echo(f"There is no {self._shown.noun or self._shown.kind} to show.", err=True)
        if rows:
            self._listing.print(rows)
        self._begun = True

    def _of(self, change: Change, now: float) -> Sequence[Cells]:
        obj, name = change.object, _name(change.object)
        if change.deleted or not self._shown.keep(obj):
            if self._said.pop(name, None) is None:
                return []
            last = list(self._row(obj, now))
            last[self._shown.state_column] = phase_text("Deleted")
            return [last]
        said = self._row(obj, 0.0)
        if self._said.get(name) == said:
            return []
        self._said[name] = said
        return [self._row(obj, now)]

    def _row(self, obj: JsonObject, now: float) -> Cells:
        """One odd object must not spoil the list of all others."""
        try:
            return self._shown.row(without_nulls(obj), now)
        except msgspec.ValidationError:
            metadata = obj["metadata"]
            named = {"NAMESPACE": plain(metadata.get("namespace", "")), "NAME": plain(metadata["name"])}
            cells: list[str | Text] = [named.get(heading, "-") for heading in self._shown.header]
            cells[self._shown.state_column] = phase_text("Unreadable")
            return cells


class _Documents:
    """A document for each change, as `kubectl get --output-watch-events` prints them; JSON is one line each."""

    def __init__(self, shown: Shown, output: str) -> None:
        self._shown, self._output = shown, output
        self._seen: set[tuple[str, str]] = set()

    def print(self, batch: Sequence[Change]) -> None:
        for change in sorted(batch, key=lambda change: self._shown.order(change.object)):
            if self._shown.keep(change.object):
                self._print(self._kind(change), _whole(self._shown, change.object))

    def _kind(self, change: Change) -> str:
        name = _name(change.object)
        if change.deleted:
            self._seen.discard(name)
            return "DELETED"
        if name in self._seen:
            return "MODIFIED"
        self._seen.add(name)
        return "ADDED"

    def _print(self, kind: str, obj: JsonObject) -> None:
        document = {"type": kind, "object": obj}
        if self._output == "json":
            click.echo(orjson.dumps(document))
        else:
            click.echo("---\n" + yaml.safe_dump(document, sort_keys=False, allow_unicode=True), nl=False)


def _whole(shown: Shown, obj: JsonObject) -> JsonObject:
    """Items of a list need not say what they are."""
    return {"apiVersion": shown.api_version, "kind": shown.kind, **obj}
