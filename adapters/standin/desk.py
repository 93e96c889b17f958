"""What one stand-in has on its desk: the record, the agent, and what only this process knows.

It hears reports into the journal and asks GetTask; when to do either is decided elsewhere
(`loop.py`, `watching.py`, `briefs.py`, `replies.py`).
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

import msgspec

from locum.core.artifacts import Artifacts
from locum.core.commands import Command, Hear, HearLimits, RefuseReply, Rewatch
from locum.core.errors import LocumError, RemoteCallError
from locum.core.events import Cause, Watch, WatchMode
from locum.core.hearing import Verdict, status_text, weigh
from locum.core.policy import Known, Traits, Wanted
from locum.core.report import RemoteReport, Source
from locum.core.subtask import SubTask

from ..a2a.calls.remote_agent import AgentClient
from ..pause import Pause
from ..settings import AgentSettings
from ..store.writer import Recorded
from .bell import Bell
from .doubts import Doubts
from .office import CancelWish, Claim, Office
from .recording import record
from .refusals import FINAL, unwatchable
from .tokens import PushTokens

__all__ = ["Desk"]

logger = logging.getLogger("locum.standin")
_NOBODY: frozenset[str] = frozenset()
_AS_ASKED: dict[str, tuple[str, ...]] = {}


class Desk:
    """One sub-task's desk. Lives as long as the sub-task is open in this process."""

    __slots__ = (
        "_given",
        "_miss_at",
        "_missed_with",
        "_task_of_artifacts",
        "_tokens",
        "agent_id",
        "artifacts",
        "attention",
        "backstop",
        "claims",
        "config_ids",
        "context_id",
        "doorbell",
        "doubts",
        "expected",
        "gone_streaming",
        "has_no_judge",
        "held",
        "id",
        "is_sending",
        "known",
        "missed_with",
        "odd",
        "office",
        "on_taken_up",
        "parent_id",
        "pause",
        "recovered",
        "remote_task_id",
        "task",
        "token_digest",
        "unanswered",
        "waiting_text",
        "wish",
    )

    def __init__(self, office: Office, sub_task_id: str, parent_id: str, agent_id: str) -> None:
        self.office = office
        self.id = sub_task_id
        self.parent_id = parent_id
        self.agent_id = agent_id
        self.known = Known()
        self.recovered = False
        """True until the first look after a restart (I1)."""
        self.on_taken_up: Callable[[], None] | None = None
        """Called once when a loop after a restart is at what it does from now on."""
        self.task: asyncio.Task[None] | None = None
        """The running loop; None while it waits for a push or a reply."""
        self.attention = Bell()
        self.backstop: asyncio.TimerHandle | None = None
        self.doorbell = Bell()
        """Set when a push or the backstop says that it is time for a look (D3, D8)."""
        self.remote_task_id = ""
        self.token_digest: str | None = None
        self.claims: tuple[Claim, ...] = ()
        self.config_ids = _AS_ASKED
        """The ids that an agent gave our push configs itself, by the remote task they are on (F1)."""
        self.expected = _NOBODY
        """Replies that are being recorded: whichever of them is, it has not left yet."""
        self.is_sending = False
        """True from when a message leaves until what it leads to has been heard."""
        self.wish: CancelWish | None = None
        self.artifacts = Artifacts(limit=office.settings.result_limit)
        self._task_of_artifacts = ""
        self.context_id = ""
        """The context as the agent named it last, whether or not that was recorded (C12)."""
        self.gone_streaming = False
        """True when its stream cannot be read, so that it is polled (case S7)."""
        self.has_no_judge = False
        """True when the agent refused GetTask altogether."""
        self.held = False
        """True when a change was heard that may not be recorded yet (D15)."""
        self.unanswered = False
        """True when GetTask did not answer the latest look, and may answer another (D3)."""
        self.waiting_text: RemoteReport | None = None
        self.pause = Pause(
            self.settings.follow_interval, office.settings.follow_backoff, office.random
        )
        self._tokens = PushTokens()
        self._given: tuple[str, ...] = ()
        """The digests that the agent's answers are searched for."""
        self.odd: tuple[str, ...] = ()
        """What was odd since the last event, for the next one."""
        self.missed_with = self._missed_with = ""
        """The code of the error that the last GetTask ended in; empty when it was answered."""
        self._miss_at = 0.0
        self.doubts = Doubts(short=self.pause.first * 0.9, long=office.settings.quiet_check)

    def note(self, sub_task: SubTask) -> None:
        """Keep what the doorbell compares a push with, and that a fresh reply has not left."""
        self.remote_task_id = sub_task.remote_task_id
        self.token_digest = sub_task.token_digest
        self._search_for(sub_task.token_digests)
        reply = sub_task.reply
        if reply is not None and reply.message_id in self.expected:
            self.expected -= {reply.message_id}
            self.mark_unsent(reply.message_id)

    def taken_up(self) -> None:
        """It is taken up again after a restart, or waits for something: the next one's turn."""
        if self.on_taken_up is not None:
            on_taken_up, self.on_taken_up = self.on_taken_up, None
            on_taken_up()

    def stop(self) -> None:
        """End the loop and the timer."""
        self._search_for(())
        if self.backstop is not None:
            self.backstop.cancel()
        if self.task is not None:
            self.task.cancel()

    # --- what it works with

    @property
    def client(self) -> AgentClient | None:
        """How the agent is called; None while it is refused or no longer configured."""
        agent = self.office.agent(self.agent_id)
        return agent.client if agent else None

    @property
    def is_orphan(self) -> bool:
        """True when its agent is no longer configured: nothing can ever be asked of it."""
        return self.office.agent(self.agent_id) is None

    async def reach(self) -> None:
        """Look at the agent's card again when it could not be called so far (A2)."""
        if self.client is None:
            try:
                await self.office.reach(self.agent_id)
            except LocumError as error:
                # The registry has said so once for all sub-tasks.
                logger.debug("sub-task %s: %s", self.id, error.message)

    @property
    def settings(self) -> AgentSettings:
        """The agent's settings; the defaults when it is no longer configured."""
        agent = self.office.agent(self.agent_id)
        return agent.settings if agent else AgentSettings(id=self.agent_id, url="")

    @property
    def streams(self) -> bool:
        """True when the agent's streams can be read."""
        client = self.client
        return bool(client and client.streaming) and not self.gone_streaming

    @property
    def traits(self) -> Traits:
        """What the agent can do."""
        return Traits(streaming=self.streams, watch=self._wanted_watch)

    @property
    def _wanted_watch(self) -> Wanted | None:
        """How a parked task of this agent is to be watched, as far as that is known (D1)."""
        updates, client = self.settings.updates, self.client
        if updates == "off":
            return "off"
        if client is None:
            return None if self.is_orphan else "any"
        can_push = updates != "follow" and client.push and self.office.base_url
        return "push" if can_push else "follow"

    def retry_pause(self) -> Pause:
        """A pause for what is tried again until it goes through (C7, I3)."""
        standin = self.office.settings
        return Pause(standin.retry_first, standin.retry_backoff, self.office.random)

    async def load(self) -> SubTask:
        """The sub-task as recorded now."""
        return await self.office.journal.load(self.id)

    async def record(self, command: Command) -> Recorded:
        """Decide and record a command; of the tokens minted for it, the recorded one is kept."""
        recorded = await record(self.office, self.id, command)
        if isinstance(command, Hear | RefuseReply | Rewatch):
            self._tokens.settle(command.watch.token_digest, recorded.events)
        return recorded

    # --- tokens: only their digests are ever recorded (D2)

    def mint_watch(self) -> Watch:
        """How a parked task of this agent is watched; for push, with a fresh 256-bit token."""
        wanted = self._wanted_watch
        fallback: WatchMode = "follow" if self.streams else "poll"
        if wanted == "off":
            return Watch(mode="off", fallback="off")
        if wanted != "push":
            return Watch(mode=fallback, fallback=fallback)
        config_id, digest = f"locum-{self.id}", self._tokens.mint()
        return Watch(mode="push", fallback=fallback, config_id=config_id, token_digest=digest)

    def token_for(self, digest: str) -> str | None:
        """The token of a digest, while this process still has it."""
        return self._tokens.of(digest)

    def _search_for(self, digests: tuple[str, ...]) -> None:
        """Mask these tokens, should the agent quote them (case P10)."""
        if digests != self._given and (agent := self.office.agent(self.agent_id)) is not None:
            agent.tokens.change(self._given, digests)
            self._given = digests

    # --- what only this process knows

    def mark_unsent(self, message_id: str) -> None:
        """This message was recorded here and has surely not left yet."""
        self.known = msgspec.structs.replace(self.known, unsent=message_id)

    def mark_sent(self) -> None:
        """It may have left: from now on it is looked for before it is sent again."""
        self.known = msgspec.structs.replace(self.known, unsent="")

    def mark_delivered(self, message_id: str) -> None:
        """The agent has this reply."""
        self.known = msgspec.structs.replace(self.known, delivered=message_id, unsent="")

    def mark_registered(self, digest: str) -> None:
        """The agent has the push config of this digest; its token is not needed here again."""
        self.known = msgspec.structs.replace(self.known, registered=digest)
        self._tokens.forget()

    def note_config_id(self, remote_task_id: str, config_id: str) -> None:
        """The agent keeps a push config of this task under an id of its own: that is deleted."""
        known = self.config_ids.get(remote_task_id, ())
        if config_id not in known:
            self.config_ids = {**self.config_ids, remote_task_id: (*known, config_id)}

    def want_cancel(self, wish: CancelWish) -> None:
        """Somebody wants the end (F2). The first wish is the one that is recorded."""
        self.wish = self.wish or wish
        self.known = msgspec.structs.replace(self.known, cancelling=True)
        self.attention.set()

    # --- hearing

    def take(self, report: RemoteReport, *, replayed: bool = False) -> RemoteReport:
        """Take in a report's artifacts and oddities. Once for each report, before it is heard.

        A reply may be answered under another task (C13): the artifacts of the one before are not
        that task's result.
        """
        of = report.remote_task_id or self._task_of_artifacts
        if self._task_of_artifacts and of != self._task_of_artifacts:
            self.artifacts = Artifacts(limit=self.office.settings.result_limit)
            self.context_id = ""
        self._task_of_artifacts = of
        self.context_id = report.context_id or self.context_id
        self.notice((*report.anomalies, *self.artifacts.note(report, replayed=replayed)))
        return msgspec.structs.replace(report, anomalies=self.odd) if self.odd else report

    def notice(self, anomalies: Iterable[str]) -> None:
        """Keep what was odd for the event that it leads to (K2)."""
        self.odd = (*self.odd, *(kind for kind in anomalies if kind not in self.odd))

    async def hear(
        self,
        report: RemoteReport,
        *,
        source: Source,
        cause: Cause,
        moved: bool = False,
        confirmed: bool = False,
        wish: CancelWish | None = None,
    ) -> Recorded:
        """Record what a taken report means, if it means anything; `wish` when it answers one."""
        standin = self.office.settings
        recorded = await self.record(
            Hear(
                sub_task_id=self.id,
                at=self.office.now(),
                actor=wish.actor if wish else f"agent:{self.agent_id}",
                correlation_id=wish.correlation_id if wish else "",
                reason=wish.reason if wish else "",
                cause=cause,
                report=report,
                source=source,
                artifacts=self.artifacts.whole,
                watch=self.mint_watch(),
                moved=moved,
                confirmed=confirmed,
                waiting_text=status_text(self.waiting_text) if self.waiting_text else "",
                limits=HearLimits(
                    flips=standin.flip_limit,
                    flip_window=standin.flip_window,
                    flip_pause=standin.flip_interval,
                    text_pause=standin.status_interval,
                    result_bytes=standin.result_limit,
                ),
            )
        )
        known, artifacts = recorded.sub_task, self.artifacts.whole
        verdict = weigh(known, report, source, artifacts, confirmed=confirmed)
        self.held = not recorded.events and verdict is Verdict.CHANGE
        if recorded.events:
            self.pause.reset()
            self.odd = ()
            self.doubts.clear()
            self.waiting_text = None
        return recorded

    async def ask(
        self, *, history: int | None = None, judge_gone: bool = True
    ) -> RemoteReport | None:
        """GetTask, taken in but not yet heard. None when it could not be asked.

        A task that the agent says it does not know, twice and `follow_interval` apart, is gone:
        that is recorded here (D10), unless `judge_gone` is False because an end is known.
        """
        sub_task = await self.load()
        await self.reach()
        client = self.client
        if client is None:
            return None
        try:
            report = await client.get(
                sub_task.remote_task_id,
                history=history,
                participant_id=sub_task.participant_id,
            )
        except RemoteCallError as error:
            await self._missed(error, judge_gone=judge_gone)
            return None
        self._missed_with = self.missed_with = ""
        self.has_no_judge = False
        said = msgspec.structs.replace(report.report, asked_at=sub_task.version)
        return self.take(said)

    async def fetch(self, cause: Cause) -> Recorded | None:
        """GetTask, and hear what it says. None when it could not be asked."""
        report = await self.ask()
        return None if report is None else await self.judge(report, cause)

    async def judge(self, report: RemoteReport, cause: Cause) -> Recorded:
        """Hear what GetTask said. A doubt is settled by a second look (D7, D8)."""
        sub_task, artifacts = await self.load(), self.artifacts.whole
        verdict = weigh(sub_task, report, "get", artifacts)
        now = asyncio.get_running_loop().time()
        confirmed = self.doubts.settle(sub_task, report, artifacts, verdict, now)
        if verdict is Verdict.TEXT:
            self.waiting_text = report
        return await self.hear(report, source="get", cause=cause, confirmed=confirmed)

    async def _missed(self, error: RemoteCallError, *, judge_gone: bool) -> None:
        self.has_no_judge = error.kind == "refused" and error.code != "remote.not_found"
        self.missed_with = error.code
        self.pause.at_least(error.retry_after)
        logger.info("sub-task %s: %s (%s)", self.id, error.message, error.code)
        if not judge_gone or error.code not in FINAL:
            return
        now = asyncio.get_running_loop().time()
        if self._missed_with != error.code:
            # One "not found" after another refusal is the first of its kind (D10).
            self._missed_with, self._miss_at = error.code, now
            return
        if now - self._miss_at < self.pause.first * 0.9:
            return
        await self.record(unwatchable(error, self.id, self.office, self.artifacts.whole))
