"""What only the garbage collector would find."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_kept() -> Iterator[list[object]]:
    """The collector runs only when it is asked to, and puts into the list what it finds of what was made meanwhile."""
    gc.collect()
    gc.freeze()  # what there is by now need not be looked through again and again
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
