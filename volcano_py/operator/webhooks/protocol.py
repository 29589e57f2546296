"""What kopf needs to know about admission webhooks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import kopf


class Webhooks(Protocol):
    """Admission webhooks: kopf evaluates reviews, the server that receives them is not kopf's."""

    server: kopf.WebhookServerProtocol
    """To be given to kopf."""
    outdated: asyncio.Event
    """Set when kopf must be restarted, because it does not know the kind in a review."""

    def register(self, registry: kopf.OperatorRegistry) -> None:
        """Add the handlers."""
