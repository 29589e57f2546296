"""CRDs without validation, as an old release or a user's own copy of them may be."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml

from e2e.harness.cluster import Cluster
from e2e.harness.objects import Object
from volcano_py.local.client import APIError
from volcano_py.local.install import apply_crds
from volcano_py.shipped import shipped

_ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def shipped_crds() -> list[dict[str, Any]]:
    """All of ours."""
    documents = (yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(shipped("crds").glob("*.yaml")))
    return [document for document in documents if document.get("kind") == "CustomResourceDefinition"]


@asynccontextmanager
async def without_validation(cluster: Cluster, probe: Object, path: str) -> AsyncIterator[None]:
    """For as long as the block lasts our CRDs let everything in; `probe` is what they refuse otherwise, at `path`."""
    crds = shipped_crds()
    loose = copy.deepcopy(crds)
    for crd in loose:
        for version in crd["spec"]["versions"]:
            version["schema"] = {"openAPIV3Schema": _ANYTHING}
            version.pop("selectableFields", None)  # no field is known
    try:
        await apply_crds(cluster.kubectl, loose)
        await cluster.eventually(
            "the CRDs let everything in", lambda: cluster.client.create(f"{path}?dryRun=All", probe)
        )
        yield
    finally:
        await apply_crds(cluster.kubectl, crds)

        async def refused() -> None:
            with pytest.raises(APIError) as refusal:
                await cluster.client.create(f"{path}?dryRun=All", probe)
            assert refusal.value.status == 422

        await cluster.eventually("the CRDs refuse what is wrong", refused)
