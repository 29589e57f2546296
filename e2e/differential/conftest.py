"""Fixtures of the differential test: a control plane without controllers, and kube-scheduler."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from e2e.differential.report import ScoreTally, Tally
from e2e.differential.rounds import Arena, furnish
from e2e.differential.theirs import FEATURE_GATES, kube_scheduler
from volcano_py.local.controlplane import ControlPlane
from volcano_py.local.workdir.layout import Settings

SEED = int(os.environ.get("DIFFERENTIAL_SEED", "1"))
CLUSTERS = int(os.environ.get("DIFFERENTIAL_CLUSTERS", "320"))
"""Another seed makes other clusters; more of them take longer."""
FIRST = int(os.environ.get("DIFFERENTIAL_FIRST", "1"))
"""Number of the first cluster, to come back to one soon. Rounds should begin where they did."""
SCORED_CLUSTERS = max(60, CLUSTERS // 4)
"""Clusters in which scores are compared; fewer do not show every score."""

_TALLIES = pytest.StashKey[list[Tally | ScoreTally]]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what was compared."""
    for tally in config.stash.get(_TALLIES, []):
        terminalreporter.section("compared with kube-scheduler", sep="-")
        for line in tally.lines():
            terminalreporter.write_line(line)


@pytest_asyncio.fixture(scope="package", loop_scope="session")
async def control_plane() -> AsyncIterator[ControlPlane]:
    """No one acts on it but the test and kube-scheduler: no controllers, no kubelets."""
    flags = (
        "--enable-priority-and-fairness=false",
        "--max-requests-inflight=0",
        # Rounds end with the deletion of everything.
        "--delete-collection-workers=8",
        # Its finalizers would stay: no controller takes them off.
        "--disable-admission-plugins=StorageObjectInUseProtection",
        f"--feature-gates={FEATURE_GATES}",
    )
    settings = Settings(controllers=(), simulate_nodes=False, apiserver_flags=flags)
    async with ControlPlane(settings=settings) as plane:
        await furnish(plane.client)
        yield plane


@pytest_asyncio.fixture(loop_scope="session")
async def arena(control_plane: ControlPlane) -> AsyncIterator[Arena]:
    """Where clusters are built, and both schedulers are asked which nodes pods fit."""
    async with kube_scheduler(control_plane) as theirs:
        yield Arena(control_plane.client, theirs)


@pytest_asyncio.fixture(loop_scope="session")
async def scoring_arena(control_plane: ControlPlane) -> AsyncIterator[Arena]:
    """The same with a kube-scheduler that scores nodes."""
    async with kube_scheduler(control_plane, scoring=True) as theirs:
        yield Arena(control_plane.client, theirs)


@pytest.fixture
def tally(request: pytest.FixtureRequest) -> Tally:
    """What is compared; printed at the end of the run."""
    made = Tally(SEED)
    request.config.stash.setdefault(_TALLIES, []).append(made)
    return made


@pytest.fixture
def score_tally(request: pytest.FixtureRequest) -> ScoreTally:
    """What is compared of scores; printed at the end of the run, too."""
    made = ScoreTally(SEED)
    request.config.stash.setdefault(_TALLIES, []).append(made)
    return made
