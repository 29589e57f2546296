"""The flags about admission webhooks, of `volcano-py run` and `volcano-py admission`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from volcano_py.admission.queues import MAX_DEPTH
from volcano_py.api.names import ADMISSION, SYSTEM_NAMESPACE
from volcano_py.daemon.options import AdmissionOptions

F = TypeVar("F", bound=Callable[..., Any])

_SWITCH = click.option(
    "--admission",
    type=bool,
    is_flag=False,
    flag_value=True,
    default=False,
    show_default=True,
    help="Answer admission webhooks for queues, PodGroups and jobs, in a separate process.",
)
_FLAGS = (
    click.option(
        "--admission-address",
        default=":8443",
        show_default=True,
        help="Address that webhooks are answered at (HTTPS).",
    ),
    click.option(
        "--admission-service",
        default=f"{SYSTEM_NAMESPACE}/{ADMISSION}",
        show_default=True,
        metavar="NAMESPACE/NAME",
        help="The Service in front of it. The Secret and the webhook configurations have the same name.",
    ),
    click.option(
        "--admission-host",
        "admission_hosts",
        multiple=True,
        help="A further name or IP address that the API server uses (repeatable).",
    ),
    click.option(
        "--admission-manage-certificates",
        type=bool,
        is_flag=False,
        flag_value=True,
        default=True,
        show_default=True,
        help="Create and renew certificates, and write the CA bundle; without it, certificates come from"
        " --admission-cert-dir.",
    ),
    click.option(
        "--admission-cert-dir",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        help="Directory with tls.crt and tls.key, read again when they change. With managed certificates: a directory"
        " for temporary files.",
    ),
    click.option(
        "--admission-client-ca-file",
        type=click.Path(path_type=Path, dir_okay=False, exists=True),
        help="Authorities of the API server's client certificate: callers then need one. [default: all callers "
        "are served]",
    ),
    click.option(
        "--admission-client-name",
        "admission_client_names",
        multiple=True,
        help="Common name that such a certificate must have (repeatable). [default: any]",
    ),
    click.option(
        "--admission-max-queue-depth",
        "--max-queue-depth",
        type=click.IntRange(1, 1000),
        default=MAX_DEPTH,
        show_default=True,
        help="Levels of queues below root that are accepted.",
    ),
)


def admission_flags(command: F) -> F:
    """Adds `--admission` and the others, in this order."""
    return _SWITCH(flags_of_admission(command))


def flags_of_admission(command: F) -> F:
    """Adds all but `--admission`."""
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


def admission_options(flags: dict[str, Any]) -> AdmissionOptions:
    """What they say.

    Raises:
        click.BadParameter: an address or a name cannot be understood, or a directory is missing.
    """
    from volcano_py.observe.listen import ListenAddress

    namespace, slash, name = flags["admission_service"].partition("/")
    if not (namespace and slash and name) or "/" in name:
        raise click.BadParameter(
            f"{flags['admission_service']!r} is not NAMESPACE/NAME", param_hint="--admission-service"
        )
    try:
        ListenAddress.parse(flags["admission_address"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--admission-address") from error
    if not flags["admission_manage_certificates"] and flags["admission_cert_dir"] is None:
        raise click.BadParameter(
            "name the directory of the certificates, because none are created here", param_hint="--admission-cert-dir"
        )
    if flags["admission_client_names"] and flags["admission_client_ca_file"] is None:
        raise click.BadParameter(
            "name the authorities of the certificates, too: --admission-client-ca-file",
            param_hint="--admission-client-name",
        )
    return AdmissionOptions(
        enabled=flags["admission"],
        address=flags["admission_address"],
        namespace=namespace,
        name=name,
        hosts=flags["admission_hosts"],
        manage_certificates=flags["admission_manage_certificates"],
        certificate_directory=flags["admission_cert_dir"],
        client_ca_file=flags["admission_client_ca_file"],
        client_names=flags["admission_client_names"],
        max_queue_depth=flags["admission_max_queue_depth"],
    )
