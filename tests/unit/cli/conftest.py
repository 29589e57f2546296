"""A cluster for verbs that need one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.unit.cli.cluster import UserOfCluster, user_of_cluster


@pytest.fixture
async def user(tmp_path: Path) -> AsyncIterator[UserOfCluster]:
    async with user_of_cluster(tmp_path) as ready:
        yield ready
