"""The login in force: found at the start, and kept fresh."""

from __future__ import annotations

import asyncio
import os
import ssl
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
import structlog
import yaml

from volcano_py.cluster.kubernetes.clock import SYSTEM_CLOCK, Clock
from volcano_py.cluster.kubernetes.http.logins import Login, read_in_cluster, read_kubeconfig

if TYPE_CHECKING:
    from kubernetes_asyncio.config.kube_config import KubeConfigLoader

log = structlog.get_logger(__name__)

# As client-go does for token files: kubelets rotate ServiceAccount tokens at 80 % of their life, at the earliest after
# 8 minutes, so a minute is never too late.
REFRESH_EVERY = 60.0
# Between two refreshes that a 401 asks for; a revoked token must not start an exec plugin with every request.
_FORCED_AT_MOST_EVERY = 10.0

# What the loader runs into where a file is YAML of another shape.
_MISSHAPEN = (AttributeError, KeyError, TypeError)


class CredentialsError(Exception):
    """There is no usable configuration; the message says what was looked for, and where."""


class Connection(msgspec.Struct, frozen=True):
    """A server and a login, in the words of kopf: `kopf.ConnectionInfo(**msgspec.structs.asdict(connection))`."""

    server: str
    ca_path: str | None
    certificate_path: str | None
    private_key_path: str | None
    insecure: bool
    scheme: str | None
    token: str | None
    proxy_url: str | None


class Credentials:
    """The loaded configuration. `authorization` (a header's value) and `ssl` are always ready for the next request."""

    def __init__(self, kubeconfig: str | None, context: str | None, clock: Clock = SYSTEM_CLOCK) -> None:
        """Use `Credentials.load`, which also reads the files. `kubeconfig` None means in-cluster."""
        self._kubeconfig, self._context, self._clock = kubeconfig, context, clock
        self._login = Login()
        self._loader: KubeConfigLoader | None = None
        self._files: tuple[object, ...] = ()
        self._due = 0.0
        self._forced = float("-inf")
        self._refreshing: asyncio.Task[None] | None = None
        self.authorization: str | None = None
        self.ssl: ssl.SSLContext | bool = True
        self.server = ""
        self.server_hostname: str | None = None
        self.proxy: str | None = None

    @classmethod
    async def load(
        cls, kubeconfig: Path | None = None, context: str | None = None, *, clock: Clock = SYSTEM_CLOCK
    ) -> Credentials:
        """From the given kubeconfig; else in-cluster when in a pod; else `$KUBECONFIG`; else `~/.kube/config`.

        Raises:
            CredentialsError: nothing usable was found.
        """
        source = _source(kubeconfig, context)
        credentials = cls(source, context, clock)
        try:
            await credentials._read()
        except (OSError, ValueError, yaml.YAMLError, *_MISSHAPEN) as error:
            what = f"kubeconfig {source}" if source else "in-cluster configuration"
            raise CredentialsError(f"{what} cannot be used: {_fault(error)}") from error
        return credentials

    @property
    def connection(self) -> Connection:
        """What another client needs to log in as we do."""
        login = self._login
        scheme, _, token = (self.authorization or "").partition(" ")
        return Connection(
            server=self.server,
            ca_path=login.ssl_ca_cert or None,
            certificate_path=login.cert_file or None,
            private_key_path=login.key_file or None,
            insecure=not login.verify_ssl,
            scheme=scheme or None,
            token=token or None,
            proxy_url=self.proxy,
        )

    @property
    def namespace(self) -> str:
        """That of the kubeconfig's context; "" when it names none, and in-cluster."""
        context = self._loader.current_context if self._loader is not None else None
        named = context["context"].get("namespace") if context else None
        return str(named or "")

    def refresh_when_due(self) -> None:
        """Start a refresh in the background when it is due; requests use the old login meanwhile."""
        if self._clock.monotonic() >= self._due and self._refreshing is None:
            self._start()

    async def renew(self, refused: tuple[object, object]) -> bool:
        """After a 401 for this (`authorization`, `ssl`): read everything again. Whether the login has changed."""
        if refused != (self.authorization, self.ssl):
            return True
        now = self._clock.monotonic()
        if self._refreshing is None:
            if now - self._forced < _FORCED_AT_MOST_EVERY:
                return False
            self._forced = now
            self._forget()
        task = self._refreshing or self._start()
        # Shielded: a caller that stops waiting must not stop the refresh that others wait for too.
        await asyncio.shield(task)
        return refused != (self.authorization, self.ssl)

    async def aclose(self) -> None:
        """Stop a refresh under way."""
        if self._refreshing is not None:
            self._refreshing.cancel()
            await asyncio.gather(self._refreshing, return_exceptions=True)

    def _start(self) -> asyncio.Task[None]:
        self._refreshing = asyncio.create_task(self._refresh(), name="credentials")
        return self._refreshing

    async def _refresh(self) -> None:
        try:
            await self._read()
        except Exception as error:
            # Exec plugins and identity providers fail in many ways. What we have may still be good; the next request
            # or the next minute tries again.
            log.warning("credentials not refreshed; keeping the old ones", error=str(error))
            self._due = self._clock.monotonic() + REFRESH_EVERY
        finally:
            self._refreshing = None

    def _forget(self) -> None:
        """Make the next read start from the file; not for auth providers: only their loader has the refresh token."""
        if self._loader is not None and self._loader.provider is None:
            self._loader = None

    async def _read(self) -> None:
        if self._kubeconfig is None:
            self._login = read_in_cluster()
        elif self._loader is None:
            login = Login()
            self._loader = await read_kubeconfig(self._kubeconfig, self._context, login)
            self._login = login
        elif not _runs_plugin_each_time(self._loader):
            await self._loader.load_and_set(self._login)
        self._take_over()
        self._due = self._clock.monotonic() + REFRESH_EVERY

    def _take_over(self) -> None:
        login = self._login
        self.server = login.host.rstrip("/")
        self.server_hostname = login.tls_server_name
        self.authorization = login.authorization
        self.proxy = login.proxy or _proxy_of_environment(self.server)
        if self.server.startswith("https:"):
            paths = login.ssl_ca_cert, login.cert_file, login.key_file
            files = (*(_version(path) for path in paths), login.verify_ssl)
            if files != self._files:
                self.ssl = _ssl_context(login)
                self._files = files


def _source(kubeconfig: Path | None, context: str | None) -> str | None:
    """The kubeconfig to read (several joined as in `$KUBECONFIG`), None for in-cluster."""
    if kubeconfig is not None:
        if not kubeconfig.is_file():
            raise CredentialsError(f"kubeconfig {kubeconfig} does not exist: give the path of one with --kubeconfig")
        return str(kubeconfig)
    if context is None and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return None
    named = os.environ.get("KUBECONFIG", "")
    paths = [Path(path).expanduser() for path in named.split(os.pathsep) if path] or [Path.home() / ".kube" / "config"]
    if not any(path.is_file() for path in paths):
        looked = ", ".join(str(path) for path in paths)
        raise CredentialsError(
            f"no cluster to talk to: not in a pod (KUBERNETES_SERVICE_HOST is not set) and no kubeconfig at {looked}; "
            "give one with --kubeconfig"
        )
    return os.pathsep.join(str(path) for path in paths)


def _fault(error: Exception) -> str:
    if isinstance(error, yaml.YAMLError):
        return f"not YAML: {' '.join(str(error).split())}"
    if isinstance(error, _MISSHAPEN):
        return (
            "it is not a kubeconfig with clusters, contexts and users; that is what `kubectl config view --raw` prints"
        )
    return str(error) or type(error).__name__


def _runs_plugin_each_time(loader: KubeConfigLoader) -> bool:
    """Whether reading would start an exec plugin although its answer has no end: only a 401 is then a reason to."""
    user: Any = loader._user
    return user is not None and "exec" in user and not hasattr(loader, "exec_plugin_expiry")


def _version(path: str | None) -> object:
    """Something that differs once the file has changed."""
    if not path:
        return None
    try:
        status = Path(path).stat()
    except OSError:
        return path
    return path, status.st_mtime_ns, status.st_size


def _ssl_context(login: Login) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=login.ssl_ca_cert or None)
    # Python 3.13 refuses CAs without a key identifier by default; many clusters' own CAs have none, and the clients
    # people know accept them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if login.cert_file:
        context.load_cert_chain(login.cert_file, login.key_file)
    if not login.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _proxy_of_environment(server: str) -> str | None:
    """HTTPS_PROXY and NO_PROXY, looked up once: aiohttp's own `trust_env` would do it for every request."""
    parts = urlsplit(server)
    if not parts.hostname or urllib.request.proxy_bypass(parts.netloc):
        return None
    return urllib.request.getproxies().get(parts.scheme)
