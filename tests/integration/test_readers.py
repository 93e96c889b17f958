"""The threads in which the store is read, and how they end."""

import asyncio
import threading

from locum.adapters.store.threads import Readers


async def test_work_that_ends_as_they_are_closed() -> None:
    """D11: a read that ends in the very moment in which the readers are closed stops nothing: the
    last of the work is done and no thread is left.
    """
    readers = Readers(1)
    gate = threading.Event()
    done: list[str] = []
    work = asyncio.ensure_future(readers.run(gate.wait))
    await asyncio.sleep(0)
    gate.set()
    # The only thread takes this up when the work has been reported, which the loop has yet to see.
    readers._pool.submit(gate.wait).result()
    await asyncio.sleep(0)
    await readers.close(lambda: done.append("last"))
    assert await work
    assert done == ["last"]
    assert not [one for one in threading.enumerate() if one.name.startswith("locum-reader")]
