"""What releases are made from."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parents[3]
