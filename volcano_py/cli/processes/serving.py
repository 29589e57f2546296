"""Runs the daemon, and loads its modules while the API server answers the first lists."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import signal
import sys
from typing import TYPE_CHECKING, Final

import click

from volcano_py.daemon.options import DaemonOptions

if TYPE_CHECKING:
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.cluster.kubernetes.watching.early_lists import EarlyLists
    from volcano_py.daemon.leading.lifeline import Lifeline

# Seconds. A thread that computes (a cycle, or loading modules) then gives the event loop its turn often enough that
# binding overlaps deciding (the default of 5 ms lets the loop have little more than half of its throughput).
SWITCH_INTERVAL: Final = 0.0005

# Connections for whatever is not a binding: lists, evictions, statuses, events, and what the controllers write. As many
# as all of them may have requests under way, so that no request waits for a connection: there is one line for all.
OTHERS_IN_FLIGHT: Final = 320


def serve(options: DaemonOptions) -> None:
    """Run the daemon until it is asked to stop; exits 1 when it failed."""
    import uvloop

    sys.setswitchinterval(SWITCH_INTERVAL)
    with contextlib.suppress(asyncio.CancelledError):  # asked to stop before the daemon was there
        if not uvloop.run(_serve(options)):
            sys.exit(1)


async def _serve(options: DaemonOptions) -> bool:
    """Whether it ended on request. The modules that decide are loaded while the server answers the first lists."""
    from volcano_py.cluster.kubernetes.http.client import KubernetesClient
    from volcano_py.cluster.kubernetes.http.credentials import CredentialsError
    from volcano_py.cluster.kubernetes.watching.early_lists import EarlyLists
    from volcano_py.cluster.kubernetes.watching.kinds import STATE_KINDS

    try:
        client = await KubernetesClient.connect(
            options.kubeconfig,
            options.context,
            qps=options.qps,
            burst=options.burst,
            connections=options.binds_in_flight + OTHERS_IN_FLIGHT,
        )
    except CredentialsError as error:
        raise click.ClickException(str(error)) from error
    from volcano_py.daemon.leading.lifeline import Lifeline

    async with client, Lifeline(options) as lifeline:
        _end_with_sigterm()  # until the daemon takes the signal; the Lease may be ours by then, and is given back
        loading = asyncio.create_task(asyncio.to_thread(importlib.import_module, "volcano_py.daemon.daemon"))
        if lifeline.election is not None:
            # Lists that are begun once the Lease is ours show all that a leader before us did. A server that does not
            # answer holds up nothing: what has to be loaded takes a while as well.
            attempted = asyncio.create_task(lifeline.election.attempted.wait())
            await asyncio.wait((attempted, loading), return_when=asyncio.FIRST_COMPLETED)
            attempted.cancel()
        async with EarlyLists(client, STATE_KINDS if options.scheduling else ()) as early:
            await loading
            return await _decide(options, client, lifeline, early)


def _end_with_sigterm() -> None:
    """As SIGINT does: cancel what runs now."""
    main = asyncio.current_task()
    assert main is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)


async def _decide(options: DaemonOptions, client: KubernetesClient, lifeline: Lifeline, early: EarlyLists) -> bool:
    from volcano_py.daemon.daemon import Daemon
    from volcano_py.daemon.live_configuration import ConfigurationError
    from volcano_py.daemon.supervision import ChildFailedError
    from volcano_py.observe.listen import ListenError

    try:
        await Daemon(options, client, lifeline, early).run()
    except (ConfigurationError, ListenError) as error:
        raise click.ClickException(str(error)) from error
    except ChildFailedError as error:
        import structlog

        structlog.get_logger(__name__).error("daemon failed", error=str(error), cause=str(error.__cause__ or ""))
        return False
    return True
