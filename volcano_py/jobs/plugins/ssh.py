"""`ssh`: pods of a Job log in to each other without a password.

A Secret, made once for each Job, has a pair of keys and a client configuration that knows the Job's hosts.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Final

import msgspec

from volcano_py.api.bounds import SSH_KEY
from volcano_py.api.effects import JsonObject
from volcano_py.jobs.model import Task, VolcanoJob
from volcano_py.jobs.plugins.arguments import Arguments
from volcano_py.jobs.plugins.hosts import hosts_of, names_own_host, volume_name
from volcano_py.jobs.plugins.plugin import JobPlugin, PluginObject
from volcano_py.jobs.plugins.pod_editing import add_volume, all_containers, mount

DEFAULT_PATH: Final = "/root/.ssh"

_PATH: Final = "ssh-key-file-path"
_PRIVATE: Final = "ssh-private-key"
_PUBLIC: Final = "ssh-public-key"
_PORT: Final = "ssh-port"
_KEY_TYPE: Final = "ssh-key-type"

_FOLDER: Final = ".ssh"
_FILES: Final = ("id_rsa", "id_rsa.pub", "authorized_keys", "config")
# ssh refuses a private key that others may read, which for root's holds; another user could not read root's file.
_MODE_OF_ROOT: Final = 0o600
_MODE_OF_OTHERS: Final = 0o644

_KEY_TYPES: Final = ("rsa", "ed25519")


class KeyPair(msgspec.Struct, frozen=True):
    """Keys as OpenSSH reads them."""

    private: bytes
    public: bytes


class SshPlugin(JobPlugin):
    """Arguments: `--ssh-key-file-path` (/root/.ssh), where the files are mounted; `--ssh-port` (22), written into the
    client configuration; `--ssh-private-key` and `--ssh-public-key`, keys to be used instead of new ones, where the
    public one follows from the private one when left out; `--ssh-key-type` (rsa), `ed25519` for new keys of that kind.
    """

    name = "ssh"

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        super().__init__(arguments)
        given = Arguments(
            self.name, arguments, known=(_PATH, _PRIVATE, _PUBLIC, _PORT, _KEY_TYPE), warnings=self.warnings
        )
        self._path = given.text(_PATH, DEFAULT_PATH)
        if not self._path.startswith("/") or ":" in self._path:
            raise given.error(f"--{_PATH} is {self._path!r}; give an absolute path without ':'")
        self._port = given.port(_PORT, 22)
        self._key_type = given.text(_KEY_TYPE, "rsa")
        if self._key_type not in _KEY_TYPES:
            raise given.error(f"--{_KEY_TYPE} is {self._key_type!r}; known: {', '.join(_KEY_TYPES)}")
        self._given = _given_keys(given)

    def on_pod_create(self, pod: JsonObject, job: VolcanoJob, task: Task, index: int) -> None:
        del task, index
        source = {
            "secretName": secret_name(job),
            "items": [{"key": name, "path": f"{_FOLDER}/{name}"} for name in _FILES],
            "defaultMode": _MODE_OF_ROOT if self._path == DEFAULT_PATH else _MODE_OF_OTHERS,
        }
        volume = volume_name(job, self.name)
        add_volume(pod, volume, {"secret": source})
        mount(all_containers(pod), volume, self._path, subPath=_FOLDER)

    def objects(self, job: VolcanoJob) -> Sequence[PluginObject]:
        # Pods that run would keep the old keys, as a subPath is never mounted again: so it is created once.
        return (PluginObject("v1", "Secret", secret_name(job), lambda: self._secret(job)),)

    def _new_keys(self) -> KeyPair:
        from volcano_py.jobs.plugins.ssh_keys import new_pair  # few Jobs need it, and it takes a while to load

        return KeyPair(*new_pair(self._key_type))

    def _secret(self, job: VolcanoJob) -> JsonObject:
        keys = self._given or self._new_keys()
        contents = (keys.private, keys.public, keys.public, client_configuration(job, self._port).encode())
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret_name(job)},
            "type": "Opaque",
            "data": {name: base64.b64encode(content).decode() for name, content in zip(_FILES, contents, strict=True)},
        }


def secret_name(job: VolcanoJob) -> str:
    """The name of the Secret with the keys."""
    return f"{job.metadata.name}-ssh"


def client_configuration(job: VolcanoJob, port: int) -> str:
    """`~/.ssh/config`: every host by its short name, then patterns for hosts that come when the Job is scaled up."""
    lines = ["StrictHostKeyChecking no", "UserKnownHostsFile /dev/null"]
    domains: dict[str, None] = {}
    for task in job.spec.tasks:
        for host in hosts_of(job, task):
            domains[host.subdomain] = None
            lines += [f"Host {host.name}", f"  HostName {host}", f"  Port {port}"]
    for task in job.spec.tasks:
        hostname, subdomain = names_own_host(task)
        if not hostname:
            name = job.metadata.name
            lines += [f"Host {name}-{task.name}-* !*.*", f"  HostName %h.{subdomain or name}", f"  Port {port}"]
    for domain in domains:
        lines += [f"Host *.{domain}", f"  Port {port}"]
    return "\n".join(lines) + "\n"


def _given_keys(given: Arguments) -> KeyPair | None:
    """The keys among the arguments, checked.

    Messages show nothing of the keys: they end up in events.

    Raises:
        PluginArgumentError: a key cannot be read, or they do not belong together.
    """
    private, public = given.optional(_PRIVATE), given.optional(_PUBLIC)
    if not private:
        if public:
            raise given.error(f"--{_PUBLIC} is given without --{_PRIVATE}; give both, or none to have them generated")
        return None
    if len(private) > SSH_KEY.most:
        raise given.error(f"--{_PRIVATE} has {len(private)} characters; give a key of {SSH_KEY.most} at most")
    from volcano_py.jobs.plugins.ssh_keys import public_of

    # In a YAML string without escapes a line break comes as two characters. ssh wants one at the end.
    content = private.replace("\\n", "\n").strip().encode() + b"\n"
    try:
        derived = public_of(content)
    except ValueError as error:
        raise given.error(
            f"--{_PRIVATE} cannot be read as a private key without a password; give one as ssh-keygen writes it"
        ) from error
    if not public:
        return KeyPair(content, derived)
    if public.split()[:2] != derived.decode().split():
        raise given.error(f"--{_PUBLIC} does not belong to --{_PRIVATE}; leave it out, it follows from the private key")
    return KeyPair(content, public.strip().encode() + b"\n")
