"""The push config on the remote task: registered while parked, deleted at the end (D2, F1).

The token's digest was recorded before this module gives the token to anybody.
"""

import asyncio
import logging
from typing import Literal

from locum.core.commands import RevokePush, Rewatch
from locum.core.errors import RemoteCallError
from locum.core.policy import DeletePush, RegisterPush

from .a2a.remote_agent import AgentClient
from .desk import Desk
from .watching import look

__all__ = ["delete_push", "register_push"]

logger = logging.getLogger("locum.standin")

Outcome = Literal["deleted", "gone", "failed", "refused"]

DELETE_TRIES = 3
"""How often a deletion goes out while the agent cannot be reached; it is best effort (F1)."""


async def register_push(desk: Desk, action: RegisterPush) -> None:
    """See to it that the agent has our push config, then look at the task once (D2).

    After a restart the token is gone. Does the agent still list the config, it is kept; otherwise
    the watch is recorded anew, with another token (P4).
    """
    client = desk.client
    sub_task = await desk.load()
    if client is None:
        await _refuse(desk, action.config_id, "the agent is refused")
        return
    token = desk.token_for(action.token_digest)
    if token is None:
        if await _is_listed(desk, client, action.config_id):
            desk.mark_registered(action.token_digest)
            await look(desk)
            return
        await desk.record(
            Rewatch(
                sub_task_id=desk.id,
                at=desk.office.now(),
                actor="locum",
                cause="recovery",
                watch=desk.mint_watch(),
            )
        )
        return
    try:
        await client.create_push(
            sub_task.remote_task_id,
            config_id=action.config_id,
            url=_url(desk),
            token=token,
            participant_id=sub_task.participant_id,
        )
    except RemoteCallError as error:
        if error.kind == "in_doubt":
            await _delete(desk, client, action.config_id, sub_task.remote_task_id)
        await _refuse(desk, action.config_id, f"{error.code}: {error.message}")
        return
    desk.mark_registered(action.token_digest)
    await look(desk)


async def delete_push(desk: Desk, action: DeletePush) -> None:
    """Delete the push config and record how that went (F1)."""
    client = desk.client
    outcome: Outcome = "failed"
    detail = "the agent is refused"
    if client is not None:
        outcome, detail = await _delete(desk, client, action.config_id, action.remote_task_id)
    await desk.record(
        RevokePush(
            sub_task_id=desk.id,
            at=desk.office.now(),
            actor="locum",
            cause="recovery" if desk.recovered else "push",
            config_id=action.config_id,
            remote_task_id=action.remote_task_id,
            outcome=outcome,
            detail=detail,
        )
    )


async def _delete(
    desk: Desk, client: AgentClient, config_id: str, remote_task_id: str
) -> tuple[Outcome, str]:
    sub_task = await desk.load()
    outcome: Outcome = "deleted"
    detail = ""
    pause = desk.retry_pause()
    for left in reversed(range(DELETE_TRIES)):
        try:
            await client.delete_push(
                remote_task_id, config_id, participant_id=sub_task.participant_id
            )
        except RemoteCallError as error:
            outcome = "gone" if error.code == "remote.not_found" else "failed"
            detail = f"{error.code}: {error.message}"
            if error.kind == "refused" or not left:
                break
            pause.at_least(error.retry_after)
            await asyncio.sleep(pause.step())
        else:
            outcome, detail = "deleted", ""
            break
    if await _delete_ours(desk, client, remote_task_id):
        return "deleted", ""
    return outcome, detail


async def _delete_ours(desk: Desk, client: AgentClient, remote_task_id: str) -> bool:
    """Delete what is left under our URL: some agents give a config an id of their own."""
    sub_task = await desk.load()
    deleted = False
    try:
        for config in await client.list_push(
            remote_task_id, participant_id=sub_task.participant_id
        ):
            if config.url == _url(desk):
                await client.delete_push(
                    remote_task_id, config.id, participant_id=sub_task.participant_id
                )
                deleted = True
    except RemoteCallError as error:
        logger.debug("sub-task %s: push configs could not be listed: %s", desk.id, error.code)
    return deleted


async def _is_listed(desk: Desk, client: AgentClient, config_id: str) -> bool:
    sub_task = await desk.load()
    try:
        configs = await client.list_push(
            sub_task.remote_task_id, participant_id=sub_task.participant_id
        )
    except RemoteCallError as error:
        logger.info("sub-task %s: push configs could not be listed: %s", desk.id, error.code)
        return False
    return any(config.id == config_id or config.url == _url(desk) for config in configs)


async def _refuse(desk: Desk, config_id: str, detail: str) -> None:
    await desk.record(
        RevokePush(
            sub_task_id=desk.id,
            at=desk.office.now(),
            actor="locum",
            cause="push",
            config_id=config_id,
            outcome="refused",
            detail=detail,
        )
    )


def _url(desk: Desk) -> str:
    return f"{desk.office.base_url}/a2a/push/{desk.id}"
