"""tdm: nodes that belong to batch work during some hours of the day only."""

from volcano_py.plugins.tdm.plugin import Tdm

__all__ = ["Tdm"]
