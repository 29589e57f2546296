"""deviceshare: pods share GPUs, each with a part of the memory and the cores of the cards that are chosen for it."""

from volcano_py.plugins.deviceshare.plugin import DeviceShare

__all__ = ["DeviceShare"]
