"""The part of a check that is about push configs: one is created, listed, deleted, deleted again."""

from collections.abc import Awaitable, Callable
from typing import Final

from locum.core.errors import RemoteCallError

from ..calls.remote_agent import AgentClient
from .judge import words_of_error
from .log import Logbook

__all__ = ["NOBODY", "PushRound"]

NOBODY: Final = "http://127.0.0.1:9/locum-check"
"""Where pushes are asked for: port 9 of the agent's own machine, where nobody listens."""

CREATE: Final = "CreateTaskPushNotificationConfig"
LIST: Final = "ListTaskPushNotificationConfigs"
DELETE: Final = "DeleteTaskPushNotificationConfig"
_INVALID: Final = (-32602, "INVALID_PARAMS", "INVALID_ARGUMENT")

Step = Callable[[str, Callable[[], Awaitable[str]]], Awaitable[bool]]
"""Performs one named step; True unless the agent did not do it at all."""


class PushRound:
    """The steps for one task. `seconds`: how long each call may take."""

    def __init__(
        self, client: AgentClient, log: Logbook, *, new_id: Callable[[], str], seconds: float
    ) -> None:
        self._client = client
        self._log = log
        self._new_id = new_id
        self._seconds = seconds
        self._task_id = ""
        self.config_id = ""
        """The config that the agent holds now; empty when there is none."""

    async def play(self, task_id: str, step: Step) -> None:
        """Play all of it."""
        self._task_id = task_id
        if await step(CREATE, self._create) and self.config_id:
            await step(LIST, self._list)
            if await step(DELETE, self._delete):
                await step(f"{LIST}, after that", self._list_again)
        await step(f"{DELETE}, unknown config", self._delete_unknown)

    async def clear(self, seconds: float) -> None:
        """Delete the config if it is still there. Raises RemoteCallError."""
        if self.config_id:
            await self._client.delete_push(self._task_id, self.config_id, timeout=seconds)
            self.config_id = ""

    async def _create(self) -> str:
        config_id = f"locum-check-{self._new_id()}"
        # Whatever comes of the call, there may be one from now on.
        self.config_id = config_id
        try:
            config = await self._client.create_push(
                self._task_id,
                config_id=config_id,
                url=NOBODY,
                token=self._new_id(),
                timeout=self._seconds,
            )
        except RemoteCallError as error:
            if error.kind == "refused":
                self.config_id = ""
            if error.agent_code in _INVALID or (error.code, error.status) == (
                "remote.refused",
                400,
            ):
                # As an agent may that does not push to just anywhere (A2A 13.2).
                return f"refused, perhaps for its URL: {words_of_error(error)}"
            raise
        self.config_id = config.id
        if config.url != NOBODY:
            seen = f"The config was created with the URL {config.url or '(none)'}."
            self._log.find("push.changed", CREATE, seen, f"{NOBODY}, as asked (A2A 3.1.7).")
        return "created"

    async def _configs(self) -> list[str]:
        configs = await self._client.list_push(self._task_id, timeout=self._seconds)
        return [config.id for config in configs]

    async def _list(self) -> str:
        ids = await self._configs()
        if self.config_id not in ids:
            expected = "Every config that was created for the task (A2A 3.1.9)."
            self._log.find("push.not_listed", LIST, "The new config is not in the list.", expected)
        return f"{len(ids)} config{'' if len(ids) == 1 else 's'}"

    async def _delete(self) -> str:
        await self._client.delete_push(self._task_id, self.config_id, timeout=self._seconds)
        return "deleted"

    async def _list_again(self) -> str:
        ids = await self._configs()
        if self.config_id in ids:
            expected = "It is permanently removed (A2A 3.1.10)."
            self._log.find(
                "push.not_deleted", DELETE, "The deleted config is still there.", expected
            )
        else:
            self.config_id = ""
        return f"{len(ids)} config{'' if len(ids) == 1 else 's'}"

    async def _delete_unknown(self) -> str:
        config_id = f"locum-check-{self._new_id()}"
        try:
            await self._client.delete_push(self._task_id, config_id, timeout=self._seconds)
        except RemoteCallError as error:
            if error.code != "remote.not_found":
                raise
            return f"refused, {words_of_error(error)}"
        return "answered"
