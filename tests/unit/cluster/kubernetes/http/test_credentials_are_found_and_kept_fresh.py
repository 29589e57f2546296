"""Where a login comes from, and how a new one is noticed while running."""

from __future__ import annotations

import datetime as dt
import json
import sys
from pathlib import Path

import pytest

from tests.support.connections.paths import at
from tests.unit.cluster.fakes import FakeApi, FakeClock, Reply, Request, eventually, kubeconfig, refusal
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.cluster.kubernetes.http.credentials import Credentials, CredentialsError
from volcano_py.cluster.kubernetes.http.errors import UnauthorizedError


@pytest.fixture(autouse=True)
def _nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither this machine's kubeconfig nor a pod it may run in."""
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


async def test_the_given_kubeconfig_is_used(tmp_path: Path) -> None:
    credentials = await Credentials.load(kubeconfig(tmp_path / "given", "http://api:8080/"))

    assert credentials.server == "http://api:8080"
    assert credentials.authorization == "Bearer secret"


async def test_several_kubeconfigs_of_the_environment_are_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kubeconfig(tmp_path / "one", "http://one")
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'missing'}:{tmp_path / 'one'}")

    assert (await Credentials.load()).server == "http://one"


async def test_a_password_is_a_login_too(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path / "config", "http://api", {"username": "jane", "password": "pass"})

    connection = (await Credentials.load(config)).connection

    assert (connection.scheme, connection.token) == ("Basic", "amFuZTpwYXNz")


async def test_a_missing_kubeconfig_is_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"kubeconfig .*/nothing does not exist"):
        await Credentials.load(tmp_path / "nothing")


async def test_having_nothing_at_all_says_where_was_looked(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match=r"no kubeconfig at .*/home/\.kube/config; give one with --kubeconfig"):
        await Credentials.load()


_NOT_ONE = "it is not a kubeconfig with clusters, contexts and users; that is what `kubectl config view --raw` prints"


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param("", _NOT_ONE, id="empty"),
        pytest.param("[]", _NOT_ONE, id="a list"),
        pytest.param("text", _NOT_ONE, id="text"),
        pytest.param(
            "clusters: [{name: a, cluster: {server: s}}]\ncontexts: [{name: c, context: {cluster: a, user: u}}]\n"
            "current-context: c\nusers: [{name: u, user: none}]",
            _NOT_ONE,
            id="a user that is text",
        ),
        pytest.param("a: b", "Expected key current-context", id="something else"),
        pytest.param(
            "current-context: x\ncontexts: []\nclusters: []\nusers: []", "Expected object with name x", id="bare"
        ),
        pytest.param("a: [", "not YAML: while parsing a flow node expected the node content", id="no YAML"),
    ],
)
async def test_an_invalid_kubeconfig_is_named(content: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_text(content)

    with pytest.raises(CredentialsError) as error:
        await Credentials.load(path)

    assert str(error.value).startswith(f"kubeconfig {path} cannot be used: ")
    assert fault in str(error.value)
    assert "\n" not in str(error.value)


async def test_a_proxy_of_the_environment_is_used_but_not_for_hosts_it_exempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    config = kubeconfig(tmp_path / "config", "http://api.example:8080")
    assert (await Credentials.load(config)).proxy == "http://proxy:3128"

    monkeypatch.setenv("no_proxy", ".example")
    assert (await Credentials.load(config)).proxy is None


async def test_a_rotated_token_file_is_read_again_after_a_minute(
    api: FakeApi, tmp_path: Path, clock: FakeClock
) -> None:
    token = tmp_path / "token"
    token.write_text("first")
    config = kubeconfig(tmp_path / "config", api.url, {"tokenFile": str(token)})
    api.on("GET", "/api/v1/version", Reply())
    async with await KubernetesClient.connect(config, clock=clock) as client:
        await client.get(at("/api/v1/version"))
        token.write_text("second")
        await client.get(at("/api/v1/version"))
        clock.time += 61
        await client.get(at("/api/v1/version"))
        await eventually(lambda: client.credentials.authorization == "Bearer second")
        await client.get(at("/api/v1/version"))

    tokens = [request.headers["Authorization"] for request in api.requests]
    assert tokens[:2] == ["Bearer first", "Bearer first"]
    assert tokens[-1] == "Bearer second"


async def test_a_refused_token_is_replaced_and_the_request_repeated(
    api: FakeApi, tmp_path: Path, clock: FakeClock
) -> None:
    config = kubeconfig(tmp_path / "config", api.url, {"token": "old"})

    def answer(request: Request) -> Reply:
        return Reply(201) if request.headers["Authorization"] == "Bearer new" else refusal(401, "Unauthorized")

    api.on("POST", "/api/v1/things", answer)
    async with await KubernetesClient.connect(config, clock=clock) as client:
        kubeconfig(tmp_path / "config", api.url, {"token": "new"})
        await client.post(at("/api/v1/things"), {})

    assert len(api.requests) == 2


async def test_a_watch_that_is_refused_leads_to_a_new_token_too(api: FakeApi, tmp_path: Path, clock: FakeClock) -> None:
    config = kubeconfig(tmp_path / "config", api.url, {"token": "old"})
    api.refuse_watch(refusal(401, "Unauthorized"))
    async with await KubernetesClient.connect(config, clock=clock) as client:
        kubeconfig(tmp_path / "config", api.url, {"token": "new"})
        with pytest.raises(UnauthorizedError, match="WATCH /api/v1/pods: 401"):
            async with client.watch(at("/api/v1/pods"), {}):
                """Never entered."""

        assert client.credentials.authorization == "Bearer new"


async def test_a_token_that_stays_refused_is_an_error_and_does_not_start_a_storm(
    api: FakeApi, client: KubernetesClient
) -> None:
    api.on("GET", "/api/v1/version", refusal(401, "Unauthorized"))

    for _ in range(3):
        with pytest.raises(UnauthorizedError):
            await client.get(at("/api/v1/version"))

    assert len(api.requests) == 3


# kubernetes_asyncio asks for the time in a way that Python 3.12 deprecates.
@pytest.mark.filterwarnings("ignore:.*utcnow:DeprecationWarning")
@pytest.mark.parametrize("expires", [True, False])
async def test_an_exec_plugin_is_run_again_when_its_answer_runs_out_or_is_refused(
    expires: bool, api: FakeApi, tmp_path: Path, clock: FakeClock
) -> None:
    runs = tmp_path / "runs"
    runs.write_text("")
    status = {"token": "from-plugin"}
    if expires:
        status["expirationTimestamp"] = (dt.datetime.now(dt.UTC) + dt.timedelta(seconds=1)).isoformat()
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    plugin = f"open({str(runs)!r}, 'a').write('x'); print({json.dumps(answer)!r})"
    user = {"exec": {"apiVersion": answer["apiVersion"], "command": sys.executable, "args": ["-c", plugin]}}
    config = kubeconfig(tmp_path / "config", api.url, user)
    api.on("GET", "/api/v1/version", Reply())
    async with await KubernetesClient.connect(config, clock=clock) as client:
        clock.time += 61
        await client.get(at("/api/v1/version"))
        await eventually(lambda: client.credentials._refreshing is None)
        assert len(runs.read_text()) == (2 if expires else 1)
        assert api.requests[0].headers["Authorization"] == "Bearer from-plugin"

        api.on("GET", "/api/v1/version", refusal(401, "Unauthorized"))
        for _ in range(3):
            with pytest.raises(UnauthorizedError):
                await client.get(at("/api/v1/version"))
        assert len(runs.read_text()) == (3 if expires else 2), "not once for each refusal"

        clock.time += 11
        with pytest.raises(UnauthorizedError):
            await client.get(at("/api/v1/version"))

    assert len(runs.read_text()) == (4 if expires else 3)


async def test_a_refresh_that_fails_keeps_the_old_login(api: FakeApi, tmp_path: Path, clock: FakeClock) -> None:
    token = tmp_path / "token"
    token.write_text("good")
    config = kubeconfig(tmp_path / "config", api.url, {"tokenFile": str(token)})
    api.on("GET", "/api/v1/version", Reply())
    async with await KubernetesClient.connect(config, clock=clock) as client:
        token.unlink()
        clock.time += 61
        await client.get(at("/api/v1/version"))
        await eventually(lambda: client.credentials._refreshing is None)
        await client.get(at("/api/v1/version"))

    assert api.requests[-1].headers["Authorization"] == "Bearer good"
