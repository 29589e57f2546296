"""`ssh`: the Secret with keys and client configuration, and where it is mounted."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from tests.unit.jobs.plugins.working import job_of, kept, pod_of
from volcano_py.jobs.model import VolcanoJob
from volcano_py.jobs.plugins import PluginArgumentError
from volcano_py.jobs.plugins.ssh import SshPlugin

KEY = ed25519.Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PRIVATE = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
).decode()
PUBLIC = KEY.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


def secret(plugin: SshPlugin, job: VolcanoJob | None = None) -> dict[str, str]:
    """The files in the Secret."""
    data = kept(job or job_of(worker=1), plugin)["Secret"]["data"]
    return {name: base64.b64decode(content).decode() for name, content in data.items()}


def test_a_job_gets_an_rsa_key_of_2048_bits() -> None:
    files = secret(SshPlugin())
    assert set(files) == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
    key = serialization.load_pem_private_key(files["id_rsa"].encode(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    assert key.key_size == 2048
    assert files["id_rsa"].startswith("-----BEGIN RSA PRIVATE KEY-----")
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    assert files["id_rsa.pub"] == files["authorized_keys"] == public.decode() + "\n"


def test_no_two_jobs_have_the_same_key() -> None:
    plugin = SshPlugin(["--ssh-key-type=ed25519"])
    assert secret(plugin)["id_rsa"] != secret(plugin)["id_rsa"]


def test_keys_can_be_of_the_newer_kind() -> None:
    files = secret(SshPlugin(["--ssh-key-type=ed25519"]))
    assert files["authorized_keys"].startswith("ssh-ed25519 ")
    key = serialization.load_ssh_private_key(files["id_rsa"].encode(), password=None)
    assert isinstance(key, ed25519.Ed25519PrivateKey)


def test_a_given_pair_is_used_as_it_is() -> None:
    files = secret(SshPlugin([f"--ssh-private-key={PRIVATE}", f"--ssh-public-key={PUBLIC} me@home"]))
    assert files["id_rsa"] == PRIVATE
    assert files["id_rsa.pub"] == files["authorized_keys"] == f"{PUBLIC} me@home\n"


def test_the_public_key_follows_from_the_private_one() -> None:
    assert secret(SshPlugin([f"--ssh-private-key={PRIVATE}"]))["authorized_keys"] == f"{PUBLIC}\n"


def test_line_breaks_written_as_two_characters_are_read() -> None:
    written = PRIVATE.strip().replace("\n", "\\n")
    assert secret(SshPlugin([f"--ssh-private-key={written}"]))["id_rsa"] == PRIVATE


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, password: bytes = b"") -> str:
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, encryption
    ).decode()


def test_keys_in_the_older_format_are_read_too() -> None:
    files = secret(SshPlugin([f"--ssh-private-key={pem(ec.generate_private_key(ec.SECP256R1()))}"]))
    assert files["authorized_keys"].startswith("ecdsa-sha2-nistp256 ")


def key_of_composites() -> rsa.RSAPrivateKey:
    """A key that looks valid until its primes are checked."""
    p, q, e = 2**1023 + 1, 3 * 2**1022 + 1, 65537
    d = pow(e, -1, (p - 1) * (q - 1))
    numbers = rsa.RSAPrivateNumbers(p, q, d, d % (p - 1), d % (q - 1), pow(q, -1, p), rsa.RSAPublicNumbers(e, p * q))
    return numbers.private_key(unsafe_skip_rsa_key_validation=True)


FORMATS = [serialization.PrivateFormat.TraditionalOpenSSL, serialization.PrivateFormat.OpenSSH]


@pytest.mark.parametrize("form", FORMATS, ids=["pem", "openssh"])
def test_no_key_check_searches_for_primes(form: serialization.PrivateFormat) -> None:
    """For a key of 8192 bits that took 4 s, with each look at the job, and held the interpreter."""
    key = key_of_composites()
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()).decode()
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    assert secret(SshPlugin([f"--ssh-private-key={private}"]))["authorized_keys"] == f"{public}\n"


KEYS = [
    rsa.generate_private_key(65537, 2048),
    ec.generate_private_key(ec.SECP384R1()),
    ed25519.Ed25519PrivateKey.generate(),
]


@pytest.mark.parametrize("key", KEYS, ids=["rsa", "ecdsa", "ed25519"])
def test_a_key_that_names_its_algorithm_is_read_by_that_name(key: serialization.SSHPrivateKeyTypes) -> None:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    assert secret(SshPlugin([f"--ssh-private-key={private}"]))["authorized_keys"] == f"{public}\n"


def test_what_openssl_writes_before_a_key_is_skipped() -> None:
    parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    private = parameters + pem(ec.generate_private_key(ec.SECP256R1()))
    assert secret(SshPlugin([f"--ssh-private-key={private}"]))["authorized_keys"].startswith("ecdsa-sha2-nistp256 ")


def der(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def integer(value: int) -> bytes:
    return der(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


DIFFIE_HELLMAN = {"dh": "06092a864886f70d010301", "dhx": "06072a8648ce3e0201"}


@pytest.mark.parametrize("bits", [512, 8192, 16_000])
@pytest.mark.parametrize("algorithm", DIFFIE_HELLMAN.values(), ids=DIFFIE_HELLMAN.keys())
def test_keys_of_other_algorithms_are_refused_unread(
    algorithm: str, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To read a Diffie-Hellman key of 8192 bits took 0.2 s, and one of 16,000 bits failed with an internal error."""
    prime, base = 2**bits - 1, 2
    numbers = [integer(prime), integer(base), *([integer(prime // 2)] if algorithm == DIFFIE_HELLMAN["dhx"] else [])]
    key = der(0x30, integer(0), der(0x30, bytes.fromhex(algorithm), der(0x30, *numbers)), der(4, integer(prime // 3)))
    text = base64.encodebytes(key).decode().replace("\n", "")
    read: list[str] = []
    for form in ("pem", "der"):
        monkeypatch.setattr(serialization, f"load_{form}_private_key", lambda *_, **__: read.append("read"))
    with pytest.raises(PluginArgumentError, match="private key"):
        SshPlugin([f"--ssh-private-key=-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----"])
    assert not read


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([f"--ssh-public-key={PUBLIC}"], "--ssh-public-key is given without --ssh-private-key"),
        (["--ssh-private-key=hunter2"], "--ssh-private-key cannot be read as a private key"),
        (
            [f"--ssh-private-key={pem(ec.generate_private_key(ec.SECP256R1()), b'secret')}"],
            "private key without a password",
        ),
        ([f"--ssh-private-key={PRIVATE}", "--ssh-public-key=ssh-ed25519 AAAA"], "does not belong to"),
        (["--ssh-key-type=dsa"], "--ssh-key-type is 'dsa'; known: rsa, ed25519"),
        (["--ssh-key-file-path=.ssh"], "give an absolute path"),
        (["--ssh-key-file-path=/a:b"], "give an absolute path"),
        (["--ssh-port=0"], "--ssh-port is '0'"),
        ([f"--ssh-private-key={'x' * 8_193}"], "--ssh-private-key has 8193 characters; give a key of 8192 at most"),
    ],
)
def test_what_cannot_work_is_refused(arguments: list[str], message: str) -> None:
    with pytest.raises(PluginArgumentError, match=message):
        SshPlugin(arguments)


def test_messages_do_not_show_keys() -> None:
    with pytest.raises(PluginArgumentError) as raised:
        SshPlugin(["--ssh-private-key=hunter2"])
    assert "hunter2" not in str(raised.value)


def test_the_files_are_mounted_for_root_alone() -> None:
    pod = pod_of(job_of(worker=1), SshPlugin(), task="worker")
    (volume,) = pod["spec"]["volumes"]
    assert volume["name"] == volume["secret"]["secretName"] == "train-ssh"
    assert volume["secret"]["defaultMode"] == 0o600
    assert [item["path"] for item in volume["secret"]["items"]] == [
        ".ssh/id_rsa", ".ssh/id_rsa.pub", ".ssh/authorized_keys", ".ssh/config",
    ]  # fmt: skip
    for container in (*pod["spec"]["containers"], *pod["spec"]["initContainers"]):
        assert container["volumeMounts"] == [{"name": "train-ssh", "mountPath": "/root/.ssh", "subPath": ".ssh"}]


def test_another_user_can_read_them_in_its_own_folder() -> None:
    pod = pod_of(job_of(worker=1), SshPlugin(["--ssh-key-file-path=/home/me/.ssh"]), task="worker")
    assert pod["spec"]["volumes"][0]["secret"]["defaultMode"] == 0o644
    assert pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] == "/home/me/.ssh"


def test_the_configuration_lists_every_host() -> None:
    lines = secret(SshPlugin(["--ssh-port=2026"]), job_of(boss=1, worker=2))["config"].splitlines()
    assert lines[:2] == ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    assert lines[2:11] == [
        "Host train-boss-0", "  HostName train-boss-0.train", "  Port 2026",
        "Host train-worker-0", "  HostName train-worker-0.train", "  Port 2026",
        "Host train-worker-1", "  HostName train-worker-1.train", "  Port 2026",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("host", "address", "port"),
    [
        ("train-worker-0", "train-worker-0.train", "2026"),
        ("train-worker-7", "train-worker-7.train", "2026"),  # came when the job was scaled up
        ("train-worker-0.train", "train-worker-0.train", "2026"),  # as MPI_HOST has it
        ("head", "head.office", "2026"),
        ("example.org", "example.org", "22"),
    ],
)
def test_ssh_itself_understands_the_configuration(tmp_path: Path, host: str, address: str, port: str) -> None:
    path = tmp_path / "config"
    job = job_of(boss=1, worker=1, templates={"boss": {"hostname": "head", "subdomain": "office"}})
    path.write_text(secret(SshPlugin(["--ssh-port=2026"]), job)["config"])
    try:
        answer = subprocess.run(["ssh", "-G", "-F", path, host], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip("there is no ssh on this machine")
    reported = dict(line.split(" ", 1) for line in answer.stdout.splitlines() if " " in line)
    assert (reported["hostname"], reported["port"]) == (address, port)
