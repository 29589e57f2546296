"""kubectl as a function."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

from volcano_py.local.errors import LocalError

_KUBECTL_SECONDS = 120.0


class KubectlError(LocalError):
    """kubectl failed; the message has the command line and what it printed."""


class Kubectl:
    """Runs one kubectl against one kubeconfig."""

    def __init__(self, binary: Path, kubeconfig: Path) -> None:
        self.binary = binary
        self.kubeconfig = kubeconfig

    async def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Run `kubectl ARGUMENTS` and return its standard output; raises KubectlError when it fails."""
        process = await asyncio.create_subprocess_exec(
            str(self.binary),
            f"--kubeconfig={self.kubeconfig}",
            *arguments,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(_KUBECTL_SECONDS):
                output, errors = await process.communicate(None if stdin is None else stdin.encode())
        except TimeoutError as error:
            raise KubectlError(f"kubectl {shlex.join(arguments)}: no answer after {_KUBECTL_SECONDS:.0f} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise KubectlError(f"kubectl {shlex.join(arguments)}: {errors.decode(errors='replace').strip()}")
        return output.decode()

    async def json(self, *arguments: str) -> Any:
        """The parsed output of `kubectl ARGUMENTS -o json`."""
        return json.loads(await self(*arguments, "-o", "json"))

    async def apply(self, manifests: str, *arguments: str) -> None:
        """Server-side apply YAML or JSON documents; large CRDs do not fit a client-side apply's annotation."""
        await self("apply", "--server-side", "--force-conflicts", "--filename", "-", *arguments, stdin=manifests)
