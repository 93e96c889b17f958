"""The push config on the remote task: registered while parked, deleted at the end (D2, F1), or
when the task is watched in another way by now (D1).

The token's digest was recorded before this module gives the token to anybody.
"""

import asyncio
import logging
from contextlib import suppress
from typing import Literal

import httpx

from locum.core.commands import RevokePush, Rewatch
from locum.core.errors import RemoteCallError
from locum.core.policy import DeletePush, RegisterPush

from ..a2a.calls.remote_agent import AgentClient
from ..a2a.wire.words import one_line, redacted
from ..pause import Pause
from .desk import Desk
from .watching import look

__all__ = ["change_watch", "delete_push", "register_push"]

logger = logging.getLogger("locum.standin")

Outcome = Literal["deleted", "gone", "failed", "refused"]

SWEEPS = 4
"""How often a config is looked for once more whose creation was broken off, at growing pauses."""


async def register_push(desk: Desk, action: RegisterPush) -> None:
    """See to it that the agent has our push config, then look at the task once (D2).

    After a restart the token is gone. Does the agent still have the config with it, it is kept;
    otherwise the watch is recorded anew, with another token (case P4).
    """
    client = desk.client
    if client is None:
        # Away since the watch was recorded: it is asked when it is back (I1).
        await asyncio.sleep(desk.pause.step())
        return
    token = desk.token_for(action.token_digest)
    if token is None:
        await _take_up(desk, client, action)
        return
    sub_task = await desk.load()
    task_id = sub_task.remote_task_id
    try:
        kept = await client.create_push(
            task_id,
            config_id=action.config_id,
            url=_url(desk),
            token=token,
            participant_id=sub_task.participant_id,
        )
    except RemoteCallError as error:
        if error.kind == "in_doubt" or await _has_given_another(desk, action.token_digest):
            await _delete(desk, action.config_id, task_id)
        await _refuse(desk, action.config_id, _said(error))
        return
    if kept.id != action.config_id:
        desk.note_config_id(task_id, kept.id)
    if kept.url and not _is_ours(desk, kept.url):
        # It would ring somebody else, or nobody.
        await _delete(desk, action.config_id, task_id)
        url = one_line(redacted(kept.url, (token,)), 200)
        await _refuse(desk, action.config_id, f"push.changed: The agent registered {url} instead.")
        return
    desk.mark_registered(action.token_digest)
    await look(desk)


async def _take_up(desk: Desk, client: AgentClient, action: RegisterPush) -> None:
    """Keep what another process registered, or watch anew (I1, case P4)."""
    try:
        is_kept = await _is_kept(desk, client, action)
    except RemoteCallError as error:
        logger.info("sub-task %s: push configs could not be listed: %s", desk.id, error.code)
        if error.kind == "transient":
            desk.pause.at_least(error.retry_after)
            await asyncio.sleep(desk.pause.step())
            return
        is_kept = False
    if is_kept:
        desk.mark_registered(action.token_digest)
        await look(desk)
        return
    await _rewatch(desk)


async def change_watch(desk: Desk) -> None:
    """Watch it as the settings want it by now, once the agent is known: same question (D1)."""
    if desk.client is None and desk.traits.watch != "off":
        await asyncio.sleep(desk.pause.step())
        return
    await _rewatch(desk)


async def _rewatch(desk: Desk) -> None:
    await desk.record(
        Rewatch(
            sub_task_id=desk.id,
            at=desk.office.now(),
            actor="locum",
            cause="recovery",
            watch=desk.mint_watch(),
        )
    )


async def _is_kept(desk: Desk, client: AgentClient, action: RegisterPush) -> bool:
    """True when the agent has a config of ours with the token of this very watch."""
    sub_task = await desk.load()
    configs = await client.list_push(
        sub_task.remote_task_id, participant_id=sub_task.participant_id
    )
    # Under our id there may be another URL, from before `server.base_url` was changed.
    digests = {config.token_digest for config in configs if _is_ours(desk, config.url)}
    if "" in digests and not await _has_given_another(desk, action.token_digest):
        return True  # It does not say which token it has, but there was only this one.
    return action.token_digest in digests


async def _has_given_another(desk: Desk, token_digest: str) -> bool:
    """True when the agent may have a config with an earlier token than this."""
    return bool(await _digests(desk) - {token_digest})


async def _digests(desk: Desk) -> frozenset[str]:
    """The digests of all tokens that the agent may have been given."""
    return frozenset((await desk.load()).token_digests)


async def delete_push(desk: Desk, action: DeletePush) -> None:
    """Delete the push config and record how that went (F1)."""
    outcome, detail = await _delete(desk, action.config_id, action.remote_task_id)
    if await _sweep(desk, action.remote_task_id):
        outcome, detail = "deleted", ""
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


async def _delete(desk: Desk, config_id: str, remote_task_id: str) -> tuple[Outcome, str]:
    """Delete it; while the agent cannot be reached, it is tried for as long as a send is."""
    loop = asyncio.get_running_loop()
    give_up = loop.time() + desk.office.settings.send_timeout
    pause = desk.retry_pause()
    sub_task = await desk.load()
    while True:
        outcome, detail, is_final = await _try_delete(
            desk, config_id, remote_task_id, sub_task.participant_id, pause
        )
        if is_final or desk.is_orphan or loop.time() >= give_up:
            break
        await asyncio.sleep(min(pause.step(), give_up - loop.time()))
        await desk.reach()
    if await _delete_ours(desk, remote_task_id, sub_task.participant_id):
        return "deleted", ""
    return outcome, detail


async def _sweep(desk: Desk, remote_task_id: str) -> bool:
    """Delete what an agent stores late: its creation was broken off by the end. True if it did so.

    A token that is still here was never surely taken: the agent may be about to keep it.
    """
    sub_task = await desk.load()
    is_over = sub_task.is_resolved and remote_task_id == sub_task.remote_task_id
    if not is_over or not any(map(desk.token_for, await _digests(desk))):
        return False
    pause = desk.retry_pause()
    for _ in range(SWEEPS):
        await asyncio.sleep(pause.step())
        if await _delete_ours(desk, remote_task_id, sub_task.participant_id):
            return True
    return False


async def _try_delete(
    desk: Desk, config_id: str, remote_task_id: str, participant_id: str, pause: Pause
) -> tuple[Outcome, str, bool]:
    """One try: the outcome, its detail, and whether that is final."""
    client = desk.client
    if client is None:
        return "failed", "the agent is refused", False
    # Some agents keep each registration under another id of their own.
    *earlier, latest = desk.config_ids.get(remote_task_id, (config_id,))
    for one in earlier:
        with suppress(RemoteCallError):
            await client.delete_push(remote_task_id, one, participant_id=participant_id)
    try:
        await client.delete_push(remote_task_id, latest, participant_id=participant_id)
    except RemoteCallError as error:
        pause.at_least(error.retry_after)
        is_gone = error.code == "remote.not_found"
        return "gone" if is_gone else "failed", _said(error), error.kind == "refused"
    return "deleted", "", True


async def _delete_ours(desk: Desk, remote_task_id: str, participant_id: str) -> bool:
    """Delete what is left under our URL: some agents give a config an id of their own."""
    client = desk.client
    deleted = False
    if client is None:
        return deleted
    try:
        for config in await client.list_push(remote_task_id, participant_id=participant_id):
            # `server.base_url` may have been another one when it was registered.
            if config.url.partition("?")[0].endswith(_path(desk)):
                await client.delete_push(remote_task_id, config.id, participant_id=participant_id)
                deleted = True
    except RemoteCallError as error:
        logger.debug("sub-task %s: push configs could not be listed: %s", desk.id, error.code)
    return deleted


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


def _said(error: RemoteCallError) -> str:
    """The error in words. The token that an agent quotes with its config is masked in them (D2)."""
    return f"{error.code}: {error.message}"


def _url(desk: Desk) -> str:
    return f"{desk.office.base_url}{_path(desk)}"


def _path(desk: Desk) -> str:
    return f"/a2a/push/{desk.id}"


def _is_ours(desk: Desk, url: str) -> bool:
    """True for our URL, in whatever spelling the agent keeps it."""
    try:
        return httpx.URL(url) == httpx.URL(_url(desk))
    except httpx.InvalidURL:
        return False
