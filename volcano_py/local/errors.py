"""What can go wrong with the local control plane; every message says what to do next."""

from __future__ import annotations

from volcano_py.shipped import shipped, shown

WITHOUT_A_CLUSTER = (
    "To try the scheduler without a cluster (no binaries, no network), run"
    f" `volcano-py simulate --filename {shown(shipped('examples') / 'sample')}`."
)
"""The way out that every "cannot get a control plane" message names."""


class LocalError(Exception):
    """The local control plane cannot do what was asked; the message says why and what to do."""


class BinaryUnavailableError(LocalError):
    """A binary is neither given, nor cached, nor can it be built."""

    def __init__(self, binary: str, problem: str) -> None:
        super().__init__(f"{binary}: {problem}\n{WITHOUT_A_CLUSTER}")
        self.binary = binary


class ProcessFailedError(LocalError):
    """A process of the control plane did not become ready, or ended on its own; carries the end of its log."""

    def __init__(self, process: str, problem: str, log_tail: str) -> None:
        ending = f"\n--- end of {process}'s log ---\n{log_tail}" if log_tail else ""
        super().__init__(f"{process} {problem}{ending}")
        self.process = process
        self.log_tail = log_tail
