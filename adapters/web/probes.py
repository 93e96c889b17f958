"""Health and readiness, for whoever watches the process. They ask for no token (J1)."""

from litestar import get
from litestar.handlers import HTTPRouteHandler

from locum.core.errors import ServerError

from .ports import HarnessPort
from .schema import answers_of
from .shapes import Status

__all__ = ["Probes"]


class Probes:
    """`/healthz` and `/readyz`."""

    def __init__(self, harness: HarnessPort) -> None:
        self._harness = harness

    async def healthz(self) -> Status:
        """The process answers."""
        return Status()

    async def readyz(self) -> Status:
        """The store is open and recovery has run; 503 before that, and while locum stops.

        Recovery has run when every sub-task that was open is known, its deadline runs, and it takes
        replies, cancels and pushes (I1). It waits for no agent: each is looked at in its turn.
        """
        if not self._harness.ready:
            raise ServerError(
                "locum is not ready: it starts or stops, and takes nothing for what is open.",
                code="server.not_ready",
            )
        return Status()

    def routes(self) -> list[HTTPRouteHandler]:
        """Both."""
        return [
            get("/healthz", security=[{}], responses=answers_of(200, Status))(self.healthz),
            get("/readyz", security=[{}], responses=answers_of(200, Status, 503))(self.readyz),
        ]
