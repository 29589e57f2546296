"""Manifests named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click

from volcano_py.cluster.manifests import Document, ManifestError, read_paths, read_text


def read_documents(filenames: Iterable[Path]) -> list[Document]:
    """All documents of files and folders, `-` being standard input; ends the verb when one cannot be read."""
    documents: list[Document] = []
    try:
        for filename in filenames:
            if str(filename) == "-":
                documents.extend(read_text(sys.stdin.read(), "standard input"))
            else:
                documents.extend(read_paths([filename]))
    except ManifestError as error:
        raise click.ClickException(str(error)) from error
    return documents
