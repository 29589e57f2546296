"""A whole control plane as one async context manager.

    async with ControlPlane() as control_plane:
        await control_plane.create_nodes(10)
        await control_plane.kubectl("get", "nodes")

Processes start in the order etcd, kube-apiserver, kube-controller-manager, KWOK, and stop in the opposite order. Run it
on the main thread's event loop: the kernel ends the processes with the thread that started them (see launcher.py).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from volcano_py.cluster.kubernetes.http.logins import ACCOUNT_VARIABLE
from volcano_py.local import components, nodes
from volcano_py.local.binaries.binaries import CONTROL_PLANE_BINARIES, ensure_binaries
from volcano_py.local.binaries.progress import Progress
from volcano_py.local.client import APIClient, APIError
from volcano_py.local.components import Component
from volcano_py.local.errors import LocalError
from volcano_py.local.kubectl import Kubectl
from volcano_py.local.processes.processes import ManagedProcess
from volcano_py.local.processes.readiness import wait_ready
from volcano_py.local.workdir.layout import Layout, Settings
from volcano_py.local.workdir.workdir import WorkDir

_READY_SECONDS = 60.0
"""Measured: 3 s on two idle cores. A machine that compiles at the same time needs many times that."""

_POLL_SECONDS = 0.05

_STOP_SECONDS = 10.0
"""For SIGTERM to work; the API server drains its watches meanwhile."""

_TOKEN_SECONDS = 24 * 3600


class ControlPlane:
    """etcd, kube-apiserver, kube-controller-manager and KWOK on free ports of the loopback interface.

    `work_dir` receives everything they write, and must be empty or not exist; by default a new temporary directory. It
    is removed on exit unless `keep_data`. `binaries` overrides where binaries come from (name → path).
    """

    def __init__(
        self,
        work_dir: Path | None = None,
        *,
        settings: Settings | None = None,
        binaries: Mapping[str, Path] | None = None,
        progress: Progress | None = None,
        keep_data: bool = False,
    ) -> None:
        self.settings = settings if settings is not None else Settings()
        self._wanted_work_dir = work_dir
        self._given_binaries = dict(binaries or {})
        self._progress = progress if progress is not None else Progress()
        self._keep_data = keep_data
        self._binaries: dict[str, Path] = {}
        self._work_dir: WorkDir | None = None
        self._layout: Layout | None = None
        self._processes: dict[str, ManagedProcess] = {}
        self._components: dict[str, Component] = {}
        self._client: APIClient | None = None

    async def __aenter__(self) -> Self:
        self._binaries = await asyncio.to_thread(self._find_binaries)
        self._work_dir = WorkDir(self._wanted_work_dir, keep=self._keep_data)
        try:
            self._layout = Layout(self._work_dir.path, self.settings)
            await self._bring_up(self._layout)
        except BaseException:
            await self._tear_down()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._tear_down()

    # What it offers.

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def server(self) -> str:
        """The URL of the API server."""
        return self.layout.server

    @property
    def work_dir(self) -> Path:
        return self.layout.root

    @property
    def audit_log(self) -> Path:
        """Where the API server logs what `Settings` asks for; it exists with `Settings(audit_log=True)`."""
        return self.layout.audit_log

    @property
    def layout(self) -> Layout:
        if self._layout is None:
            raise LocalError("the control plane is not up: use it inside its `async with`")
        return self._layout

    @property
    def client(self) -> APIClient:
        """The administrator's API client."""
        if self._client is None:
            raise LocalError("the control plane is not up: use it inside its `async with`")
        return self._client

    @property
    def kubectl(self) -> Kubectl:
        """kubectl as administrator: `await control_plane.kubectl("get", "pods")`."""
        return Kubectl(self.binary("kubectl"), self.kubeconfig)

    def binary(self, name: str) -> Path:
        """The path of one of the binaries in use, e.g. of kubectl."""
        return self._binaries[name]

    def process(self, name: str) -> ManagedProcess:
        """One of the processes by the name of its binary, e.g. to send it a signal."""
        if name not in self._processes:
            raise LocalError(f"no process {name!r}; running here are {', '.join(self._processes) or 'none'}")
        return self._processes[name]

    @property
    def processes(self) -> Mapping[str, ManagedProcess]:
        return self._processes

    def log_tail(self, name: str) -> str:
        """The end of a process's log."""
        return self.process(name).log_tail()

    async def start(self, name: str) -> None:
        """Start a process that was stopped or killed, and wait until it is ready."""
        await self.process(name).start()
        await self._ready(self._components[name])

    async def stop(self, name: str) -> None:
        """Stop a process with SIGTERM and wait for its end."""
        await self.process(name).stop(_STOP_SECONDS)

    async def kill(self, name: str) -> None:
        """End a process with SIGKILL, as a crash would."""
        await self.process(name).kill()

    async def restart_apiserver(self) -> None:
        """Stop the API server, start it again on the same port with the same data, and wait until it is ready."""
        await self.stop("kube-apiserver")
        await self.start("kube-apiserver")

    async def start_kube_scheduler(self, *flags: str) -> None:
        """Run Kubernetes' own scheduler as well, e.g. to compare with; builds it first if need be."""
        if "kube-scheduler" not in self._binaries:
            found = await asyncio.to_thread(ensure_binaries, ("kube-scheduler",), progress=self._progress)
            self._binaries |= found
        await self._add(components.kube_scheduler(self.layout, self._binaries["kube-scheduler"], flags))

    async def watch(self) -> None:
        """Return never; raises ProcessFailedError as soon as a process ends unasked."""
        waits = {
            asyncio.create_task(process.wait_unexpected_end(), name=name): process
            for name, process in self._processes.items()
        }
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            raise waits[done.pop()].failure("stopped unexpectedly")
        finally:
            for task in waits:
                task.cancel()

    async def create_nodes(
        self,
        count: int,
        *,
        allocatable: Mapping[str, str] = nodes.DEFAULT_ALLOCATABLE,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Mapping[str, str]] = (),
        annotations: Mapping[str, str] | None = None,
        name_format: str = "node-{:05d}",
        first: int = 0,
    ) -> list[str]:
        """Create simulated nodes, Ready at once; see nodes.create_nodes."""
        return await nodes.create_nodes(
            self.client,
            count,
            allocatable=allocatable,
            labels=labels,
            taints=taints,
            annotations=annotations,
            name_format=name_format,
            first=first,
        )

    def kubeconfig_for_user(self, user: str, groups: Sequence[str] = ()) -> Path:
        """A kubeconfig with a client certificate for `user`; what they may do is up to RBAC."""
        return self.layout.user_kubeconfig(user, groups)

    async def kubeconfig_for_service_account(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a token of an existing service account, made by the TokenRequest API, good for a day."""
        token = await service_account_token(self.client, namespace, name)
        return self.layout.token_kubeconfig(f"{namespace}-{name}", token)

    async def pod_environment(self, namespace: str, name: str) -> dict[str, str]:
        """The variables by which a process logs in as in a pod of an existing service account, good for a day."""
        token = await service_account_token(self.client, namespace, name)
        server = urlsplit(self.server)
        return {
            "KUBERNETES_SERVICE_HOST": str(server.hostname),
            "KUBERNETES_SERVICE_PORT": str(server.port),
            ACCOUNT_VARIABLE: str(self.layout.mounted_account(f"{namespace}-{name}", token)),
        }

    # How it comes up and goes down.

    def _find_binaries(self) -> dict[str, Path]:
        wanted = set(CONTROL_PLANE_BINARIES) - self._given_binaries.keys()
        if not self.settings.controllers:
            wanted.discard("kube-controller-manager")
        if not self.settings.simulate_nodes:
            wanted.discard("kwok")
        return {**self._given_binaries, **ensure_binaries(wanted, progress=self._progress)}

    async def _bring_up(self, layout: Layout) -> None:
        # The API server retries until its store answers: both start at once.
        await self._launch(components.etcd(layout, self._binaries["etcd"]))
        await self._add(components.kube_apiserver(layout, self._binaries["kube-apiserver"]))
        self._client = await APIClient(layout.kubeconfig).__aenter__()
        followers = []
        if self.settings.controllers:
            followers.append(components.kube_controller_manager(layout, self._binaries["kube-controller-manager"]))
        if self.settings.simulate_nodes:
            port, binary = layout.ports["kwok"], self._binaries["kwok"]
            followers.append(components.kwok(layout.root, port, layout.kubeconfig, binary))
        for component in followers:
            await self._launch(component)
        for component in followers:
            await self._ready(component)
        if self.settings.controllers:
            await wait_for_default_service_account(self._client, "default")

    async def _add(self, component: Component) -> None:
        await self._launch(component)
        await self._ready(component)

    async def _launch(self, component: Component) -> None:
        log = self.layout.logs / f"{component.name}.log"
        process = ManagedProcess(component.name, component.command, log, clean_environment(self.layout.root))
        self._components[component.name] = component
        self._processes[component.name] = process
        await process.start()

    async def _ready(self, component: Component) -> None:
        process = self._processes[component.name]
        if component.ready_url:
            store = self._processes["etcd"]
            await wait_ready(process, component.ready_url, _READY_SECONDS, needs=() if store is process else (store,))

    async def _tear_down(self) -> None:
        try:
            for process in reversed(self._processes.values()):
                await process.stop(_STOP_SECONDS)
        finally:
            for process in self._processes.values():
                await process.kill()
            self._processes.clear()
            if self._client is not None:
                await self._client.__aexit__(None, None, None)
                self._client = None
            self._layout = None
            if self._work_dir is not None:
                await asyncio.to_thread(self._work_dir.close)
                self._work_dir = None


def clean_environment(home: Path) -> dict[str, str]:
    """What the processes get of our environment: where programs are, and what tunes Go's runtime.

    Nothing else, because etcd reads each flag from a variable too, and KWOK a configuration below $HOME. As long as
    there is memory, garbage is collected a quarter as often as by default: with 30,000 pods, a collection of the API
    server takes half a core for two seconds, which two full cores do not have.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    tuning = {"GOGC": "400", "GOMEMLIMIT": str(memory // 4)}
    tuning |= {name: value for name, value in os.environ.items() if name.startswith("GO")}
    return {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), **tuning}


async def service_account_token(client: APIClient, namespace: str, name: str) -> str:
    """A token of an existing service account, made by the TokenRequest API."""
    answer = await client.create(
        f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": _TOKEN_SECONDS},
        },
    )
    token: str = answer["status"]["token"]
    return token


async def wait_for_default_service_account(client: APIClient, namespace: str, seconds: float = 30.0) -> None:
    """Wait until pods can be created in a new namespace: until its `default` service account is there."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while True:
                try:
                    await client.get(f"/api/v1/namespaces/{namespace}/serviceaccounts/default")
                except APIError as error:
                    if error.status != 404:
                        raise
                    await asyncio.sleep(_POLL_SECONDS)
                else:
                    return
    raise LocalError(
        f"namespace {namespace} has no service account `default` after {seconds:.0f} s: "
        "is kube-controller-manager running?"
    )
