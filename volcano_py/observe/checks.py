"""Named checks behind /healthz and /readyz: each returns nothing when all is well, or the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

Check = Callable[[], str | None]
"""Answers at once (it runs on the event loop): None when all is well, else one sentence that says what is not."""


class CheckResult(msgspec.Struct, frozen=True):
    name: str
    problem: str | None

    @property
    def is_ok(self) -> bool:
        return self.problem is None


class ProbeResult(msgspec.Struct, frozen=True):
    """What one probe found; an empty one is well."""

    checks: tuple[CheckResult, ...]

    @property
    def is_ok(self) -> bool:
        return all(check.is_ok for check in self.checks)

    def document(self) -> dict[str, object]:
        """As the probe's JSON body: the failing checks come first."""
        ordered = sorted(self.checks, key=lambda check: check.is_ok)
        return {
            "status": "ok" if self.is_ok else "failing",
            "checks": [
                {"name": check.name, "ok": check.is_ok, **({} if check.is_ok else {"problem": check.problem})}
                for check in ordered
            ],
        }


class Checks:
    """Liveness says whether a restart would help; readiness also whether this replica can do its work now."""

    def __init__(self) -> None:
        self._live: dict[str, Check] = {}
        self._ready: dict[str, Check] = {}

    def add_live(self, name: str, check: Check) -> None:
        """Failing makes the kubelet restart the process; it counts for readiness as well."""
        self._add(self._live, name, check)

    def add_ready(self, name: str, check: Check) -> None:
        """Failing takes the replica out of its Service and holds up a rollout; nothing is restarted."""
        self._add(self._ready, name, check)

    def remove(self, name: str) -> None:
        self._live.pop(name, None)
        self._ready.pop(name, None)

    def live(self) -> ProbeResult:
        return _run(self._live.items())

    def ready(self) -> ProbeResult:
        return _run([*self._live.items(), *self._ready.items()])

    def _add(self, group: dict[str, Check], name: str, check: Check) -> None:
        if name in self._live or name in self._ready:
            raise ValueError(f"check {name!r} is registered already: remove it first or choose another name")
        group[name] = check


def _run(checks: Iterable[tuple[str, Check]]) -> ProbeResult:
    return ProbeResult(tuple(CheckResult(name, _problem(check)) for name, check in list(checks)))


def _problem(check: Check) -> str | None:
    try:
        return check()
    except Exception as error:  # a broken check is a failing check, not a broken probe
        return f"the check itself failed: {type(error).__name__}: {error}"
