"""The store against a model: whatever is done to it, it holds what `decide` decided, and no more.

The model is the core alone: a sub-task and its events for each id. The store is a real file, used
through two journals as by two processes, reopened and rebuilt at any time.
"""

import asyncio
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from locum.adapters.store import Journal, Recorded
from locum.core.chain import encode, verify_links
from locum.core.commands import Command
from locum.core.decide import decide
from locum.core.errors import LocumError
from locum.core.events import Event
from locum.core.subtask import SubTask
from locum.projections import Notification, SubTaskRow, note_for, row_after, row_of
from tests.lives import FOLLOW, OFF, push, task
from tests.stores import (
    brief,
    cancel,
    completed,
    contents,
    hear,
    logged,
    reply,
    revoke,
    rewatch,
    working,
)

# One test, and hundreds of lives in it: a slow disk or processor is no failure.
pytestmark = pytest.mark.timeout(300)

KEYS = [f"s{number}" for number in range(4)]
PARENTS = {key: f"p{number % 2}" for number, key in enumerate(KEYS)}

keys = st.sampled_from(KEYS)
watches = st.sampled_from([FOLLOW, OFF, push(1), push(2), push(3, config_id="locum-s2")])
states = st.sampled_from(["SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED", "FAILED"])
reports = st.builds(
    lambda key, state, words, watch: hear(
        key, task(state, *words, remote_task_id=f"t-{key}"), watch=watch
    ),
    keys,
    states,
    st.lists(st.sampled_from(["Which?", "Where?", "<b>", "é\n…"]), max_size=1),
    watches,
)
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(lambda key: brief(key, parent_id=PARENTS[key]), keys),
    st.builds(lambda key: brief(key, parent_id=PARENTS[key], idempotency_key=key), keys),
    reports,
    st.builds(working, keys),
    st.builds(completed, keys, st.text(st.characters(codec="utf-8"), max_size=20)),
    st.builds(reply, keys, st.just("the big one"), question=st.none() | st.integers(1, 9)),
    st.builds(rewatch, keys, watches),
    st.builds(revoke, keys, st.sampled_from(["locum-s1", "locum-s2"])),
    st.builds(cancel, keys),
)


def decided_by(
    sub_task: SubTask | None, command: Command
) -> tuple[SubTask | None, tuple[Event, ...]] | LocumError:
    """What the core decides, or the error with which it refuses."""
    try:
        return decide(sub_task, command)
    except LocumError as error:
        return error


class StoreMachine(RuleBasedStateMachine):
    """Commands, singly and in crowds, from two journals; reopening; rebuilding; comparing."""

    def __init__(self) -> None:
        super().__init__()
        self.sub_tasks: dict[str, SubTask] = {}
        self.log: list[Event] = []
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "locum.db"
        self.stack = AsyncExitStack()
        self.journals: list[Journal] = []

    def teardown(self) -> None:
        """Close everything."""
        self.runner.run(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()

    @initialize()
    def start(self) -> None:
        """Open the store twice."""
        self.runner.run(self._open())

    async def _open(self) -> None:
        self.journals = [
            await self.stack.enter_async_context(Journal.open(f"sqlite:///{self.path}", batch=3))
            for _ in range(2)
        ]

    @rule(which=st.integers(0, 1), crowd=st.lists(commands, min_size=1, max_size=12))
    def handle(self, which: int, crowd: list[Command]) -> None:
        """Commands that wait together: each has the outcome that the core alone would give it."""

        async def run() -> list[Recorded | BaseException]:
            handled = [self.journals[which].handle(command) for command in crowd]
            return await asyncio.gather(*handled, return_exceptions=True)

        for command, outcome in zip(crowd, self.runner.run(run()), strict=True):
            decided = decided_by(self.sub_tasks.get(command.sub_task_id), command)
            if isinstance(decided, LocumError):
                assert type(outcome) is type(decided)
                assert str(outcome) == str(decided)
                continue
            assert isinstance(outcome, Recorded)
            assert (outcome.sub_task, outcome.events) == decided
            self.sub_tasks[command.sub_task_id] = outcome.sub_task
            self.log += outcome.events
            if outcome.events:
                assert outcome.position == len(self.log)

    @rule()
    def reopen(self) -> None:
        """Close both journals and open them again."""
        self.runner.run(self.stack.aclose())
        self.runner.run(self._open())

    @rule(which=st.integers(0, 1))
    def rebuild(self, which: int) -> None:
        """E5: the views made again are byte for byte what they were."""

        async def run() -> None:
            journal = self.journals[which]
            await journal.views.wait(len(self.log))
            before = contents(self.path)
            await journal.rebuild()
            assert contents(self.path) == before

        self.runner.run(run())

    @invariant()
    def the_log_is_what_was_decided(self) -> None:
        """H3, I4: every event once, in order, its own bytes; every chain holds."""
        if not self.journals:
            return
        assert [row[1:] for row in logged(self.path)] == [
            (event.sub_task_id, event.version, event.TOPIC, encode(event)) for event in self.log
        ]
        for key in self.sub_tasks:
            chain = [encode(event) for event in self.log if event.sub_task_id == key]
            assert verify_links(chain) == []

    @invariant()
    def the_views_are_what_follows(self) -> None:
        """E1, E2, E3: rows, notes and what is open, read through either journal."""
        rows: dict[str, SubTaskRow] = {}
        notes: list[Notification] = []
        for position, event in enumerate(self.log, 1):
            rows[event.sub_task_id] = row = row_after(rows.get(event.sub_task_id), event)
            note = note_for(row, event, position)
            if note is not None:
                notes.append(note)
        assert rows == {key: row_of(sub_task) for key, sub_task in self.sub_tasks.items()}
        for journal in self.journals:
            self.runner.run(self._compare(journal, rows, notes))

    async def _compare(
        self, journal: Journal, rows: dict[str, SubTaskRow], notes: list[Notification]
    ) -> None:
        views = journal.views
        await views.wait(len(self.log))
        assert await views.rows() == list(rows.values())
        for parent_id in set(PARENTS.values()):
            told, _ = await views.notes(parent_id, limit=1000)
            assert told == [note for note in notes if note.parent_id == parent_id]
            assert await views.unresolved(parent_id) == [
                row.id for row in rows.values() if row.parent_id == parent_id and row.is_unresolved
            ]
        slots = [slot.id async for slot in views.open_slots()]
        assert slots == [row.id for row in rows.values() if row.is_open]


class TestStore(StoreMachine.TestCase):
    """E1, E2, E3, E5, H3, I4, case D5: whatever is done to the store, it holds what was decided."""

    settings = settings(stateful_step_count=10)

    def runTest(self) -> None:
        """I4, E5: the log is what the core decided, the views are what follows from it."""
        super().runTest()
