"""Doing several things until the first of them is done. Leaves no task behind (D11)."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from litestar.types import Receive

from .problems import ClientGoneError

__all__ = ["first_of", "hung_up"]


async def first_of(*coroutines: Coroutine[Any, Any, Any]) -> None:
    """Run all until one returns, then cancel the others and await their ends.

    Raises an ExceptionGroup of what any of them raised.
    """
    async with asyncio.TaskGroup() as tasks:
        running = {tasks.create_task(coroutine) for coroutine in coroutines}
        await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        for task in running:
            task.cancel()


async def hung_up(receive: Receive) -> None:
    """Return when the client has gone, whether it had sent all of its request by then or not."""
    try:
        while (await receive())["type"] != "http.disconnect":
            pass
    except ClientGoneError:
        pass
