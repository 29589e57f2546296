"""The nodeorder plugin: kube-scheduler's scores, weighted and added, one module a kind of score."""

from __future__ import annotations

from volcano_py.plugins.nodeorder.plugin import NodeOrder

__all__ = ["NodeOrder"]
