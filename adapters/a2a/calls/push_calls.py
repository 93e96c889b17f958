"""The calls about a task's push configs (D2, F1). The tokens that they carry are in no error."""

import hashlib
from dataclasses import dataclass

from a2a.client.client import Client
from a2a.types.a2a_pb2 import (
    AuthenticationInfo,
    DeleteTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    TaskPushNotificationConfig,
)

from locum.core.errors import RemoteCallError

from ..wire.redaction import without_secret
from ..wire.words import one_line
from .calling import Caller

__all__ = ["PushCalls", "PushConfig"]

_PAGES = 10
_PAGE_SIZE = 100


@dataclass(frozen=True, slots=True)
class PushConfig:
    """A push config as an agent keeps it; of its token only the digest is read back (D2)."""

    id: str
    url: str
    token_digest: str = ""
    """SHA-256 in hexadecimal; empty when the agent does not say which token it has."""

    @classmethod
    def of(cls, config: TaskPushNotificationConfig) -> "PushConfig":
        """What an agent said of a config."""
        token = config.token or config.authentication.credentials
        digest = hashlib.sha256(token.encode()).hexdigest() if token else ""
        return cls(config.id, config.url, digest)


class PushCalls:
    """The part of AgentClient that is about push configs."""

    _caller: Caller
    _plain: Client

    async def create_push(
        self,
        task_id: str,
        *,
        config_id: str,
        url: str,
        token: str,
        participant_id: str | None = None,
        timeout: float | None = None,
    ) -> PushConfig:
        """Register for pushes about a task; the config as the agent keeps it, under its id.

        The token goes out both as `token` and as Bearer authentication (D2).
        """
        try:
            call, config = await self._caller.ask(
                "CreateTaskPushNotificationConfig",
                self._plain.create_task_push_notification_config,
                TaskPushNotificationConfig(
                    id=config_id,
                    task_id=task_id,
                    url=url,
                    token=token,
                    authentication=AuthenticationInfo(scheme="Bearer", credentials=token),
                ),
                task_id=task_id,
                participant_id=participant_id,
                timeout=timeout,
            )
        except RemoteCallError as error:
            # An agent may quote what it was sent, and what led to the error has it in clear.
            raise without_secret(error, token) from None
        if config.task_id not in ("", task_id):
            asked, other = (one_line(x, 100) for x in (task_id, config.task_id))
            raise call.error(
                f"The agent was asked for pushes about task {asked!r} and registered {other!r}.",
                "remote.wrong_task",
            )
        return PushConfig(config.id or config_id, config.url)

    async def list_push(
        self, task_id: str, *, participant_id: str | None = None, timeout: float | None = None
    ) -> tuple[PushConfig, ...]:
        """The push configs that the agent has for a task, its first thousand."""
        configs: list[PushConfig] = []
        token = ""
        for _ in range(_PAGES):
            _, page = await self._caller.ask(
                "ListTaskPushNotificationConfigs",
                self._plain.list_task_push_notification_configs,
                ListTaskPushNotificationConfigsRequest(
                    task_id=task_id, page_size=_PAGE_SIZE, page_token=token
                ),
                task_id=task_id,
                participant_id=participant_id,
                timeout=timeout,
            )
            configs.extend(
                PushConfig.of(config) for config in page.configs if config.task_id in ("", task_id)
            )
            if page.next_page_token in ("", token):
                break
            token = page.next_page_token
        return tuple(configs)

    async def delete_push(
        self,
        task_id: str,
        config_id: str,
        *,
        participant_id: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Delete a push config (F1). `remote.not_found` when the agent has no such config or task."""
        await self._caller.ask(
            "DeleteTaskPushNotificationConfig",
            self._plain.delete_task_push_notification_config,
            DeleteTaskPushNotificationConfigRequest(task_id=task_id, id=config_id),
            task_id=task_id,
            config_id=config_id,
            participant_id=participant_id,
            timeout=timeout,
        )
