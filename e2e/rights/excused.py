"""Rights that no request shows, for whoever has them."""

from __future__ import annotations

WITHOUT_A_REQUEST = {
    # The admission plugin OwnerReferencesPermissionEnforcement checks it, where a cluster has that plugin.
    ("update", "batch.volcano.sh", "jobs/finalizers"),
    # The API server asks for it when a request for `resourceclaims/status` changes devices or users of a claim.
    ("patch", "resource.k8s.io", "resourceclaims/binding"),
    # Used where the CRD of PodGroups has the status as a subresource; ours and Volcano's have not.
    ("patch", "scheduling.volcano.sh", "podgroups/status"),
    # The owner of a pod is read while its own watch has not brought it yet. Which kinds of owners that happens to is up
    # to the API server; unit tests of the podgroup controller do it.
    ("get", "apps", "replicasets"),
    ("get", "apps", "statefulsets"),
    ("get", "apps", "daemonsets"),
    ("get", "batch", "jobs"),
    # Read after a conflict, which these tests cannot bring about at will; unit tests of the controllers do.
    ("get", "bus.volcano.sh", "commands"),
    ("get", "batch.volcano.sh", "cronjobs"),
    ("get", "flow.volcano.sh", "jobflows"),
    ("get", "topology.volcano.sh", "hypernodes"),
    ("get", "shard.volcano.sh", "nodeshards"),
    ("get", "flow.volcano.sh", "jobtemplates"),
    ("get", "scheduling.volcano.sh", "podgroups"),
}
"""Rights that are needed although no request of these tests shows it."""
