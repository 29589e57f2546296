"""Virtual time for the supervisor's tests."""

from tests.support.virtual_time import pytest_asyncio_loop_factories

__all__ = ["pytest_asyncio_loop_factories"]
