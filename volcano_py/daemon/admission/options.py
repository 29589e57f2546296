"""The options of admission, from the command line."""

from __future__ import annotations

from typing import Protocol

from volcano_py.admission.jobs import JobContext
from volcano_py.admission.queues import QueueRules
from volcano_py.cluster.kubernetes.http.client import KubernetesClient
from volcano_py.daemon.options import DaemonOptions
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.plugins import BUILTIN, JobPlugins
from volcano_py.observe.listen import ListenAddress
from volcano_py.operator.webhooks.app import Admission, AdmissionSite
from volcano_py.operator.webhooks.handlers import AdmissionRules


class Record(Protocol):
    """What is counted: by this process's own metrics, or for a daemon that it reports to."""

    def reviewed(self, webhook: str, operation: str, outcome: str, seconds: float) -> None:
        """A review was answered."""

    def turned_away(self, status: int) -> None:
        """A caller got an error, or 0: no answer at all."""

    def certificate_expires(self, when: float) -> None:
        """`when` in seconds since 1970."""


def make_admission(options: DaemonOptions, client: KubernetesClient, record: Record) -> Admission:
    """The server of the webhooks, its rules and its certificates."""
    wanted = options.admission
    site = AdmissionSite(
        address=ListenAddress.parse(wanted.address),
        namespace=wanted.namespace,
        name=wanted.name,
        hosts=wanted.hosts,
        manages_certificates=wanted.manage_certificates,
        directory=wanted.certificate_directory,
        client_authorities=wanted.client_ca_file,
        callers=wanted.client_names,
    )
    job_rules = JobRules(scheduler_name=options.component, default_queue=options.default_queue)
    rules = AdmissionRules(
        queues=QueueRules(max_depth=wanted.max_queue_depth, default_queue=options.default_queue),
        jobs=JobContext(job_rules, JobPlugins.of(BUILTIN).with_installed()),
        default_queue=options.default_queue,
    )
    return Admission(
        client,
        site,
        rules,
        reviewed=record.reviewed,
        on_expiry=record.certificate_expires,
        turned_away=record.turned_away,
    )
