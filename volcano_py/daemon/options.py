"""Everything that the command line of the daemon decides."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from volcano_py.api import names
from volcano_py.api.shards.sharding import Sharding

CONTROLLERS: Final = ("queue", "podgroup", "command", "job", "cronjob", "jobflow", "hypernode")
"""Our controllers; each can be left to Volcano's controller-manager."""

CONTROLLERS_LEASE: Final = "vc-controller-manager"
"""Name of the Lease of a daemon that runs controllers and does not schedule: that of Volcano's controller-manager, so
that the two never work at once."""

BINDS_IN_FLIGHT: Final = 128
"""Of one namespace; a quarter more are for others. Each binding costs the API server, etcd and us the less, the more of
them arrive together: with 64 a backlog took a sixth longer than with 160, and with 128 as little. An API server without
priority and fairness takes 200 writes at a time, from all clients."""


class LeaderElectionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds; Volcano's defaults, which are client-go's."""

    enabled: bool = True
    namespace: str = names.SYSTEM_NAMESPACE
    name: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class AdmissionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The admission webhooks. `name` is that of the Service, the Secret and the webhook configurations."""

    enabled: bool = False
    address: str = ":8443"
    namespace: str = names.SYSTEM_NAMESPACE
    name: str = names.ADMISSION
    hosts: tuple[str, ...] = ()
    manage_certificates: bool = True
    certificate_directory: Path | None = None
    client_ca_file: Path | None = None
    client_names: tuple[str, ...] = ()
    max_queue_depth: int = 5


class DaemonOptions(msgspec.Struct, frozen=True, kw_only=True):
    """See `volcano-py run --help`; defaults are Volcano's where it has the flag."""

    kubeconfig: Path | None = None
    context: str | None = None
    scheduling: bool = True
    """Whether it schedules pods; a daemon that does not runs controllers and admission only."""
    scheduler_names: tuple[str, ...] = (names.DEFAULT_SCHEDULER_NAME,)
    scheduler_conf: Path | None = None
    config_namespace: str = names.SYSTEM_NAMESPACE
    config_map: str = names.CONFIG_MAP
    strict: bool = False
    use_default_on_invalid: bool = False
    schedule_period: float = 1.0
    resync_period: float = 3600.0
    default_queue: str = names.DEFAULT_QUEUE
    node_selector: tuple[tuple[str, str], ...] = ()
    """Labels of the nodes that are ours, any of them; none means all nodes."""
    sharding: Sharding | None = None
    """The NodeShard whose nodes are ours; None means all nodes."""
    listen_addresses: tuple[str, ...] = (":8080",)
    qps: float = 2000.0
    burst: int = 2000
    binds_in_flight: int = BINDS_IN_FLIGHT
    controllers: frozenset[str] = frozenset(CONTROLLERS)
    inherit_owner_annotations: bool = True
    per_job_metrics: bool = False
    audit_period: float = 300.0
    record: Path | None = None
    """Folder of the record; None writes none."""
    record_size: int = 2**30
    record_age: float = 24 * 3600.0
    other_scheduler_silence: float = 30.0
    """Seconds without a binding by another scheduler of our name until decisions go on; 0 does not look for one."""
    drain_timeout: float = 20.0
    seed: int | None = None
    log_level: str = "info"
    log_format: str = "auto"
    election: LeaderElectionOptions = LeaderElectionOptions()
    admission: AdmissionOptions = AdmissionOptions()

    @property
    def component(self) -> str:
        """Source of events: the scheduler's name when there is just one."""
        return self.scheduler_names[0] if len(self.scheduler_names) == 1 else names.DEFAULT_SCHEDULER_NAME

    @property
    def lease_name(self) -> str:
        """Volcano's name, so that it and we never bind at once under one scheduler name; each shard has its own."""
        if self.election.name:
            return self.election.name
        if not self.scheduling:
            return CONTROLLERS_LEASE
        if self.sharding is None or self.sharding.name == self.component:
            return self.component
        return f"{self.component}-{self.sharding.name}"

    @property
    def has_nodes_alone(self) -> bool:
        """Whether no other scheduler may bind pods of our scheduler name to nodes of ours."""
        return self.sharding is None or self.sharding.is_hard
