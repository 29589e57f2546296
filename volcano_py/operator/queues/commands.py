"""The command controller: carries out Commands that open or close a queue, or abort, resume, restart or end a Job.

A Command is deleted first and carried out then, so at most once, whatever happens in between: the API's own order,
which `vcctl` counts on. Commands for anything else, and for what is not ours to control, are left to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

import structlog

from volcano_py.api.dns_names import is_subdomain
from volcano_py.api.objects import ApiObject, ObjectMeta, OwnerReference
from volcano_py.cluster.kubernetes.http.errors import ApiError, RequestError
from volcano_py.cluster.kubernetes.watching.versions import version_of
from volcano_py.jobs.model import JobAction
from volcano_py.operator.controller import Controller
from volcano_py.operator.kube_api import IsActive, KubeApi, command_path, delete_options, is_another_object
from volcano_py.operator.queues.states import QueueAction

log = structlog.get_logger(__name__)

_GROUP: Final = "scheduling.volcano.sh"
_WORKERS: Final = 2
_LONGEST_SHOWN: Final = 100  # characters of a name that is none
# HTTP statuses from this one on leave open whether the server has done what it was asked for.
_MAY_HAVE_BEEN_DONE: Final = 500

_Key = tuple[str, str]
"""Namespace and UID of a Command."""


class Command(ApiObject, frozen=True):
    """`bus.volcano.sh/v1alpha1`, kind `Command`; it has no spec."""

    metadata: ObjectMeta
    action: str = ""
    target: OwnerReference = OwnerReference()
    reason: str = ""
    message: str = ""


class Queues(Protocol):
    """Carries out requests for queues."""

    def request(self, queue: str, action: QueueAction, asked_by: str, uid: str = "") -> None:
        """Open or close the queue with this name, and this UID unless it is empty."""


class Jobs(Protocol):
    """Carries out requests for Jobs."""

    def request(self, key: str, action: JobAction, asked_by: str, uid: str = "") -> None:
        """Do this with the job namespace/name, if it has this UID (or `uid` is empty)."""


def is_for_queues(command: Command) -> bool:
    """Whether the command's target is a queue."""
    return command.target.kind == "Queue" and command.target.group == _GROUP


class CommandController(Controller[_Key]):
    """Takes commands as they come; `run` does the work. Without the Lease (`active`) they wait where they are.

    `queues` and `jobs`: None when they are not ours to control.
    """

    def __init__(self, api: KubeApi, queues: Queues | None, jobs: Jobs | None = None, *, active: IsActive) -> None:
        super().__init__("command", lambda key: key[0], active=active, workers=_WORKERS)
        self._api, self._queues, self._jobs = api, queues, jobs
        self._commands: dict[str, Command] = {}  # by UID: a name may come again with another meaning
        # UIDs of those whose deletion got no answer. The leader is alone: if they are gone now, that was it.
        self._unanswered: set[str] = set()

    def listed(self, commands: Sequence[Command], version: str) -> None:
        """All commands there were at this version."""
        uids = {command.metadata.uid for command in commands}
        for uid, command in list(self._commands.items()):
            # One that is newer than the list was created after it.
            if uid not in uids and version_of(command.metadata.resource_version) <= version_of(version):
                self.delete(uid)
        for command in commands:
            self.upsert(command)

    def upsert(self, command: Command) -> None:
        """A command is new."""
        metadata = command.metadata
        if not self._is_ours(command) or metadata.uid in self._commands or metadata.deletion_timestamp is not None:
            return
        self._commands[metadata.uid] = command
        self._work.add((metadata.namespace, metadata.uid))

    def _is_ours(self, command: Command) -> bool:
        if self._queues is not None and is_for_queues(command):
            return True
        return self._jobs is not None and command.target.is_volcano_job

    def delete(self, uid: str) -> None:
        """A command is gone, carried out here or by another client."""
        if uid not in self._unanswered:
            self._commands.pop(uid, None)

    def _keys(self) -> Iterable[_Key]:
        return [(command.metadata.namespace, uid) for uid, command in self._commands.items()]

    async def _reconcile(self, key: _Key) -> None:
        _, uid = key
        command = self._commands.get(uid)
        if command is None:
            return
        try:
            await self._api.delete(command_path(command.metadata), delete_options(uid))
        except RequestError as error:
            if not is_another_object(error):
                if not (isinstance(error, ApiError) and error.status < _MAY_HAVE_BEEN_DONE):
                    self._unanswered.add(uid)
                    self._commands[uid] = command
                raise
            if uid not in self._unanswered:
                log.info("command already carried out by another client", command=command.metadata.key)
                self._commands.pop(uid, None)
                return
        self._unanswered.discard(uid)
        self._commands.pop(uid, None)
        self._hand_on(command)

    def _hand_on(self, command: Command) -> None:
        metadata, target, action = command.metadata, command.target, command.action
        asked_by = f"Command {metadata.key}"
        if not is_subdomain(target.name):
            log.warning(
                "command ignored: its target has no valid name",
                command=metadata.key,
                target=target.name[:_LONGEST_SHOWN],
            )
        elif self._jobs is not None and target.is_volcano_job and action in set(JobAction):
            log.info("command accepted", command=metadata.key, action=action, job=f"{metadata.namespace}/{target.name}")
            self._jobs.request(f"{metadata.namespace}/{target.name}", JobAction(action), asked_by, target.uid)
        elif self._queues is not None and is_for_queues(command) and action in set(QueueAction):
            log.info("command accepted", command=metadata.key, action=action, queue=target.name)
            self._queues.request(target.name, QueueAction(action), asked_by, target.uid)
        else:
            known = ", ".join(QueueAction if is_for_queues(command) else JobAction)
            log.warning("command ignored: unknown action", command=metadata.key, action=action, known=known)
