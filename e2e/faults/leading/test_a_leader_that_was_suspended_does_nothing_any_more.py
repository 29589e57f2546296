"""The leader's machine stands still for longer than its Lease lasts, in the middle of binding a gang."""

from __future__ import annotations

import signal
from collections.abc import Callable

from e2e.conftest import SimulatedNodes, StartDaemon
from e2e.faults.injection.plans import Call, Gate, is_binding
from e2e.faults.injection.proxy import FaultProxy
from e2e.faults.invariants.cluster import bound_twice
from e2e.harness.cluster import Cluster
from e2e.harness.daemon import QUICK_ELECTION
from e2e.harness.namespace import Namespace
from e2e.harness.objects import gang
from volcano_py.local.controlplane import ControlPlane

SIZE = 4


async def test_what_it_had_not_sent_it_never_sends(
    cluster: Cluster,
    control_plane: ControlPlane,
    namespace: Namespace,
    simulated_nodes: SimulatedNodes,
    proxy: FaultProxy,
    start_daemon: StartDaemon,
    count_faults: Callable[[str, int], None],
) -> None:
    """One binding is under way, three are queued; the successor binds all four, and what was under way comes late."""
    pool = await simulated_nodes(2, cpu=str(SIZE))
    sent: list[str] = []
    proxy.listeners.append(lambda call, _status, _body, _sent: sent.append(call.name) if is_binding(call) else None)
    gate = proxy.plan = Gate(lambda call: is_binding(call) and call.namespace == namespace.name)
    leader = await start_daemon(*QUICK_ELECTION, "--binds-in-flight=1", server=proxy.url)
    await leader.wait_leading()
    successor = await start_daemon(*QUICK_ELECTION)
    await namespace.apply(gang("train", SIZE, node_selector=pool.selector))

    async def under_way() -> list[Call]:
        assert len(gate.held) == 1, gate.held
        return list(gate.held)

    (late,) = await cluster.eventually("one binding is under way", under_way)
    leader.process.send_signal(signal.SIGSTOP)
    count_faults("stood still for longer than its Lease", 1)
    await successor.wait_leading()
    await namespace.wait_phases(Running=SIZE)

    gate.open()

    async def arrived() -> None:
        assert sent == [late.name]

    await cluster.eventually("the binding that was under way is answered", arrived)
    leader.process.send_signal(signal.SIGCONT)

    async def ended() -> None:
        assert leader.process.exit_code, "it has to end with an error, to be started again as a standby"

    await leader.eventually("it has noticed that it leads no more", ended)
    assert sent == [late.name]
    assert not bound_twice(control_plane.audit_log)
    await namespace.wait_pod_group("train", "Running")
    assert (await successor.document("/dump"))["drift"] == 0
