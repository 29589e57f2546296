"""The Lease has a thread and a connection of its own, and whoever hangs gives it back and ends."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.unit.cluster.fakes import PATIENCE, eventually, kubeconfig
from tests.unit.daemon.lease_server import LeaseServer, lease_server
from volcano_py.daemon.leading.leadership import Leadership
from volcano_py.daemon.leading.lifeline import Lifeline
from volcano_py.daemon.options import DaemonOptions, LeaderElectionOptions

ELECTION = LeaderElectionOptions(lease_duration=15, renew_deadline=10, retry_period=1)


@pytest.fixture
def lease() -> Iterator[LeaseServer]:
    with lease_server() as server:
        yield server


@pytest.fixture
def options(lease: LeaseServer, tmp_path: Path) -> DaemonOptions:
    return DaemonOptions(kubeconfig=kubeconfig(tmp_path / "kubeconfig", lease.url), election=ELECTION)


def compute_until(condition: Callable[[], bool]) -> None:
    """Pure Python, which never waits."""
    end, steps = time.monotonic() + PATIENCE, 0
    while not condition() and time.monotonic() < end:
        steps += sum(number * number for number in range(1000))


async def test_a_computation_on_the_loop_does_not_delay_renewals(options: DaemonOptions, lease: LeaseServer) -> None:
    async with Lifeline(options) as lifeline:
        assert lifeline.election is not None
        await lifeline.election.won.wait()
        compute_until(lambda: lease.renewals >= 2)
        assert lease.renewals >= 2
        assert lifeline.election.is_leader()


async def test_the_end_of_the_block_gives_the_lease_back(options: DaemonOptions, lease: LeaseServer) -> None:
    async with Lifeline(options) as lifeline:
        assert lifeline.election is not None
        await lifeline.election.won.wait()
        assert lease.holder
    assert not lease.holder
    assert not lifeline.election.is_leader()


async def test_a_hanging_process_gives_the_lease_back_logs_where_and_ends(
    options: DaemonOptions, lease: LeaseServer
) -> None:
    ends: list[tuple[int, str, bool]] = []

    def end(code: int) -> None:
        assert lifeline.election is not None
        ends.append((code, lease.holder, lifeline.election.is_leader()))

    with capture_logs() as logs:
        async with Lifeline(options, end=end) as lifeline:
            assert lifeline.election is not None
            await lifeline.election.won.wait()
            lifeline.watchdog.add(lambda: "a cycle hangs")
            await eventually(lambda: ends)

    assert ends == [(1, "", False)]
    said = next(entry for entry in logs if entry["event"] == "process hangs; ending it")
    assert (said["log_level"], said["problem"]) == ("critical", "a cycle hangs")
    assert any("run_until_complete" in line for line in said["stacks"]["MainThread"]), "the thread of the loop"


async def test_a_process_without_election_is_watched_too(options: DaemonOptions) -> None:
    ends: list[int] = []
    alone = DaemonOptions(kubeconfig=options.kubeconfig, election=LeaderElectionOptions(enabled=False))
    async with Lifeline(alone, end=ends.append) as lifeline:
        assert lifeline.election is None
        lifeline.watchdog.add(lambda: "a cycle hangs")
        await eventually(lambda: ends)
    assert ends == [1]


async def test_the_lease_has_a_login_of_its_own_that_is_renewed(
    options: DaemonOptions, lease: LeaseServer, tmp_path: Path
) -> None:
    """By a plugin that is run in that thread, again when its token is refused."""
    plugin, token = tmp_path / "login.py", tmp_path / "token"
    plugin.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib\n"
        f"token = pathlib.Path({str(token)!r}).read_text()\n"
        "kind = {'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential'}\n"
        "print(json.dumps({**kind, 'status': {'token': token}}))\n"
    )
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    user = {
        "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}
    }
    kubeconfig(tmp_path / "kubeconfig", lease.url, user)
    token.write_text("first")
    lease.accepted = "Bearer first"
    async with Lifeline(options) as lifeline:
        assert lifeline.election is not None
        await lifeline.election.won.wait()
        token.write_text("second")
        lease.accepted = "Bearer second"
        renewed = lease.renewals
        await eventually(lambda: lease.renewals > renewed)
        assert lease.logins[-1] == "Bearer second"


class Replica:
    """What `Leadership` calls, in order."""

    def __init__(self, lifeline: Lifeline) -> None:
        self.calls: list[str] = []
        self.caught_up = asyncio.Event()
        self.leadership = Leadership(
            lifeline,
            gained=lambda: self.calls.append("gained"),
            lost=lambda: self.calls.append("lost"),
            catch_up=self._catch_up,
        )

    async def _catch_up(self, taken_at: float, alone_from: float) -> None:
        self.calls.append("alone" if alone_from == taken_at else "perhaps not alone")
        await self.caught_up.wait()


@pytest.mark.parametrize(
    ("before", "alone"),
    [
        pytest.param(None, "perhaps not alone", id="there was no lease"),
        pytest.param({"holderIdentity": "", "leaseDurationSeconds": 1}, "alone", id="it was given back"),
    ],
)
async def test_a_leader_decides_once_it_has_caught_up(
    before: dict[str, Any] | None, alone: str, options: DaemonOptions, lease: LeaseServer
) -> None:
    lease.spec = json.loads(json.dumps(before))
    async with Lifeline(options) as lifeline:
        assert lifeline.election is not None
        replica = Replica(lifeline)
        leading = asyncio.create_task(replica.leadership.run())
        await eventually(lambda: len(replica.calls) == 2)
        assert replica.calls == ["gained", alone]
        assert replica.leadership.is_leading()
        assert not replica.leadership.may_decide()

        replica.caught_up.set()
        await eventually(replica.leadership.may_decide)

        leading.cancel()
        await asyncio.gather(leading, return_exceptions=True)
        assert replica.calls == ["gained", alone, "lost"]
        assert not lease.holder, "given back"


async def test_a_leader_that_cannot_catch_up_does_not_keep_the_lease(
    options: DaemonOptions, lease: LeaseServer
) -> None:
    async def fails(_taken_at: float, _alone_from: float) -> None:
        raise ValueError("a defect")

    async with Lifeline(options) as lifeline:
        leadership = Leadership(lifeline, gained=lambda: None, lost=lambda: None, catch_up=fails)
        with pytest.raises(ValueError, match="a defect"):
            await leadership.run()
    assert not lease.holder


async def test_a_process_that_has_lost_the_lease_ends(options: DaemonOptions, lease: LeaseServer) -> None:
    async with Lifeline(options) as lifeline:
        replica = Replica(lifeline)
        leading = asyncio.create_task(replica.leadership.run())
        await eventually(lambda: replica.calls)
        assert lease.spec is not None
        lease.spec["holderIdentity"] = "another"
        with pytest.raises(RuntimeError, match="the Lease was not renewed in time"):
            await leading
    assert replica.calls[-1] == "lost"
    assert lease.holder == "another"
