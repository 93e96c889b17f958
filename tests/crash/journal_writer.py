"""A program that writes to a store until it is killed, and says of each event when it is on disk.

It is started with the URL of a store and the name of its run. Each line that it writes names an
event whose caller has been answered: the sub-task, the version and the hash. Named `rebuild`, it
makes the views again and again instead, and says so once.
"""

import asyncio
import os
import sys

from locum.adapters.store import Journal
from locum.core.commands import Command
from tests.stores import asks, brief, completed, reply, working

CALLERS = 12


async def write(url: str, run: str) -> None:
    """Live many lives at once, for ever."""
    async with Journal.open(url) as journal, asyncio.TaskGroup() as group:
        for caller in range(CALLERS):
            group.create_task(_live(journal, f"r{run}-c{caller}"))


async def rebuild(url: str) -> None:
    """Make the views again, for ever."""
    async with Journal.open(url) as journal:
        _say("rebuilding\n")
        while True:
            await journal.rebuild()


def _say(lines: str) -> None:
    # One write, so that a kill cuts no line in two; a pipe takes it whole.
    os.write(sys.stdout.fileno(), lines.encode())


async def _live(journal: Journal, caller: str) -> None:
    turn = 0
    while True:
        turn += 1
        key = f"{caller}-{turn}"
        for command in (brief(key), working(key), asks(key), reply(key), completed(key)):
            await _record(journal, command)


async def _record(journal: Journal, command: Command) -> None:
    recorded = await journal.handle(command)
    _say("".join(f"{e.sub_task_id} {e.version} {e.hash}\n" for e in recorded.events))


if __name__ == "__main__":
    store_url, name = sys.argv[1:]
    asyncio.run(rebuild(store_url) if name == "rebuild" else write(store_url, name))
