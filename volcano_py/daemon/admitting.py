"""Admission as the command line asks for it."""

from __future__ import annotations

from volcano_py.admission.jobs import JobCustoms
from volcano_py.admission.queues import QueueRules
from volcano_py.cluster.kubernetes.client import KubernetesClient
from volcano_py.daemon.options import DaemonOptions
from volcano_py.jobs.defaults import JobRules
from volcano_py.jobs.plugins import BUILTIN, JobPlugins
from volcano_py.observe.listen import ListenAddress
from volcano_py.observe.metrics import Metrics
from volcano_py.operator.admission import AdmissionRules
from volcano_py.operator.admission_app import Admission, AdmissionSite


def make_admission(options: DaemonOptions, client: KubernetesClient, metrics: Metrics) -> Admission:
    """The server of the webhooks, its rules and its certificates."""
    wanted = options.admission
    site = AdmissionSite(
        address=ListenAddress.parse(wanted.address),
        namespace=wanted.namespace,
        name=wanted.name,
        hosts=wanted.hosts,
        manages_certificates=wanted.manage_certificates,
        directory=wanted.certificate_directory,
    )
    job_rules = JobRules(scheduler_name=options.component, default_queue=options.default_queue)
    rules = AdmissionRules(
        queues=QueueRules(max_depth=wanted.max_queue_depth, default_queue=options.default_queue),
        jobs=JobCustoms(job_rules, JobPlugins.of(BUILTIN).with_installed()),
        default_queue=options.default_queue,
    )
    record = metrics.admission
    return Admission(client, site, rules, reviewed=record.reviewed, on_expiry=record.certificate_expires)
