"""What host names stand for, by the system's resolver, which blocks the thread that asks it.

asyncio asks it in a few threads that all of a process share: one name whose server is silent keeps
them busy, and then no other name is found (J4). Here each name has a thread of its own.
"""

import asyncio
import socket
from functools import partial
from threading import Thread
from typing import NamedTuple

__all__ = ["Address", "Names"]

_NUMERIC = socket.NI_NUMERICHOST | socket.NI_NUMERICSERV


class Address(NamedTuple):
    """One address of a name: `host` is numeric, with the zone of a link-local one."""

    family: int
    protocol: int
    host: str


class Names:
    """Look-ups of names, one at a time for each name, whoever waits for it.

    At most `limit` names are looked up at once; one more is refused, as by a resolver that is
    busy. A look-up cannot be broken off: its thread ends when the resolver does, and until then
    holds up neither an event loop nor the end of the process.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._under_way: dict[_Asked, asyncio.Future[list[Address]]] = {}

    async def look_up(
        self, host: str, port: int, family: int = socket.AF_UNSPEC, flags: int = 0
    ) -> list[Address]:
        """The addresses of `host`, in the resolver's order, each once.

        Raises OSError when it has none, or too much is asked at once; UnicodeError for what can be
        no name.
        """
        loop = asyncio.get_running_loop()
        asked = _Asked(loop, host, port, family, flags)
        found = self._under_way.get(asked)
        if found is None:
            if len(self._under_way) >= self._limit:
                raise socket.gaierror(
                    socket.EAI_AGAIN, f"{self._limit} other names are being looked up"
                )
            found = self._under_way[asked] = loop.create_future()
            # Seen, though nobody may wait for it any more when it is there.
            found.add_done_callback(lambda done: done.exception())
            run = partial(self._run, asked, found)
            Thread(target=run, name=f"look-up of {host}", daemon=True).start()
        # Who waits no longer, since its time is over, takes nothing from the others.
        return await asyncio.shield(found)

    def _run(self, asked: "_Asked", found: asyncio.Future[list[Address]]) -> None:
        addresses: list[Address] = []
        failed: Exception | None = None
        try:
            addresses = _addresses(asked)
        except Exception as error:  # noqa: BLE001  # whatever it is, somebody waits for it
            failed = error
        del self._under_way[asked]
        try:
            if failed is None:
                asked.loop.call_soon_threadsafe(found.set_result, addresses)
            else:
                asked.loop.call_soon_threadsafe(found.set_exception, failed)
        except RuntimeError:
            pass  # The loop was closed meanwhile: nobody waits.


class _Asked(NamedTuple):
    loop: asyncio.AbstractEventLoop
    host: str
    port: int
    family: int
    flags: int


def _addresses(asked: _Asked) -> list[Address]:
    infos = socket.getaddrinfo(
        asked.host, asked.port, asked.family, socket.SOCK_STREAM, flags=asked.flags
    )
    found = (
        Address(family, protocol, _numeric(address)) for family, _, protocol, _, address in infos
    )
    return list(dict.fromkeys(found))


def _numeric(address: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> str:
    # The zone of a link-local address is beside it; without it nobody can dial there.
    if len(address) == 4 and address[3]:
        return socket.getnameinfo(address, _NUMERIC)[0]
    return str(address[0])
