"""Files, ports, certificates and kubeconfigs of one control plane."""

from __future__ import annotations

import base64
import os
import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from cryptography.x509.oid import NameOID

from volcano_py.local.errors import LocalError
from volcano_py.local.processes import ports
from volcano_py.local.workdir.certificates import CertificateAuthority, KeyPair, service_account_keys, write_private
from volcano_py.local.workdir.kubeconfig import with_token
from volcano_py.local.workdir.layout import Layout, Settings
from volcano_py.local.workdir.workdir import WorkDir, remove_abandoned


@pytest.fixture(scope="module")
def layout(tmp_path_factory: pytest.TempPathFactory) -> Layout:
    return Layout(tmp_path_factory.mktemp("layout"), Settings())


def test_only_the_owner_can_read_anything(layout: Layout) -> None:
    for path in layout.root.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_the_ports_differ_and_none_can_be_given_to_an_outgoing_connection(layout: Layout) -> None:
    assert len(set(layout.ports.values())) == len(layout.ports)
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(layout.ports.values()) < lowest


def test_a_port_in_use_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((ports.LOOPBACK, 0)) as server:
        used = server.getsockname()[1]
        answers = iter([used, used, 20_001])
        monkeypatch.setattr("random.randint", lambda low, high: next(answers))
        monkeypatch.setattr(ports, "_is_free", lambda port, real=ports._is_free: port == 20_001 or real(port))
        taken: set[int] = set()
        assert ports.free_port(taken) == 20_001
        assert taken == {20_001}


def test_a_port_that_was_given_out_is_not_given_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.randint", lambda low, high: 20_001)
    with pytest.raises(
        LocalError, match=r"^no free TCP port between 10240 and \d+ on 127\.0\.0\.1 after 200 attempts$"
    ):
        ports.free_port({20_001})


def test_the_administrators_kubeconfig_has_everything_inline(layout: Layout) -> None:
    document = yaml.safe_load(layout.kubeconfig.read_text())
    assert document["current-context"] == document["contexts"][0]["name"]
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    assert cluster["server"] == f"https://127.0.0.1:{layout.ports['kube-apiserver']}"
    assert base64.b64decode(cluster["certificate-authority-data"]) == layout.authority.certificate
    assert _subject(base64.b64decode(user["client-certificate-data"])) == ("admin", ["system:masters"])


def test_a_user_gets_a_certificate_in_their_own_name(layout: Layout) -> None:
    path = layout.user_kubeconfig("jane", ["dev", "ops"])
    user = yaml.safe_load(path.read_text())["users"][0]["user"]
    assert _subject(base64.b64decode(user["client-certificate-data"])) == ("jane", ["dev", "ops"])


def test_a_service_account_gets_a_token_and_no_certificate(layout: Layout) -> None:
    path = layout.token_kubeconfig("volcano-system-volcano-scheduler", "secret")
    assert yaml.safe_load(path.read_text())["users"][0]["user"] == {"token": "secret"}


def test_names_of_users_make_safe_file_names(layout: Layout) -> None:
    assert layout.kubeconfig_path("system:kube/scheduler").name == "system-kube-scheduler.kubeconfig"


def test_any_kubeconfig_can_be_turned_into_one_with_a_token(layout: Layout, tmp_path: Path) -> None:
    admin = yaml.safe_load(layout.kubeconfig.read_text())
    document = yaml.safe_load(with_token(tmp_path / "sa", admin, "secret").read_text())
    assert document["clusters"][0]["cluster"] == admin["clusters"][0]["cluster"]
    assert document["users"][0]["user"] == {"token": "secret"}


def _subject(certificate: bytes) -> tuple[str, list[str]]:
    subject = x509.load_pem_x509_certificate(certificate).subject
    groups = [str(group.value) for group in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
    return str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value), groups


def _shake_hands(authority: CertificateAuthority, serving: KeyPair, client: KeyPair | None, directory: Path) -> str:
    """A TLS connection over the loopback interface in which both sides ask for certificates; the client's user."""
    trusted = authority.certificate.decode()
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=trusted)
    server_side.verify_mode = ssl.CERT_REQUIRED
    server_side.load_cert_chain(write_private(directory / "server.pem", serving.certificate + serving.key))
    client_side = ssl.create_default_context(cadata=trusted)
    if client is not None:
        client_side.load_cert_chain(write_private(directory / "client.pem", client.certificate + client.key))
    seen: list[str] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        try:
            with server_side.wrap_socket(connection, server_side=True) as secure:
                certificate = secure.getpeercert(binary_form=True)
                assert certificate is not None
                subject = x509.load_der_x509_certificate(certificate).subject
                seen.append(str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value))
                secure.sendall(b"hello")
        except (ssl.SSLError, ConnectionError):
            connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        try:
            with (
                socket.create_connection(listener.getsockname()) as plain,
                client_side.wrap_socket(plain, server_hostname="127.0.0.1") as secure,
            ):
                secure.recv(5)
        except (ssl.SSLError, ConnectionError):
            pass
        finally:
            server.join()
    return seen[0] if seen else ""


def test_servers_and_clients_of_one_authority_trust_each_other(tmp_path: Path) -> None:
    authority = CertificateAuthority("test")
    serving = authority.serving("server", ("localhost",), ("127.0.0.1",))
    assert _shake_hands(authority, serving, authority.client("jane"), tmp_path) == "jane"


def test_a_client_of_another_authority_is_a_stranger(tmp_path: Path) -> None:
    """Why etcd has an authority of its own: a user of the API server cannot read the store."""
    authority = CertificateAuthority("test")
    serving = authority.serving("server", ("localhost",), ("127.0.0.1",))
    assert _shake_hands(authority, serving, CertificateAuthority("test").client("jane"), tmp_path) == ""
    assert _shake_hands(authority, serving, None, tmp_path) == ""


def test_a_server_under_another_name_is_not_trusted(tmp_path: Path) -> None:
    authority = CertificateAuthority("test")
    serving = authority.serving("server", ("example.org",), ("192.0.2.1",))
    assert _shake_hands(authority, serving, authority.client("jane"), tmp_path) == ""


def test_the_service_account_key_is_a_matching_pair() -> None:
    keys = service_account_keys()
    private, public = load_pem_private_key(keys.key, None), load_pem_public_key(keys.certificate)
    assert private.public_key() == public


def test_a_work_directory_is_private_and_removed_at_the_end(tmp_path: Path) -> None:
    work_dir = WorkDir(tmp_path / "run", keep=False)
    assert stat.S_IMODE(work_dir.path.stat().st_mode) == 0o700
    (work_dir.path / "etcd").mkdir()
    (work_dir.path / "etcd" / "wal").write_text("data")
    work_dir.close()
    assert not work_dir.path.exists()


def test_a_kept_work_directory_stays_and_is_unlocked(tmp_path: Path) -> None:
    work_dir = WorkDir(tmp_path / "run", keep=True)
    (work_dir.path / "etcd.log").write_text("line")
    work_dir.close()
    assert [path.name for path in work_dir.path.iterdir()] == ["etcd.log"]


@pytest.mark.parametrize("keep", [True, False])
def test_a_directory_with_something_in_it_is_refused(tmp_path: Path, keep: bool) -> None:
    (tmp_path / "thesis.tex").write_text("the only copy")
    with pytest.raises(LocalError, match=r"is not empty: name an empty one, or one that does not exist yet\.$"):
        WorkDir(tmp_path, keep=keep)
    assert (tmp_path / "thesis.tex").exists()


def _directory(parent: Path, name: str, age_seconds: float, now: float) -> Path:
    path = parent / name
    path.mkdir()
    (path / "owner.lock").touch()
    os.utime(path / "owner.lock", (now - age_seconds, now - age_seconds))
    return path


def test_what_a_killed_control_plane_left_behind_is_cleared_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    living = WorkDir(None, keep=False)
    now = (living.path / "owner.lock").stat().st_mtime + 3600
    dead = _directory(tmp_path, "volcano-py-dead", 3600, now)
    young = _directory(tmp_path, "volcano-py-young", 5, now)
    others = tmp_path / "volcano-py-notes"
    others.mkdir()
    assert remove_abandoned(tmp_path, now) == [dead]
    assert {path.name for path in tmp_path.iterdir()} == {living.path.name, young.name, others.name}
    living.close()
