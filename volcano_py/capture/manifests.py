"""A capture of a cluster that is written down as manifests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from volcano_py.api import names
from volcano_py.api.objects import metadata_of
from volcano_py.capture.contents import stripped
from volcano_py.capture.model import BUILT_IN, Capture, CaptureError
from volcano_py.cluster.manifests import EPOCH, Document, ManifestError, stored
from volcano_py.config import default_configuration_text
from volcano_py.config.config_key import config_key, no_config_key


def of_manifests(documents: Iterable[Document]) -> Capture:
    """The cluster of these objects, at the newest creation time. The scheduler's ConfigMap counts if it is among them.

    Raises:
        CaptureError: an object cannot be read.
    """
    documents = list(documents)
    try:
        items = tuple((kind, stripped(obj)) for kind, obj in stored(documents))
    except ManifestError as error:
        raise CaptureError(str(error)) from error
    maps = [document for document in documents if _is_configuration(document.body)]
    text, source = (_text(maps[-1]), maps[-1].source) if maps else (default_configuration_text(), BUILT_IN)
    moments = (metadata_of(obj).created for _, obj in items)
    return Capture(taken=max(EPOCH.timestamp(), *moments), items=items, configuration=text, source=source)


def _is_configuration(body: Mapping[str, Any]) -> bool:
    metadata = body.get("metadata")
    return body.get("kind") == "ConfigMap" and isinstance(metadata, dict) and metadata.get("name") == names.CONFIG_MAP


def _text(document: Document) -> str:
    data = document.body.get("data")
    keys = data if isinstance(data, dict) else {}
    key = config_key(keys)
    if key is None:
        raise CaptureError(f"{document.where}: {no_config_key(keys)}")
    text = keys[key]
    if not isinstance(text, str):
        raise CaptureError(f"{document.where}: data.{key} is not text")
    return text
