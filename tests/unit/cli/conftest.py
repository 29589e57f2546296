"""A cluster for verbs that need one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.cli.cluster import UserOfCluster, user_of_cluster
from volcano_py.cli.printing import changes


@pytest.fixture
async def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[UserOfCluster]:
    monkeypatch.setattr(changes, "_PAUSE", 0.0)  # no server ends every watch at once here
    async with user_of_cluster(tmp_path) as ready:
        yield ready
