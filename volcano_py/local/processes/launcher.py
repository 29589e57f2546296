"""Becomes another program that dies with its parent: `python launcher.py PARENT_PID COMMAND ARGUMENT…`.

A script of its own and no `preexec_fn`, because code between fork and exec may deadlock in a process with threads.
Imports nothing of the project: it runs with `-I -S`, in milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal this process gets when its parent dies."""


def main(arguments: list[str]) -> None:
    """Ask for the signal and become the command; SIGKILL, because no process is left to wait for anything softer."""
    parent, command = int(arguments[0]), arguments[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            # The parent died before the kernel knew what to do then.
            sys.exit(1)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
