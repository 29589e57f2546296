"""Where certificates are kept: the Secret that replicas share, the trust of the API server, foreign files."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
import pytest

from volcano_py.cluster.kubernetes.http.client import KubernetesClient, PatchType
from volcano_py.cluster.kubernetes.http.errors import RequestError, api_error
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.operator.webhooks.certificate_rotation import (
    CertificateFileWatcher,
    CertificateRotator,
    service_hosts,
    tls_context,
)
from volcano_py.operator.webhooks.certificates import SERVING_VALID, Certificates, issue

pytestmark = pytest.mark.real_time  # files are loaded in threads

T = TypeVar("T")

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
HOSTS = ("127.0.0.1",)
SECRET = "/api/v1/namespaces/volcano-system/secrets/door"
API = "/apis/admissionregistration.k8s.io/v1"
VALIDATING, MUTATING = (f"{API}/{kind}webhookconfigurations/door" for kind in ("validating", "mutating"))


class Api:
    """Objects by path, with versions; the requests that the keeper makes."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {SECRET: {}}
        self.patches: list[tuple[str, PatchType]] = []
        self.before_patch: Callable[[], None] = lambda: None
        self._version = 1
        for path, names in ((VALIDATING, ("queues", "jobs")), (MUTATING, ("queues",))):
            self.objects[path] = {"webhooks": [{"name": name, "clientConfig": {}} for name in names]}

    async def read(self, where: ApiPath, kind: type[T]) -> T:
        path = str(where)
        if path not in self.objects:
            raise api_error("GET", path, 404, b"")
        body = self.objects[path] | {"metadata": {"resourceVersion": str(self._version)}}
        return msgspec.json.decode(msgspec.json.encode(body), type=kind)

    async def patch(self, where: ApiPath, body: Any, kind: PatchType = PatchType.MERGE) -> bytes:
        path = str(where)
        self.before_patch()
        expected = (body.get("metadata") or {}).get("resourceVersion")
        if expected not in (None, str(self._version)):
            raise api_error("PATCH", path, 409, b"")
        self.patches.append((path, kind))
        self.change(path, body)
        return b"{}"

    def change(self, path: str, body: Any) -> None:
        self._version += 1
        if "data" in body:
            self.objects[path]["data"] = body["data"]
        for new in body.get("webhooks", ()):
            (old,) = (each for each in self.objects[path]["webhooks"] if each["name"] == new["name"])
            old["clientConfig"] |= new["clientConfig"]

    @property
    def stored(self) -> Certificates:
        return Certificates.from_secret(self.objects[SECRET]["data"])

    @property
    def trusted(self) -> set[bytes]:
        """The bundles of all webhooks."""
        hooks = [hook for path in (VALIDATING, MUTATING) for hook in self.objects[path]["webhooks"]]
        return {base64.b64decode(hook["clientConfig"].get("caBundle", "")) for hook in hooks}


class Replica:
    """A keeper with what it does to the server."""

    def __init__(self, api: Api, directory: Path, now: datetime = NOW) -> None:
        self.now, self.expiries = now, list[float]()
        self.tls = tls_context()
        self.keeper = CertificateRotator(
            cast(KubernetesClient, api),
            self.tls,
            namespace="volcano-system",
            name="door",
            hosts=HOSTS,
            on_expiry=self.expiries.append,
            directory=directory,
            now=lambda: self.now,
        )


def listed(directory: Path) -> list[Path]:
    return list(directory.iterdir())


@pytest.fixture
def api() -> Api:
    return Api()


async def test_an_empty_secret_is_filled_and_the_ca_bundle_updated(api: Api, tmp_path: Path) -> None:
    replica = Replica(api, tmp_path)
    assert replica.keeper.problem() == "no certificate has been loaded yet"
    await replica.keeper.look()
    assert replica.keeper.problem() is None
    assert replica.keeper.ready.is_set()
    assert api.trusted == {api.stored.authorities}
    assert replica.expiries == [(NOW + SERVING_VALID).timestamp()]
    assert listed(tmp_path) == [], "keys stay nowhere on disk"
    assert [kind for path, kind in api.patches if path != SECRET] == [PatchType.STRATEGIC] * 2


async def test_a_second_look_and_a_second_replica_change_nothing(api: Api, tmp_path: Path) -> None:
    first, second = Replica(api, tmp_path), Replica(api, tmp_path)
    await first.keeper.look()
    before, api.patches = api.stored, []
    await first.keeper.look()
    await second.keeper.look()
    assert api.stored == before
    assert api.patches == []
    assert second.keeper.ready.is_set()
    assert len(first.expiries) == 1


async def test_replicas_that_renew_at_the_same_time_agree(api: Api, tmp_path: Path) -> None:
    """The other one writes between our reading and our writing."""
    theirs = issue(HOSTS, NOW)
    turns = iter((True,))

    def meanwhile() -> None:
        if next(turns, False):
            api.change(SECRET, {"data": theirs.as_secret()})

    api.before_patch = meanwhile
    await Replica(api, tmp_path).keeper.look()
    assert api.stored == theirs
    assert api.trusted == {theirs.authorities}


async def test_what_is_due_is_renewed_and_used_by_all_replicas(api: Api, tmp_path: Path) -> None:
    first, second = Replica(api, tmp_path), Replica(api, tmp_path)
    await first.keeper.look()
    await second.keeper.look()
    before = api.stored
    first.now = second.now = NOW + SERVING_VALID - timedelta(days=1)
    await second.keeper.look()
    await first.keeper.look()
    assert api.stored.certificate != before.certificate
    assert api.stored.authorities == before.authorities
    assert first.expiries[-1] == second.expiries[-1] == api.stored.expires.timestamp()


@pytest.mark.parametrize("data", [None, {}, {"tls.crt": "bm8="}, {"ca.crt": "!"}])
async def test_a_secret_that_was_emptied_or_spoilt_is_filled_again(api: Api, tmp_path: Path, data: Any) -> None:
    api.objects[SECRET]["data"] = data
    await Replica(api, tmp_path).keeper.look()
    assert api.trusted == {api.stored.authorities}


async def test_a_configuration_that_is_applied_again_is_reported_again(api: Api, tmp_path: Path) -> None:
    replica = Replica(api, tmp_path)
    await replica.keeper.look()
    api.objects[VALIDATING]["webhooks"][0]["clientConfig"] = {"service": {"name": "door"}}
    await replica.keeper.look()
    assert api.trusted == {api.stored.authorities}
    assert api.objects[VALIDATING]["webhooks"][0]["clientConfig"]["service"] == {"name": "door"}


async def test_without_configurations_it_serves_all_the_same(api: Api, tmp_path: Path) -> None:
    del api.objects[VALIDATING], api.objects[MUTATING]
    replica = Replica(api, tmp_path)
    await replica.keeper.look()
    assert replica.keeper.ready.is_set()


async def test_without_the_secret_the_remedy_is_reported(api: Api, tmp_path: Path) -> None:
    del api.objects[SECRET]
    replica = Replica(api, tmp_path)
    with pytest.raises(ValueError, match="Secret door does not exist; apply manifests/overlays/admission"):
        await replica.keeper.look()


async def test_trouble_with_the_api_server_leaves_what_is_served(api: Api, tmp_path: Path) -> None:
    replica = Replica(api, tmp_path)
    await replica.keeper.look()

    def fail() -> None:
        raise api_error("PATCH", SECRET, 500, b"")

    api.before_patch = fail
    replica.now = NOW + SERVING_VALID - timedelta(days=1)
    with pytest.raises(RequestError):
        await replica.keeper.look()
    assert replica.keeper.problem() is None


def test_a_service_is_reached_under_the_name_that_kubernetes_uses() -> None:
    assert service_hosts("ns", "door") == ("door.ns.svc", "door.ns.svc.cluster.local")


# Files.


def write(directory: Path, certificates: Certificates) -> None:
    (directory / "tls.crt").write_bytes(certificates.certificate)
    (directory / "tls.key").write_bytes(certificates.key)


async def test_files_are_loaded_when_they_come_and_when_they_change(tmp_path: Path) -> None:
    expiries: list[float] = []
    keeper = CertificateFileWatcher(tls_context(), tmp_path, on_expiry=expiries.append)
    with pytest.raises(FileNotFoundError):
        await keeper.look()
    assert keeper.problem() is not None
    write(tmp_path, issue(HOSTS, NOW))
    await keeper.look()
    await keeper.look()
    assert expiries == [(NOW + SERVING_VALID).timestamp()]
    assert keeper.problem() is None
    write(tmp_path, issue(HOSTS, NOW + timedelta(days=1)))
    await keeper.look()
    assert len(expiries) == 2


async def test_a_half_written_pair_is_reported_and_the_one_before_goes_on(tmp_path: Path) -> None:
    tls = tls_context()
    keeper = CertificateFileWatcher(tls, tmp_path, on_expiry=lambda _: None)
    write(tmp_path, issue(HOSTS, NOW))
    await keeper.look()
    (tmp_path / "tls.crt").write_bytes(issue(HOSTS, NOW).certificate)
    with pytest.raises(ValueError, match=r"tls.crt and tls.key cannot be used"):
        await keeper.look()
    assert keeper.problem() is None


def test_old_versions_of_tls_are_not_spoken() -> None:
    assert tls_context().minimum_version == ssl.TLSVersion.TLSv1_2
