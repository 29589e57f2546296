"""Job plugins: what they are (`plugin`), which there are (`registry`), and our own, a module each."""

from __future__ import annotations

from typing import Final

from volcano_py.jobs.plugins.env import EnvPlugin
from volcano_py.jobs.plugins.hcclrank import HcclRankPlugin
from volcano_py.jobs.plugins.mpi import MpiPlugin
from volcano_py.jobs.plugins.plugin import JobPlugin, PluginArgumentError, PluginObject
from volcano_py.jobs.plugins.pytorch import PytorchPlugin
from volcano_py.jobs.plugins.ray import RayPlugin
from volcano_py.jobs.plugins.registry import JobPlugins
from volcano_py.jobs.plugins.ssh import SshPlugin
from volcano_py.jobs.plugins.svc import SvcPlugin
from volcano_py.jobs.plugins.tensorflow import TensorflowPlugin

BUILTIN: Final[tuple[type[JobPlugin], ...]] = (
    EnvPlugin,
    SvcPlugin,
    SshPlugin,
    PytorchPlugin,
    TensorflowPlugin,
    MpiPlugin,
    RayPlugin,
    HcclRankPlugin,
)
"""Our own plugins."""

__all__ = ["BUILTIN", "JobPlugin", "JobPlugins", "PluginArgumentError", "PluginObject"]
