"""Manifests named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from volcano_py.api.effects import JsonObject
from volcano_py.cli.options.names import LABEL
from volcano_py.cluster.manifests import MOST_CHARACTERS, Document, ManifestError, bounded, read_paths, read_text


class CannotMakeError(ValueError):
    """The options or the manifest make no object; the text says why, and what to do."""


def read_documents(filenames: Sequence[Path]) -> list[Document]:
    """All documents of files and folders, `-` being standard input; ends the verb when one cannot be read."""
    documents: list[Document] = []
    try:
        for filename in filenames:
            if str(filename) == "-":
                documents.extend(read_text(_standard_input(), "standard input"))
            else:
                documents.extend(read_paths([filename]))
    except ManifestError as error:
        raise click.ClickException(_of_capture(filenames) or str(error)) from error
    return documents


def _of_capture(filenames: Sequence[Path]) -> str:
    """What to do with a capture among these files; "" where there is none."""
    from volcano_py.capture.file import is_capture

    found = next(filter(is_capture, filenames), None)
    how = f"a capture, not a manifest; simulate, explain and what-if read it with --from {found}"
    return "" if found is None else f"{found}: {how}"


def _standard_input() -> str:
    try:
        return bounded(sys.stdin.buffer.read(MOST_CHARACTERS + 1).decode("utf-8"), "standard input")
    except UnicodeDecodeError as error:
        raise ManifestError("standard input: not text in UTF-8") from error


def objects_of(
    documents: Sequence[Document], kind: str, api_version: str, asked: str | None, namespace: str
) -> list[JsonObject]:
    """The objects of manifests, all of this kind; those that name no namespace get `namespace`.

    `asked`: what --namespace says, which a manifest must not contradict.

    Raises:
        CannotMakeError: there is none, or a document is something else or contradicts --namespace.
    """
    if not documents:
        raise CannotMakeError(f"there is no {kind} in what --filename names")
    return [_object_of(document, kind, api_version, asked, namespace) for document in documents]


def _object_of(document: Document, kind: str, api_version: str, asked: str | None, namespace: str) -> JsonObject:
    _check_kind(document, kind, api_version)
    metadata = document.body.get("metadata")
    if not isinstance(metadata, dict) or not (metadata.get("name") or metadata.get("generateName")):
        raise CannotMakeError(f"{document.where}: metadata.name is missing: give the {kind} a name")
    own = metadata.get("namespace")
    if own:
        _check_namespace(document, own, asked)
    return {**document.body, "metadata": {**metadata, "namespace": own or namespace}}


def _check_kind(document: Document, kind: str, api_version: str) -> None:
    version, own_kind = document.body.get("apiVersion"), document.body.get("kind")
    is_of_group = str(version).partition("/")[0] == api_version.partition("/")[0]
    if not is_of_group or own_kind != kind:
        what = "kind is" if is_of_group else f"apiVersion is {version or 'missing'} with kind"
        wanted = kind if is_of_group else f"{api_version} with kind {kind}"
        raise CannotMakeError(
            f"{document.where}: {what} {own_kind or 'missing'}, not {wanted}; use `kubectl apply` for anything but"
            f" Volcano's {kind}s"
        )


def _check_namespace(document: Document, own: Any, asked: str | None) -> None:
    if not LABEL.allows(own):
        raise CannotMakeError(
            f"{document.where}: metadata.namespace is {own!r}, which is not a valid namespace name: use "
            "lower-case letters, digits and '-'"
        )
    if asked and own != asked:
        raise CannotMakeError(
            f"{document.where}: metadata.namespace is {own}, --namespace says {asked}: leave out one of them"
        )
