"""The dashboards, one module each."""

from typing import Final

from volcano_py.observe.monitoring.boards.cluster import CLUSTER
from volcano_py.observe.monitoring.boards.queues import QUEUES
from volcano_py.observe.monitoring.boards.scheduler import SCHEDULER
from volcano_py.observe.monitoring.boards.waits import WAITS

DASHBOARDS: Final = (CLUSTER, QUEUES, WAITS, SCHEDULER)

__all__ = ["DASHBOARDS"]
