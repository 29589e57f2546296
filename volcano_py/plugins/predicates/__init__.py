"""The predicates plugin: which nodes can take a pod, one module a question."""

from __future__ import annotations

from volcano_py.plugins.predicates.plugin import Predicates

__all__ = ["Predicates"]
