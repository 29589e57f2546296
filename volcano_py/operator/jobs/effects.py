"""Carries out a plan. Every step may be repeated, find its work done, or find another object of that name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from volcano_py.api.effects import JsonObject
from volcano_py.api.json_values import Reader
from volcano_py.api.objects import ObjectMeta, Pod, PodGroup
from volcano_py.cluster.kubernetes.http.errors import NotFoundError, RequestError
from volcano_py.cluster.kubernetes.http.paths import ApiPath
from volcano_py.cluster.kubernetes.watching.kinds import POD, POD_GROUP, VOLCANO_JOB
from volcano_py.cluster.kubernetes.writing.turns import Slots
from volcano_py.jobs.actions import CreateGroup, CreatePods, DeleteGroup, DeletePods, UpdateGroup
from volcano_py.jobs.model import JobStatus, VolcanoJob
from volcano_py.jobs.names import FAILED_CREATE, JOB_STATUS_ERROR, POD_GROUP_ERROR
from volcano_py.jobs.patches import merge_patch
from volcano_py.operator.jobs.index import JobIndex
from volcano_py.operator.jobs.objects import NotReadyError
from volcano_py.operator.kube_api import (
    KubeApi,
    Learn,
    created_or_found,
    delete_object,
    is_another_object,
    is_gone,
    job_path,
    pod_group_path,
    pod_path,
)
from volcano_py.operator.run_all import run_all

_JOB: Final = Reader(VolcanoJob)
_POD: Final = Reader(Pod)
_GROUP: Final = Reader(PodGroup)


class JobEffects:
    """Writes to the API server. Objects in answers go to `learn`, and from there to the index; only deletions
    are noted in the index directly.

    `in_flight`: pods being created or deleted at a time, over all jobs of a namespace; others have slots alongside.
    `pod_created` gets the job of each pod that was created.
    """

    def __init__(
        self, api: KubeApi, index: JobIndex, learn: Learn, *, in_flight: int, pod_created: Callable[[VolcanoJob], None]
    ) -> None:
        self._api, self._index, self._learn, self._pod_made = api, index, learn, pod_created
        self._slots = Slots(in_flight)

    async def write_status(self, job: VolcanoJob, status: JobStatus, *, decides: bool) -> bool:
        """Bring the status up to `status`; `decides`: only if the job is still as it was seen.

        False when it is not: the newest is known then.
        """
        metadata: JsonObject = {"uid": job.metadata.uid}
        if decides:
            metadata["resourceVersion"] = job.metadata.resource_version
        changes = merge_patch(job.status, status)
        path = job_path(job.metadata.namespace, job.metadata.name, "status")
        try:
            answer = await self._api.patch(path, {"metadata": metadata, "status": changes})
        except RequestError as error:
            if not is_another_object(error):
                raise
            await self.read_again(job)
            return False
        try:
            self._learn(VOLCANO_JOB.name, _JOB.decode(answer))
        except msgspec.ValidationError:
            # It has become unreadable meanwhile. Its last readable version counts, with this status.
            self._index.note_job(msgspec.structs.replace(job, status=status))
        return True

    async def read_again(self, job: VolcanoJob) -> VolcanoJob | None:
        """The job as it is now; None when it is gone.

        Raises:
            NotReadyError: it cannot be read any more.
        """
        found = await self.read(job.metadata.namespace, job.metadata.name)
        if found is None:
            self._index.note_deleting(job.metadata)
        return found

    async def read(self, namespace: str, name: str) -> VolcanoJob | None:
        """The job of this name as it is now; None when there is none.

        Raises:
            NotReadyError: it cannot be read.
        """
        try:
            answer = await self._api.get(job_path(namespace, name))
        except NotFoundError:
            return None
        try:
            found = _JOB.decode(answer)
        except msgspec.ValidationError as error:
            message = f"job {namespace}/{name} cannot be read: {error}; correct this field"
            raise NotReadyError(JOB_STATUS_ERROR, message) from error
        self._learn(VOLCANO_JOB.name, found)
        return found

    async def delete_job(self, job: VolcanoJob) -> bool:
        """Delete a job whose time is over, if it has not changed; its owner may have raised its TTL.

        False when it is not: the newest is known then.
        """
        found = await self.read_again(job)
        if found is None or found.metadata.resource_version != job.metadata.resource_version:
            return False
        path = job_path(job.metadata.namespace, job.metadata.name)
        await delete_object(self._api, path, job.metadata.uid, foreground=True)
        self._index.note_deleting(job.metadata)
        return True

    async def create_group(self, job: VolcanoJob, action: CreateGroup) -> None:
        """Raises NotReadyError when the name is taken."""
        answer, created = await created_or_found(self._api, pod_group_path(job.metadata.namespace), action.body)
        group = _GROUP.decode(answer)
        if not (created or job.owns(group.metadata)):
            message = f"PodGroup {group.metadata.key} exists but does not belong to this job; delete it"
            raise NotReadyError(POD_GROUP_ERROR, message)
        self._learn(POD_GROUP.name, group)

    async def update_group(self, job: VolcanoJob, action: UpdateGroup) -> None:
        path = pod_group_path(job.metadata.namespace, action.name)
        try:
            answer = await self._api.patch(path, {"metadata": {"uid": action.uid}, **action.changes})
        except RequestError as error:
            if not await is_gone(self._api, path, action.uid, error):
                raise
            self._index.note_deleting(_meta(job, action.name, action.uid))
            return
        self._learn(POD_GROUP.name, _GROUP.decode(answer))

    async def delete_group(self, job: VolcanoJob, action: DeleteGroup) -> None:
        await self._delete(pod_group_path(job.metadata.namespace, action.name), _meta(job, action.name, action.uid))

    async def create_pods(self, job: VolcanoJob, action: CreatePods) -> None:
        """Create them all, a limited number at a time. One that fails does not stop the others.

        Raises:
            NotReadyError: a pod of another owner has the name.
            RequestError: the API server refused one.
        """
        await run_all(self._in_turn(job, self._create_pod(job, body)) for body in action.bodies)

    async def delete_pods(self, job: VolcanoJob, action: DeletePods) -> None:
        namespace = job.metadata.namespace
        await run_all(
            self._in_turn(job, self._delete(pod_path(namespace, name), _meta(job, name, uid)))
            for name, uid in action.pods
        )

    async def _in_turn(self, job: VolcanoJob, step: Awaitable[None]) -> None:
        async with self._slots.hold(job.metadata.namespace):
            await step

    async def _create_pod(self, job: VolcanoJob, body: JsonObject) -> None:
        namespace, name = job.metadata.namespace, body["metadata"]["name"]
        try:
            answer, created = await created_or_found(self._api, pod_path(namespace), body)
        except NotFoundError as error:
            if error.verb != "GET":
                raise
            message = f"pod {namespace}/{name} is terminating; it is created again after that"
            raise NotReadyError(FAILED_CREATE, message, passes=True) from None
        pod = _POD.decode(answer)
        if created:
            self._pod_made(job)
        elif not job.owns(pod.metadata):
            message = (
                f"pod {namespace}/{name} exists but does not belong to this job; delete it, or give the "
                "job another name"
            )
            raise NotReadyError(FAILED_CREATE, message)
        self._learn(POD.name, pod)

    async def _delete(self, path: ApiPath, metadata: ObjectMeta) -> None:
        await delete_object(self._api, path, metadata.uid)
        self._index.note_deleting(metadata)


def _meta(job: VolcanoJob, name: str, uid: str) -> ObjectMeta:
    return ObjectMeta(namespace=job.metadata.namespace, name=name, uid=uid)
