"""The bell: asyncio's Event in little memory."""

import asyncio

from locum.adapters.standin.bell import Bell


async def test_whoever_waits_goes_on_when_it_rings() -> None:
    """D3: all who wait are woken, once; who comes later does not wait until it is cleared."""
    bell = Bell()
    waiting = [asyncio.create_task(bell.wait()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    bell.set()
    assert bell.is_set()
    await asyncio.gather(*waiting)
    await bell.wait()
    bell.clear()
    late = asyncio.create_task(bell.wait())
    await asyncio.sleep(0)
    assert not late.done()
    bell.set()
    await late


async def test_who_gives_up_waiting_leaves_nothing() -> None:
    """D3: a cancelled wait disturbs no other, and a ring does not trip over it."""
    bell = Bell()
    one, other = (asyncio.create_task(bell.wait()) for _ in range(2))
    await asyncio.sleep(0)
    one.cancel()
    bell.set()
    await asyncio.wait({one, other})
    assert one.cancelled()
    assert other.result() is None
