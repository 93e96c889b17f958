"""Any life of a sub-task: it and its twin, read back from the stored bytes, stay the same."""

from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from locum.core.artifacts import Artifacts
from locum.core.chain import decode, encode, verify_links
from locum.core.commands import (
    Cancel,
    Command,
    Expire,
    Fail,
    Hear,
    RefuseReply,
    RevokePush,
    Rewatch,
)
from locum.core.decide import decide
from locum.core.errors import (
    NotParkedError,
    StaleQuestionError,
    SubTaskResolvedError,
)
from locum.core.events import Event, Linked, Parked, PushRevoked, Resolved
from locum.core.hearing import ANSWERED
from locum.core.lifecycle import A2AState
from locum.core.policy import DeletePush, Known, Rest, Traits, next_action
from locum.core.replay import as_of_time, as_of_version, illegal_steps
from locum.core.report import RemoteReport
from locum.core.subtask import SubTask, evolve, replay
from locum.core.times import add_seconds
from tests.lives import (
    FOLLOW,
    OFF,
    POLL,
    START,
    answer,
    artifact,
    chunk,
    data,
    message,
    push,
    remote,
    spawn,
    status,
    task,
    text,
)

words = st.sampled_from(["", "Which hall?", "Which row?", "counting", "12"])
said = st.one_of(
    st.just(()), words.map(lambda found: (text(found),)), st.just((data({"call": "count"}),))
)
times = st.one_of(st.none(), st.integers(0, 40).map(remote))
watches = st.one_of(
    st.sampled_from([FOLLOW, POLL, OFF]),
    st.integers(1, 3).map(push),
    st.integers(1, 3).map(lambda token: push(token, "other-id")),
)
sources = st.sampled_from(["stream", "send", "get", "cancel"])
states = st.one_of(st.none(), st.sampled_from(A2AState))
artifacts = st.lists(
    st.builds(artifact, st.sampled_from(["a", "b", ""]), words, st.just(data([1]))), max_size=2
).map(tuple)
reports = st.one_of(
    st.builds(
        lambda make, state, parts, **fields: make(state, *parts, **fields),
        st.sampled_from([task, status]),
        states,
        said,
        remote_at=times,
        remote_task_id=st.sampled_from(["t1", "t1", "t1", "t2", ""]),
        context_id=st.sampled_from(["", "c1", "c2"]),
        message_id=st.sampled_from(["", "q1", "q2"]),
        sub_state=st.sampled_from(["", "", ANSWERED]),
        anomalies=st.sampled_from([(), ("json.null",)]),
    ),
    st.builds(
        lambda state, found, **fields: task(state, artifacts=found, **fields),
        states,
        artifacts,
        remote_at=times,
    ),
    st.builds(
        lambda artifact_id, part, *, append, last: chunk(
            artifact_id, part, append=append, last=last
        ),
        st.sampled_from(["a", "b"]),
        words,
        append=st.booleans(),
        last=st.booleans(),
    ),
    st.builds(lambda parts: message(*parts), said),
)


# One test, and hundreds of lives in it: a slow disk or processor is no failure.
pytestmark = pytest.mark.timeout(300)


class Lives(RuleBasedStateMachine):
    """Drives `decide` with any commands in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.count = 0
        self.events: list[Event] = []
        self.stored: list[bytes] = []
        self.sub_task: SubTask | None = None
        self.twin: SubTask | None = None
        self.artifacts = Artifacts(limit=10_000)

    @initialize(deadline=st.sampled_from([None, remote(30)]))
    def spawned(self, deadline: str | None) -> None:
        self.do(spawn(deadline=deadline, parts=(data({"n": 1.0}),)))

    def do(self, command: Command) -> tuple[Event, ...]:
        """Decide for both; the events must be the same, and are all that changes."""
        command = msgspec.structs.replace(command, at=self.now)
        before = self.sub_task
        after, events = decide(before, command)
        twin, twin_events = decide(self.twin, command)
        assert events == twin_events
        assert twin == after
        if not events:
            assert after is before
        self._check_steps(before, events)
        for event in events:
            state = encode(event)
            self.stored.append(state)
            self.events.append(event)
            self.twin = evolve(self.twin, decode(state))
        self.sub_task = after
        return events

    def _check_steps(self, before: SubTask | None, events: tuple[Event, ...]) -> None:
        if before is None:
            return
        if before.is_resolved:
            assert all(isinstance(event, PushRevoked) for event in events)
        if before.reply is not None and not any(
            isinstance(event, Parked | Resolved | Linked) for event in events
        ):
            now = replay([*self.events, *events])
            assert now is not None
            assert now.reply == before.reply

    # --- what may happen

    @rule(seconds=st.sampled_from([0.5, 5, 70, 4_000]))
    def wait(self, seconds: float) -> None:
        self.now = add_seconds(self.now, seconds)

    @rule(
        report=reports,
        source=sources,
        watch=watches,
        moved=st.booleans(),
        confirmed=st.booleans(),
    )
    def hear(self, report: RemoteReport, source: Any, watch: Any, **flags: bool) -> None:
        sub_task = self.known
        self.artifacts.note(report)
        command = Hear(
            sub_task_id="s1",
            at=self.now,
            actor="agent:inventory",
            cause="follow",
            report=report,
            source=source,
            artifacts=self.artifacts.whole,
            watch=watch,
            **flags,
        )
        self.do(command)
        # Case P6: the same again is no news.
        assert self.do(msgspec.structs.replace(command, confirmed=False)) == ()
        is_ours = report.remote_task_id in ("", self.known.remote_task_id)
        is_end = report.state is not None and report.state.is_terminal
        if source == "get" and is_end and is_ours and report.kind == "task":
            assert self.known.is_resolved
        if report.remote_task_id not in ("", sub_task.remote_task_id) and sub_task.is_linked:
            assert flags["moved"] or self.known is sub_task

    @rule(named=st.one_of(st.none(), st.integers(1, 9)), said=words)
    def reply(self, named: int | None, said: str) -> None:
        self.count += 1
        sub_task = self.known
        try:
            self.do(answer(said, message_id=f"r{self.count}", question=named))
        except SubTaskResolvedError:
            assert sub_task.is_resolved
        except NotParkedError:
            assert not sub_task.state.is_parked
        except StaleQuestionError:
            assert sub_task.question is not None
            assert named is not None
            assert not sub_task.question <= named <= sub_task.version
        else:
            assert sub_task.state.is_parked
            assert self.known.reply is not None

    @rule(watch=watches, is_pending=st.booleans())
    def refuse_reply(self, watch: Any, *, is_pending: bool) -> None:
        pending = self.known.reply
        message_id = pending.message_id if pending and is_pending else "r0"
        events = self.do(
            RefuseReply(
                sub_task_id="s1",
                at=self.now,
                actor="agent:inventory",
                message_id=message_id,
                reason="no",
                watch=watch,
            )
        )
        assert bool(events) == bool(pending and is_pending)
        if events and pending:
            assert self.known.question == pending.question

    @rule(watch=watches)
    def rewatch(self, watch: Any) -> None:
        question = self.known.question
        events = self.do(
            Rewatch(sub_task_id="s1", at=self.now, actor="locum", cause="recovery", watch=watch)
        )
        assert bool(events) == (question is not None)
        assert self.known.question == question

    @rule(
        config_id=st.sampled_from(["locum-s1", "other-id"]),
        remote_task_id=st.sampled_from(["", "t1", "t2"]),
        outcome=st.sampled_from(["deleted", "gone", "failed", "refused"]),
    )
    def revoke(self, **fields: Any) -> None:
        before = self.known.push_configs
        events = self.do(
            RevokePush(sub_task_id="s1", at=self.now, actor="locum", cause="push", **fields)
        )
        assert len(self.known.push_configs) == len(before) - len(events)

    @precondition(lambda self: self.count % 4 == 3)
    @rule(confirmed=st.booleans(), how=st.sampled_from(["cancel", "expire", "fail"]))
    def end(self, how: str, *, confirmed: bool) -> None:
        common: dict[str, Any] = {"sub_task_id": "s1", "at": self.now, "actor": "planner"}
        before = self.known
        if how == "cancel":
            events = self.do(Cancel(reason="enough", confirmed=confirmed, **common))
        elif how == "expire":
            events = self.do(Expire(confirmed=confirmed, **common))
        else:
            events = self.do(Fail(cause="send", code="remote.gone", text="gone", **common))
        can_end = not before.is_resolved and (how != "expire" or before.deadline is not None)
        assert bool(events) == can_end

    # --- what always holds

    @property
    def known(self) -> SubTask:
        assert self.sub_task is not None
        return self.sub_task

    @invariant()
    def twins_are_the_same(self) -> None:
        """H1, H4: what is read back from the stored bytes is what was lived."""
        assert self.twin == self.sub_task
        assert replay(self.events) == self.sub_task

    @invariant()
    def chain_and_machine_hold(self) -> None:
        """H2, H3: versions are contiguous, hashes linked, every step legal."""
        assert verify_links(self.stored, sub_task_id="s1", latest=len(self.stored)) == []
        assert illegal_steps(self.events) == []

    @invariant()
    def shape_is_sound(self) -> None:
        """C12, F1, F3: a question is open just while parked, a reply pending just while working."""
        sub_task = self.sub_task
        if sub_task is None:
            return
        assert (sub_task.question is not None) == sub_task.state.is_parked
        assert (sub_task.watch is not None) == sub_task.state.is_parked
        if sub_task.reply is not None:
            assert sub_task.state is A2AState.WORKING
        if sub_task.is_resolved:
            assert sub_task.token_digest is None
            last = [event for event in self.events if not isinstance(event, PushRevoked)][-1]
            assert isinstance(last, Resolved)
        if not sub_task.is_linked:
            assert sub_task.state is A2AState.SUBMITTED or sub_task.is_resolved

    @invariant()
    def something_is_next(self) -> None:
        """I1: there is always a next action; Rest only when there is nothing to wait for."""
        sub_task = self.sub_task
        if sub_task is None:
            return
        for streaming in (True, False):
            action = next_action(sub_task, self.now, traits=Traits(streaming=streaming))
            if sub_task.is_resolved:
                assert isinstance(action, DeletePush if sub_task.push_configs else Rest)
            elif isinstance(action, Rest):
                assert sub_task.watch == OFF
        cancelling = next_action(sub_task, self.now, known=Known(cancelling=True))
        assert sub_task.is_resolved or type(cancelling).__name__ == "CancelRemote"

    @invariant()
    def any_point_can_be_shown(self) -> None:
        """H4: the history up to now, by version and by time, makes this sub-task."""
        if self.events:
            assert replay(as_of_version(self.events, len(self.events))) == self.sub_task
            assert replay(as_of_time(self.events, self.now)) == self.sub_task


class TestLives(Lives.TestCase):
    """H1, H2, H3, H4, C12, F3, I1: any life of a sub-task holds what its rules and invariants say."""

    def runTest(self) -> None:
        """H1, H2, H3: the aggregate and its reloaded twin stay the same, chain and machine hold."""
        super().runTest()
