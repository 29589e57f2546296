"""The configuration that is used when no file is given: Volcano's built-in one."""

from __future__ import annotations

from typing import Final

_DEFAULT: Final = """\
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
"""


def default_configuration_text() -> str:
    """As text, so that it is read and checked by the same code as any file."""
    return _DEFAULT
