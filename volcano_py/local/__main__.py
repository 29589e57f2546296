"""`python -m volcano_py.local`: get the control plane's binaries ready, and print where they are."""

from __future__ import annotations

import sys

from volcano_py.local.binaries.binaries import CONTROL_PLANE_BINARIES, ensure_binaries
from volcano_py.local.errors import LocalError


def main(arguments: list[str]) -> int:
    """Build what is missing of the named binaries, by default of all that a control plane needs."""
    try:
        found = ensure_binaries(arguments or CONTROL_PLANE_BINARIES)
    except LocalError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for name, path in found.items():
        sys.stdout.write(f"{name}\t{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
