"""Two writers on one store: each change is recorded once, and a conflict is decided again."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from eventsourcing.persistence import StoredEvent

from locum.adapters.store import Journal, Recorded
from locum.adapters.store.ledger import Ledger
from locum.adapters.store.store import Store
from locum.adapters.store.writer import Writer
from locum.core.chain import verify_links
from locum.core.errors import NotParkedError, StoreError, SubTaskResolvedError
from locum.projections import row_of
from tests.stores import asks, brief, cancel, completed, logged, reply, working


async def test_two_processes_hear_the_same_change(url: str, path: Path) -> None:
    """I4, case D5: both decide it, one records it; the other is told what is there."""
    async with Journal.open(url) as one, Journal.open(url) as other:
        await one.handle(brief("s1"))
        await one.handle(working("s1"))
        assert (await other.handle(working("s1"))).events == ()
        first = await one.handle(completed("s1"))
        second = await other.handle(completed("s1"))
        assert (len(first.events), second.events) == (1, ())
        assert second.sub_task == first.sub_task
        await other.views.wait(second.position)
        assert await other.views.row("s1") == row_of(first.sub_task)
    assert len(logged(path)) == 3


async def test_a_conflict_is_decided_again(url: str, path: Path) -> None:
    """I4, case D5: a command that met another process's write is decided on top of it."""
    async with Journal.open(url) as one, Journal.open(url) as other:
        await one.handle(brief("s1"))
        await other.handle(working("s1"))
        outcomes = await asyncio.gather(
            one.handle(asks("s1")),
            one.handle(reply("s1")),
            one.handle(brief("s2")),
            one.handle(working("s2")),
            one.handle(reply("s2")),
            return_exceptions=True,
        )
        assert isinstance(outcomes[4], NotParkedError)
        assert [event.version for event in await one.events("s1")] == [1, 2, 3, 4]
        assert verify_links(await one.stored("s1")) == []
        assert (await one.load("s1")).reply is not None
        with pytest.raises(NotParkedError):
            await other.handle(reply("s1"))
        await other.handle(cancel("s1"))
        with pytest.raises(SubTaskResolvedError):
            await one.handle(reply("s1"))


async def test_an_id_that_is_taken_is_found_out(url: str) -> None:
    """C10: a brief under an id that another process has recorded is not recorded again."""
    async with Journal.open(url) as one, Journal.open(url) as other:
        first = await one.handle(brief("s1"))
        assert await other.handle(brief("s1")) == Recorded(first.sub_task, (), 1)


class _Raced(Ledger):
    """A log to which another process writes just before each of our own commits."""

    rival: Writer
    races = 2

    def append(self, events: Sequence[StoredEvent]) -> Sequence[int]:
        if self.races:
            self.races -= 1
            self.rival.handle([asks("s1", f"Question {self.races}?")])
        return super().append(events)


async def test_a_first_conflict_is_not_noticed(url: str, path: Path) -> None:
    """I4, case D5: decided again on the other's event, recorded after it."""
    mine, theirs = Store(url, busy_timeout=5), Store(url, busy_timeout=5)
    mine.open(create=True)
    theirs.open(create=True)
    raced = _Raced(mine.ledger._datastore)
    raced.races = 1
    raced.rival = Writer(theirs.ledger, batch=64)
    raced.rival.handle([brief("s1"), working("s1")])
    outcomes = Writer(raced, batch=64).handle([asks("s1", "Mine?"), brief("s2")])
    positions = [outcome.position for outcome in outcomes if isinstance(outcome, Recorded)]
    assert positions == [4, 5]
    mine.close()
    theirs.close()
    assert [(key, version) for _, key, version, _, _ in logged(path)] == [
        ("s1", 1),
        ("s1", 2),
        ("s1", 3),
        ("s1", 4),
        ("s2", 1),
    ]
    assert verify_links(state for _, key, _, _, state in logged(path) if key == "s1") == []


async def test_what_others_write_in_between_is_noticed(url: str, path: Path) -> None:
    """I4, case D5: another process's write beside a commit of ours is seen by the next command."""
    mine, theirs = Store(url, busy_timeout=5), Store(url, busy_timeout=5)
    mine.open(create=True)
    theirs.open(create=True)
    raced = _Raced(mine.ledger._datastore)
    raced.races = 0
    raced.rival = Writer(theirs.ledger, batch=64)
    writer = Writer(raced, batch=64)
    (_, _, answered) = writer.handle([brief("s1"), working("s1"), reply("s1")])
    assert isinstance(answered, NotParkedError)
    raced.races = 1
    writer.handle([brief("s3")])
    (answered,) = writer.handle([reply("s1")])
    assert isinstance(answered, Recorded)
    mine.close()
    theirs.close()


async def test_a_second_conflict_is_reported(url: str, path: Path) -> None:
    """I4, case D5: decided twice, in conflict twice: the caller is told and nothing is recorded."""
    mine, theirs = Store(url, busy_timeout=5), Store(url, busy_timeout=5)
    mine.open(create=True)
    theirs.open(create=True)
    raced = _Raced(mine.ledger._datastore)
    raced.rival = Writer(theirs.ledger, batch=64)
    raced.rival.handle([brief("s1"), working("s1")])
    writer = Writer(raced, batch=64)
    outcomes = writer.handle([asks("s1", "Mine?"), brief("s2"), reply("s1")])
    assert isinstance(outcomes[0], StoreError)
    assert isinstance(outcomes[2], StoreError)
    assert outcomes[0].code == outcomes[2].code == "store.conflict"
    assert isinstance(outcomes[1], Recorded)
    mine.close()
    theirs.close()
    assert b"Mine?" not in b"".join(state for *_, state in logged(path))
