"""How tests run here.

Hypothesis has no deadlines, as machines are busy or slow, and looks at so many examples that all tests take minutes;
`--hypothesis-profile=deep` searches for long. Tables are printed as for a file, however wide the terminal is.
"""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

# In CI every run looks at the same examples, so that a change is judged by what it changes.
_AT_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("everyday", _AT_ANY_SPEED, max_examples=30, derandomize="CI" in os.environ)
settings.register_profile("deep", _AT_ANY_SPEED, max_examples=5000)
settings.load_profile("everyday")

os.environ.pop("COLUMNS", None)

# Thousands of tests are collected and none of them is garbage: looking for some among them took a third of the time.
gc.disable()


def pytest_collection_finish() -> None:
    """What is there by now stays: the collector need not look at it again and again, nor after every 700 objects."""
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    gc.enable()


_PROCESSORS = [
    *structlog.get_config()["processors"][:-1],
    structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
]


@pytest.fixture(autouse=True)
def process_wide_logging() -> Iterator[None]:
    """Logging is one per process, and verbs set it up: put everything back, for whatever test comes next.

    Tracebacks are printed plainly. Drawn with source and all variables, each takes as long as ten tests.
    """
    structlog.configure(processors=_PROCESSORS)
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()
    root.handlers, root.level = handlers, level
    for name in ("kubernetes_asyncio", "asyncio", "aiohttp", "aiohttp.access", "urllib3", "kopf.objects"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.captureWarnings(False)
