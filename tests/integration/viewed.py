"""Sub-tasks to be seen in the views, and commands that no view has seen: what their tests share."""

from locum.adapters.store import Journal
from locum.adapters.store.store import Store
from locum.adapters.store.writer import Recorded, Writer
from tests.lives import push
from tests.stores import asks, brief, completed, reply, revoke, rewatch, working

__all__ = ["live", "written"]


async def live(journal: Journal, count: int = 6) -> None:
    """Some sub-tasks of two parents, in several states, with all six events between them."""
    for number in range(count):
        key = f"s{number}"
        await journal.handle(brief(key, parent_id=f"p{number % 2}"))
        await journal.handle(working(key))
        await journal.handle(asks(key, watch=push(number)))
        if number % 3:
            await journal.handle(rewatch(key, push(number + 100)))
            await journal.handle(reply(key))
        if number % 3 == 2:
            await journal.handle(completed(key, "x" * 5000))
            await journal.handle(revoke(key, "locum-s1"))
    await journal.views.wait(journal.position)


def written(url: str, *commands: object) -> None:
    """Record commands as a process would that is killed before it projects."""
    store = Store(url, busy_timeout=5)
    store.open(create=True)
    for outcome in Writer(store.ledger, batch=64).handle(list(commands)):  # type: ignore[arg-type]  # commands, all
        assert isinstance(outcome, Recorded)
    store.close()
